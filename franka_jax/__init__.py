"""Vendor-exact, differentiable models of the Franka FR3 and FER."""
