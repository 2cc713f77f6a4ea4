"""Smooth courses of a motion over time, at rest at both ends, as functions of time t (s) and duration T (s).

With x = t / T, held at 0 before and at 1 after the motion::

    quintic   s = 10 x^3 - 15 x^4 + 6 x^5        0 to 1; velocity and acceleration are zero at both ends
    bump      s = (4 x (1 - x))^3                 0 to 1 and back to 0; the same at both ends

Largest rates: quintic 1.875 / T and 5.77 / T^2; bump 3.43 / T and 24 / T^2.
"""

from __future__ import annotations

__all__ = ["bump", "quintic"]


def _share(t: float, duration: float) -> float:
    return min(max(t / duration, 0.0), 1.0)


def quintic(t: float, duration: float) -> tuple[float, float]:
    """(s, ds/dt) of a way from 0 to 1."""
    x = _share(t, duration)
    return x**3 * (10.0 + x * (6.0 * x - 15.0)), 30.0 * (x * (1.0 - x)) ** 2 / duration


def bump(t: float, duration: float) -> tuple[float, float]:
    """(s, ds/dt) of a way from 0 to 1 and back."""
    x = _share(t, duration)
    return (4.0 * x * (1.0 - x)) ** 3, 192.0 * (x * (1.0 - x)) ** 2 * (1.0 - 2.0 * x) / duration
