"""Rate limiters of commands, libfranka's formulas in libfranka's order of operations (FCI protocol 9.3 to 9.6).

With T = 1 ms, clamp(x, a) = max(min(x, a), -a), limits V (velocity; U and L where it depends on the position),
A (acceleration), J (jerk), and the last velocity v' and acceleration a' as the robot reports them::

    torque     y = y' + clamp((y - y') / T, rate) T
    scalar     j = ((v - v') / T - a') / T,     a = a' + clamp(j, J) T
               y = v' + clamp between max((J/A)(L - v'), -A) and min((J/A)(U - v'), A) of a, times T
    position   y = q' + y((q - q') / T) T
    3-vector   j as above,  a = a' + j min(1, J/|j|) T,  u = a/|a|,  d = -u.v' + sqrt((u.v')^2 - |v'|^2 + V^2)
               y = v' + u min(|a|, (J/A) d, A) T
    pose       the twist from the last pose, limited (rotational limits times 0.99), integrated over T

The values a robot reports on version 10 have single precision, so limited commands carry that rounding, as the
vendor's do. All functions are pure, take and return plain floats (lists), the fastest at this size, and raise
InvalidArgumentException with libfranka's text for commands that are not finite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from franka_rt import checks, rotations
from franka_rt.dialect import RateLimits
from franka_rt.errors import InvalidArgumentException
from franka_rt.filters import SAMPLE_TIME as T

__all__ = [
    "clamp_torques",
    "limit_elbow",
    "limit_joint_positions",
    "limit_joint_velocities",
    "limit_pose",
    "limit_torques",
    "limit_twist",
]

Floats = Sequence[float] | np.ndarray
Triple = tuple[float, float, float]  # jerk, acceleration, velocity
_EPSILON = rotations.EPSILON
_ROTATION_MARGIN = 0.99
_NO_TRANSFORM = "O_T_EE_c is invalid transformation matrix. Has to be column major!"


@lru_cache(maxsize=8)
def _joint_tables(limits: RateLimits) -> tuple[list[float], list[float], list[float]]:
    """Torque rates, jerks and accelerations of the joints as plain floats."""
    return limits.torque_rate.tolist(), limits.joint_jerk.tolist(), limits.joint_acceleration.tolist()


def _check_finite(name: str, values: Floats) -> None:
    if not checks.finite(values):
        raise InvalidArgumentException(f"{name} is infinite or NaN.")


def clamp_torques(tau: Floats, maximum: Floats) -> list[float]:
    """(7,) Nm, none beyond the largest torque of its joint."""
    _check_finite("Commanding value", tau)
    return [m if x > m else -m if x < -m else x for x, m in zip(tau, maximum, strict=True)]


def limit_torques(tau: Floats, tau_last: Floats, limits: RateLimits) -> list[float]:
    """(7,) Nm, changing by no more than the torque rate limit from ``tau_last``."""
    _check_finite("Commanding value", tau)
    limited = []
    for x, last, rate in zip(tau, tau_last, _joint_tables(limits)[0], strict=True):
        change = (x - last) / T
        change = rate if change > rate else -rate if change < -rate else change
        limited.append(last + change * T)
    return limited


def _scalar(
    v: float, last: float, a_last: float, jerk: float, acceleration: float, upper: float, lower: float
) -> float:
    """A velocity within limits of velocity, acceleration and jerk."""
    j = ((v - last) / T - a_last) / T
    a = a_last + (jerk if j > jerk else -jerk if j < -jerk else j) * T
    ratio = jerk / acceleration
    highest, lowest = ratio * (upper - last), ratio * (lower - last)
    highest = acceleration if acceleration < highest else highest
    lowest = -acceleration if lowest < -acceleration else lowest
    a = highest if highest < a else a
    return last + (lowest if a < lowest else a) * T


def limit_joint_velocities(
    dq: Floats, dq_last: Floats, ddq_last: Floats, limits: RateLimits, upper: Floats, lower: Floats
) -> list[float]:
    """(7,) rad/s, given the last commanded velocity and acceleration and the velocity limits at the position."""
    _check_finite("commanded_velocities", dq)
    _, jerks, accelerations = _joint_tables(limits)
    columns = zip(dq, dq_last, ddq_last, jerks, accelerations, upper, lower, strict=True)
    return [_scalar(*column) for column in columns]


def limit_joint_positions(
    q: Floats,
    q_last: Floats,
    dq_last: Floats,
    ddq_last: Floats,
    limits: RateLimits,
    upper: Floats,
    lower: Floats,
) -> list[float]:
    """(7,) rad, given the last commanded position, velocity and acceleration and the velocity limits there."""
    _check_finite("commanded_positions", q)
    velocities = [(x - last) / T for x, last in zip(q, q_last, strict=True)]
    limited = limit_joint_velocities(velocities, dq_last, ddq_last, limits, upper, lower)
    return [last + v * T for last, v in zip(q_last, limited, strict=True)]


def limit_elbow(position: float, last: float, v_last: float, a_last: float, limits: RateLimits) -> float:
    """Position of joint 3 as elbow, rad, given the last commanded one, its velocity and acceleration."""
    if not math.isfinite(position):
        raise InvalidArgumentException("commanded_position is infinite or NaN.")
    jerk, acceleration, velocity = limits.elbow
    return last + _scalar((position - last) / T, v_last, a_last, jerk, acceleration, velocity, -velocity) * T


def _vector(v: Floats, last: Floats, a_last: Floats, limits: Triple) -> list[float]:
    """A velocity in space within limits of its magnitude, acceleration and jerk.

    Faster than the limit and heading away, the root does not exist: libfranka's comparisons with NaN then leave the
    step unlimited by V and A, and so does this.
    """
    (jx, jy, jz), (vx, vy, vz), (ax, ay, az) = v, last, a_last
    jerk, acceleration, velocity = limits
    jx, jy, jz = ((jx - vx) / T - ax) / T, ((jy - vy) / T - ay) / T, ((jz - vz) / T - az) / T
    norm = math.sqrt(jx * jx + jy * jy + jz * jz)
    if norm > _EPSILON:
        scale = min(norm, jerk)
        ax, ay, az = ax + jx / norm * scale * T, ay + jy / norm * scale * T, az + jz / norm * scale * T
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    if norm <= _EPSILON:
        return [vx, vy, vz]
    ux, uy, uz = ax / norm, ay / norm, az / norm
    along = ux * vx + uy * vy + uz * vz
    radicand = along * along - (vx * vx + vy * vy + vz * vz) + velocity * velocity
    step = norm
    if radicand >= 0.0:
        step = min(norm, min(jerk / acceleration * (-along + math.sqrt(radicand)), acceleration))
    return [vx + ux * step * T, vy + uy * step * T, vz + uz * step * T]


def _twist(twist: Floats, last: Floats, a_last: Floats, translational: Triple, rotational: Triple) -> list[float]:
    linear = _vector(twist[:3], last[:3], a_last[:3], translational)
    return linear + _vector(twist[3:], last[3:], a_last[3:], rotational)


def limit_twist(twist: Floats, twist_last: Floats, acceleration_last: Floats, limits: RateLimits) -> list[float]:
    """(6,) m/s and rad/s, given the last commanded twist and its derivative."""
    _check_finite("O_dP_EE_c", twist)
    return _twist(twist, twist_last, acceleration_last, limits.translational, limits.rotational)


def limit_pose(
    pose: Sequence[float], pose_last: Sequence[float], twist_last: Floats, acceleration_last: Floats, limits: RateLimits
) -> list[float]:
    """Flat column-major pose (16), given the last commanded pose, twist and its derivative.

    InvalidArgumentException also for a pose that is no homogeneous transform.
    """
    _check_finite("O_T_EE_c", pose)
    if not checks.is_flat_transform(pose):
        raise InvalidArgumentException(_NO_TRANSFORM)
    start = rotations.nearest_rotation(rotations.block(pose_last))
    target = rotations.nearest_rotation(rotations.block(pose))
    (x, y, z), angle = rotations.axis_angle(rotations.relative(target, start))
    omega = angle / T
    linear = [(pose[k] - pose_last[k]) / T for k in (12, 13, 14)]
    jerk, acceleration, velocity = (_ROTATION_MARGIN * limit for limit in limits.rotational)
    twist = [*linear, x * omega, y * omega, z * omega]
    limited = _twist(twist, twist_last, acceleration_last, limits.translational, (jerk, acceleration, velocity))
    a, b, c, d, e, f, g, h, i = rotations.rotated(start, limited[3:], T)
    px, py, pz = (pose_last[12 + k] + limited[k] * T for k in range(3))
    return [a, d, g, 0.0, b, e, h, 0.0, c, f, i, 0.0, px, py, pz, 1.0]
