"""Inertial parameters from data."""
