"""Arguments from the user to arrays of the right shape, or one clear InvalidArgumentException.

Matrices may be given as (4,4) or (3,3) in C order, or flat in libfranka's column-major order.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from franka_rt.errors import InvalidArgumentException

__all__ = [
    "elbow",
    "finite",
    "flags",
    "inertia",
    "integer",
    "is_flat_transform",
    "is_transform",
    "matrix",
    "number",
    "transform",
    "vector",
]

_ORTHONORMAL = 1e-5  # libfranka's kOrthonormalThreshold


def finite(numbers: Sequence[float] | np.ndarray) -> bool:
    """Whether all of a few numbers are finite. A finite norm is proof enough; the norm of finite ones may overflow."""
    return math.isfinite(math.hypot(*numbers)) or all(map(math.isfinite, numbers))


def _floats(name: str, value: Any) -> np.ndarray:
    try:
        if np.iscomplexobj(value):
            raise TypeError("complex numbers")
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentException(f"franka_rt: {name} is not an array of numbers: {error}") from None


def integer(name: str, value: Any, minimum: int, maximum: int) -> int:
    """A whole number from ``minimum`` to ``maximum``, both included."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise InvalidArgumentException(f"franka_rt: {name} has to be a whole number, got {value!r}.") from None
    if not minimum <= whole <= maximum:
        raise InvalidArgumentException(f"franka_rt: {name} has to be {minimum} to {maximum}, got {whole}.")
    return whole


def flags(name: str, value: Any, size: int) -> list[bool]:
    """``size`` truth values: True, False, 1 or 0."""
    array = _floats(name, value)
    if array.shape != (size,) or not np.isin(array, (0.0, 1.0)).all():
        raise InvalidArgumentException(f"franka_rt: {name} needs {size} flags, got {value!r}.")
    return array.astype(bool).tolist()


def vector(name: str, value: Any, size: int) -> np.ndarray:
    """(size,) finite numbers."""
    array = _floats(name, value)
    if array.shape != (size,):
        raise InvalidArgumentException(f"franka_rt: {name} needs {size} numbers, got an array of shape {array.shape}.")
    if not finite(array):
        raise InvalidArgumentException(f"franka_rt: {name} has a number that is infinite or NaN: {array}.")
    return array


def number(name: str, value: Any, minimum: float = -math.inf) -> float:
    """A finite number, at least ``minimum``."""
    array = _floats(name, value)
    if array.shape != () or not math.isfinite(array):
        raise InvalidArgumentException(f"franka_rt: {name} has to be one finite number, got {value!r}.")
    if array < minimum:
        raise InvalidArgumentException(f"franka_rt: {name} has to be at least {minimum:g}, got {value!r}.")
    return float(array)


def matrix(name: str, value: Any, size: int) -> np.ndarray:
    """(size,size) finite numbers in C order, from that or from flat column-major."""
    array = _floats(name, value)
    if array.shape == (size * size,):
        array = array.reshape(size, size).T
    if array.shape != (size, size):
        expected = f"({size}, {size}) or flat column-major ({size * size},)"
        raise InvalidArgumentException(f"franka_rt: {name} has to have the shape {expected}, got {array.shape}.")
    vector(name, array.ravel(), size * size)
    return array


def is_transform(pose: np.ndarray) -> bool:
    """libfranka's test of a (4,4) pose: exact bottom row, rows and columns of the rotation of unit length to 1e-5."""
    return is_flat_transform(pose.T.ravel().tolist())


def is_flat_transform(pose: Sequence[float]) -> bool:
    """The same test of a flat column-major pose, in plain floats because it runs once per cycle."""
    a, b, c, w0, d, e, f, w1, g, h, i, w2, _, _, _, w3 = pose
    if w0 != 0.0 or w1 != 0.0 or w2 != 0.0 or w3 != 1.0:
        return False
    columns = (a * a + b * b + c * c, d * d + e * e + f * f, g * g + h * h + i * i)
    rows = (a * a + d * d + g * g, b * b + e * e + h * h, c * c + f * f + i * i)
    return all(abs(math.sqrt(square) - 1.0) <= _ORTHONORMAL for square in (*columns, *rows))


def transform(name: str, value: Any) -> np.ndarray:
    """(4,4) homogeneous transform."""
    pose = matrix(name, value, 4)
    if not is_transform(pose):
        raise InvalidArgumentException(
            f"franka_rt: {name} is no homogeneous transform:\n{pose}",
            "The bottom row has to be 0 0 0 1 and the rotation's rows and columns of unit length (flat arrays are "
            "read column-major).",
        )
    return pose


def inertia(name: str, value: Any) -> np.ndarray:
    """(3,3) symmetric tensor without negative principal moments, kg m^2."""
    tensor = matrix(name, value, 3)
    scale = float(np.abs(tensor).max())
    if np.abs(tensor - tensor.T).max() > 1e-9 * scale:
        raise InvalidArgumentException(f"franka_rt: {name} is not symmetric:\n{tensor}")
    if np.linalg.eigvalsh(tensor)[0] < -1e-9 * scale:
        raise InvalidArgumentException(f"franka_rt: {name} has a negative principal moment:\n{tensor}")
    return tensor


def elbow(value: Any) -> np.ndarray:
    """(2,) elbow: joint 3 in rad and the sign of joint 4; checked when it is commanded."""
    array = _floats("elbow", value)
    if array.shape != (2,):
        raise InvalidArgumentException("Invalid number of elements in elbow.")
    return array
