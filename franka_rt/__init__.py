"""A lean 1 kHz client for the Franka Control Interface, versions 5 and 10."""
