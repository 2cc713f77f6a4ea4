"""Robot descriptions as package data."""
