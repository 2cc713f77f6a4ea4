"""Rotations in plain Python floats, for signals that are processed once per millisecond.

At 3x3 the interpreter's own floats are several times as fast as numpy. A rotation is a tuple of nine numbers, row by
row; a pose a flat sequence of 16 in the wire's column-major order. Quaternions are (w, x, y, z).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = [
    "Quaternion",
    "Rotation",
    "Vector",
    "axis_angle",
    "block",
    "from_quaternion",
    "nearest_rotation",
    "quaternion",
    "relative",
    "rotated",
    "slerp",
]

Vector = tuple[float, float, float]
Rotation = tuple[float, float, float, float, float, float, float, float, float]
Quaternion = tuple[float, float, float, float]

EPSILON = 2.220446049250313e-16
_ORTHOGONAL = 1e-14  # largest entry of R^T R - 1 that counts as a rotation
_CLOSE = 0.1  # where the iteration converges fast
_LAST_STEP = 1e-7  # one more step squares this


def block(pose: Sequence[float]) -> Rotation:
    """The 3x3 block of a flat pose."""
    return pose[0], pose[4], pose[8], pose[1], pose[5], pose[9], pose[2], pose[6], pose[10]


def nearest_rotation(m: Rotation) -> Rotation:
    """The rotation nearest to a 3x3 matrix (polar factor, determinant +1).

    Newton-Schulz from nearby, M <- M (3 - M^T M) / 2, which squares the distance; singular values from further away.
    """
    for _ in range(8):
        a, b, c, d, e, f, g, h, i = m
        xx, yy, zz = a * a + d * d + g * g - 1.0, b * b + e * e + h * h - 1.0, c * c + f * f + i * i - 1.0
        xy, xz, yz = a * b + d * e + g * h, a * c + d * f + g * i, b * c + e * f + h * i
        error = max(abs(xx), abs(yy), abs(zz), abs(xy), abs(xz), abs(yz))
        if not error < _CLOSE or a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) < 0.0:
            return _by_singular_values(m)
        if error < _ORTHOGONAL:
            return m
        xx, yy, zz, xy, xz, yz = 1.0 - 0.5 * xx, 1.0 - 0.5 * yy, 1.0 - 0.5 * zz, -0.5 * xy, -0.5 * xz, -0.5 * yz
        m = (
            a * xx + b * xy + c * xz, a * xy + b * yy + c * yz, a * xz + b * yz + c * zz,
            d * xx + e * xy + f * xz, d * xy + e * yy + f * yz, d * xz + e * yz + f * zz,
            g * xx + h * xy + i * xz, g * xy + h * yy + i * yz, g * xz + h * yz + i * zz,
        )  # fmt: skip
        if error < _LAST_STEP:
            return m
    return _by_singular_values(m)


def _by_singular_values(m: Rotation) -> Rotation:
    if not all(map(math.isfinite, m)):
        nan = math.nan
        return nan, nan, nan, nan, nan, nan, nan, nan, nan
    u, _, vt = np.linalg.svd(np.reshape(m, (3, 3)))
    if np.linalg.det(u @ vt) < 0.0:
        u[:, 2] = -u[:, 2]
    a, b, c, d, e, f, g, h, i = (u @ vt).ravel().tolist()
    return a, b, c, d, e, f, g, h, i


def quaternion(r: Rotation) -> Quaternion:
    """Of a rotation; the largest component decides the formula."""
    a, b, c, d, e, f, g, h, i = r
    trace = a + e + i
    if trace > 0.0:
        t = math.sqrt(trace + 1.0)
        s = 0.5 / t
        return 0.5 * t, (h - f) * s, (c - g) * s, (d - b) * s
    if a >= e and a >= i:
        t = math.sqrt(a - e - i + 1.0)
        s = 0.5 / t
        return (h - f) * s, 0.5 * t, (d + b) * s, (g + c) * s
    if e >= i:
        t = math.sqrt(e - i - a + 1.0)
        s = 0.5 / t
        return (c - g) * s, (b + d) * s, 0.5 * t, (h + f) * s
    t = math.sqrt(i - a - e + 1.0)
    s = 0.5 / t
    return (d - b) * s, (c + g) * s, (f + h) * s, 0.5 * t


def from_quaternion(q: Quaternion) -> Rotation:
    """The rotation of a unit quaternion."""
    w, x, y, z = q
    x2, y2, z2 = 2.0 * x, 2.0 * y, 2.0 * z
    wx, wy, wz, xx, xy, xz, yy, yz, zz = x2 * w, y2 * w, z2 * w, x2 * x, y2 * x, z2 * x, y2 * y, z2 * y, z2 * z
    return 1.0 - (yy + zz), xy - wz, xz + wy, xy + wz, 1.0 - (xx + zz), yz - wx, xz - wy, yz + wx, 1.0 - (xx + yy)


def slerp(p: Quaternion, q: Quaternion, t: float) -> Quaternion:
    """From p (t = 0) to q (t = 1) on the shorter arc, normalised; linear where the two agree to rounding."""
    dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]
    if abs(dot) >= 1.0 - EPSILON:
        u, v = 1.0 - t, t
    else:
        angle = math.acos(abs(dot))
        u, v = math.sin((1.0 - t) * angle) / math.sin(angle), math.sin(t * angle) / math.sin(angle)
    if dot < 0.0:
        v = -v
    w, x, y, z = u * p[0] + v * q[0], u * p[1] + v * q[1], u * p[2] + v * q[2], u * p[3] + v * q[3]
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    return w / norm, x / norm, y / norm, z / norm


def relative(r: Rotation, s: Rotation) -> Rotation:
    """The rotation r s^T, from s to r in the common frame."""
    a, b, c, d, e, f, g, h, i = r
    j, k, m, n, o, p, q, t, u = s
    return (
        a * j + b * k + c * m, a * n + b * o + c * p, a * q + b * t + c * u,
        d * j + e * k + f * m, d * n + e * o + f * p, d * q + e * t + f * u,
        g * j + h * k + i * m, g * n + h * o + i * p, g * q + h * t + i * u,
    )  # fmt: skip


def axis_angle(r: Rotation) -> tuple[Vector, float]:
    """(unit axis, angle in [0, pi]) of a rotation; the axis is (1, 0, 0) for the identity."""
    w, x, y, z = quaternion(r)
    norm = math.sqrt(x * x + y * y + z * z)
    if norm == 0.0:
        return (1.0, 0.0, 0.0), 0.0
    angle = 2.0 * math.atan2(norm, abs(w))
    if w < 0.0:
        norm = -norm
    return (x / norm, y / norm, z / norm), angle


def rotated(r: Rotation, omega: Sequence[float], seconds: float) -> Rotation:
    """r after turning with omega (3,) rad/s for some time: (1 + sin t K + (1 - cos t) K^2) r (Rodrigues)."""
    x, y, z = omega
    norm = math.sqrt(x * x + y * y + z * z)
    if norm <= EPSILON:
        return r
    x, y, z = x / norm, y / norm, z / norm
    s, c = math.sin(norm * seconds), 1.0 - math.cos(norm * seconds)
    turn = (
        1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y,
        c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x,
        c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y),
    )  # fmt: skip
    return relative(turn, (r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]))
