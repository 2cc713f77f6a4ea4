"""First-order low-pass filters of commands, as libfranka applies them before its rate limiters (FCI protocol 9.2).

With the sample time T and the cutoff f::

    g = T / (T + 1 / (2 pi f)),      y = g x + (1 - g) x_last

A pose is filtered in its translation as above and in its orientation along the shorter arc from the last one (slerp
with weight g). All functions are pure and take and return plain floats, the fastest at this size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from franka_rt import checks, rotations
from franka_rt.errors import InvalidArgumentException

__all__ = ["MAX_CUTOFF_FREQUENCY", "SAMPLE_TIME", "low_pass", "low_pass_gain", "low_pass_pose"]

SAMPLE_TIME = 1e-3
"""Seconds between two commands."""

MAX_CUTOFF_FREQUENCY = 1000.0
"""From this cutoff (Hz) on a filter is off."""

_NAME, _POSE_NAME = "lowpass-filter", "Cartesian lowpass-filter"


def low_pass_gain(cutoff_frequency: float, sample_time: float = SAMPLE_TIME) -> float:
    """Weight of the new value, from a cutoff in Hz and a sample time in s.

    InvalidArgumentException with libfranka's text for values that are not positive and finite.
    """
    if not sample_time >= 0.0 or not math.isfinite(sample_time):
        raise InvalidArgumentException(f"{_NAME}: sample_time is negative, infinite or NaN.")
    if not cutoff_frequency > 0.0 or not math.isfinite(cutoff_frequency):
        raise InvalidArgumentException(f"{_NAME}: cutoff_frequency is zero, negative, infinite or NaN.")
    return sample_time / (sample_time + 1.0 / (2.0 * math.pi * cutoff_frequency))


def _check_finite(name: str, values: Sequence[float], last: Sequence[float]) -> None:
    if not checks.finite((*values, *last)):
        raise InvalidArgumentException(
            f"{name}: current or past input value of the signal to be filtered is infinite or NaN."
        )


def low_pass(values: Sequence[float], last: Sequence[float], gain: float) -> list[float]:
    """Filter n numbers towards ``values``, coming from the ``last`` n; InvalidArgumentException unless all finite."""
    _check_finite(_NAME, values, last)
    keep = 1.0 - gain
    return [gain * x + keep * y for x, y in zip(values, last, strict=True)]


def low_pass_pose(pose: Sequence[float], last: Sequence[float], gain: float) -> list[float]:
    """Filter a flat column-major pose (16); both 3x3 blocks are replaced by the nearest rotations.

    The bottom row of ``pose`` is kept. InvalidArgumentException unless all numbers are finite.
    """
    _check_finite(_POSE_NAME, pose, last)
    keep = 1.0 - gain
    target = rotations.quaternion(rotations.nearest_rotation(rotations.block(pose)))
    start = rotations.quaternion(rotations.nearest_rotation(rotations.block(last)))
    a, b, c, d, e, f, g, h, i = rotations.from_quaternion(rotations.slerp(start, target, gain))
    x, y, z = (gain * pose[k] + keep * last[k] for k in (12, 13, 14))
    return [a, d, g, pose[3], b, e, h, pose[7], c, f, i, pose[11], x, y, z, pose[15]]
