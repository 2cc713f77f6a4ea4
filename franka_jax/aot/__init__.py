"""Straight-line kernels."""
