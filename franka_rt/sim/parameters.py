"""What the simulated arms are like: limits, drives, end effector, and the thresholds of their reflexes.

Limits are the vendor's published ones (the rate limiter's constants plus its margin, FCI protocol 9.6). What the
vendor does not publish, such as friction, reflected rotor inertia, and how far a command may be from a limit before
the robot complains, is this simulation's own choice and is marked so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from franka_rt.dialect import ArmDialect
from franka_rt.v5 import V5
from franka_rt.v10 import V10

__all__ = ["DT", "PARAMETERS", "ArmParameters", "Tolerance"]

DT = 1e-3
"""Control period, s."""

_MARGIN = 1e-3  # by which the vendor's limiter stays below every limit


@dataclass(frozen=True)
class Tolerance:
    """Own choice: how far beyond a limit the robot looks away.

    Derivatives are differences over 1 ms, so the rounding of single-precision echoes (1e-7 rad) alone is worth 1e-1
    rad/s^2 and 1e2 rad/s^3, and where the FR3's velocity envelope shrinks the vendor's own rate limiter exceeds the
    jerk limit by some 12 %. The factors leave room for both.
    """

    velocity: float = 1.002
    acceleration: float = 1.1
    jerk: float = 1.3
    torque_rate: float = 1.01
    start_joint: float = 0.05  # rad
    start_translation: float = 0.02  # m
    start_rotation: float = 0.05  # rad
    finish_joint: float = 0.1  # rad/s: faster than this is "still moving"
    finish_translation: float = 0.1  # m/s
    finish_rotation: float = 0.3  # rad/s


@dataclass(frozen=True, eq=False)
class ArmParameters:
    """One robot. Arrays are (7,) in rad, s, Nm, kg m^2 unless said otherwise.

    Attributes:
        robot: "fer" or "fr3".
        dialect: the protocol version it speaks.
        translational, rotational, elbow: (jerk, acceleration, velocity) limits of Cartesian commands.
        armature: reflected inertia of the drives.
        coulomb, viscous: friction, Nm and Nm s/rad.
        friction_compensation: share of the friction that the robot's own compensation removes.
        elasticity: stiffness of the joints between motor and link, Nm/rad.
        start: configuration after switching on, rad (the vendor's ready pose).
    """

    robot: str
    dialect: ArmDialect
    translational: tuple[float, float, float]
    rotational: tuple[float, float, float]
    elbow: tuple[float, float, float]
    armature: np.ndarray = field(default_factory=lambda: np.array([0.195] * 4 + [0.074] * 3))
    coulomb: np.ndarray = field(default_factory=lambda: np.array([0.5] * 4 + [0.3] * 3))
    viscous: np.ndarray = field(default_factory=lambda: np.array([0.5] * 4 + [0.3] * 3))
    friction_compensation: float = 0.9
    elasticity: np.ndarray = field(default_factory=lambda: np.array([14250.0] * 4 + [9000.0] * 3))
    start: np.ndarray = field(default_factory=lambda: np.array([0, -1, 0, -3, 0, 2, 1]) * (np.pi / 4))
    tolerance: Tolerance = Tolerance()

    @property
    def jerk(self) -> np.ndarray:
        """Joint jerk limits, rad/s^3."""
        return self.dialect.limits.joint_jerk + _MARGIN

    @property
    def acceleration(self) -> np.ndarray:
        """Joint acceleration limits, rad/s^2."""
        return self.dialect.limits.joint_acceleration + _MARGIN

    @property
    def torque_rate(self) -> np.ndarray:
        """Limits of the rate of commanded torques, Nm/s."""
        return self.dialect.limits.torque_rate + _MARGIN


PARAMETERS = MappingProxyType(
    {
        "fer": ArmParameters("fer", V5, (6500.0, 13.0, 2.0), (12500.0, 25.0, 2.5), (5000.0, 10.0, 2.175)),
        "fr3": ArmParameters("fr3", V10, (4500.0, 9.0, 3.0), (8500.0, 17.0, 2.5), (5000.0, 10.0, 1.5)),
    }
)
"""The two robots by name."""
