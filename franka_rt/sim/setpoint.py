"""The robot's own desired motion: what it has accepted so far, as the state datagram echoes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from franka_rt.sim.model import ArmModel
from franka_rt.sim.parameters import DT

__all__ = ["Setpoint", "elbow_sign"]

FLIP_ANGLE = -0.467002423653011
"""Position of joint 4 at which the elbow flips, rad (FCI protocol 15.1)."""


def elbow_sign(q: np.ndarray) -> float:
    """Sign of (joint 4 - flip angle): -1, 0 or +1."""
    return float(np.sign(q[3] - FLIP_ANGLE))


@dataclass(eq=False)
class Setpoint:
    """Desired and commanded signals; derivatives are backward differences over 1 ms.

    Attributes:
        q, dq, ddq: desired joint motion.
        pose, jacobian: end effector at q (O_T_EE_d and the zero Jacobian there).
        commanded_pose: O_T_EE_c; equal to ``pose`` for joint motions.
        twist, acceleration: O_dP_EE_c and O_ddP_EE_c, (6,).
        elbow, delbow, ddelbow: commanded joint 3, rad and its derivatives.
        torque: tau_J_d, the user's torque or the internal controller's, without gravity.
    """

    model: ArmModel
    q: np.ndarray
    dq: np.ndarray = field(default_factory=partial(np.zeros, 7))
    ddq: np.ndarray = field(default_factory=partial(np.zeros, 7))
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    jacobian: np.ndarray = field(default_factory=lambda: np.zeros((6, 7)))
    commanded_pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    twist: np.ndarray = field(default_factory=partial(np.zeros, 6))
    acceleration: np.ndarray = field(default_factory=partial(np.zeros, 6))
    elbow: float = 0.0
    delbow: float = 0.0
    ddelbow: float = 0.0
    torque: np.ndarray = field(default_factory=partial(np.zeros, 7))

    def rest(self, q: np.ndarray, F_T_EE: np.ndarray) -> None:
        """Stand still at q: poses equal, all derivatives zero."""
        self.move(q, np.zeros(7), np.zeros(7), F_T_EE)
        self.follow()
        self.twist = self.acceleration = np.zeros(6)
        self.elbow, self.delbow, self.ddelbow = float(q[2]), 0.0, 0.0

    def move(self, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, F_T_EE: np.ndarray) -> None:
        """Take a desired joint motion; the pose follows."""
        still = np.array_equal(q, self.q) and self.jacobian.any()
        self.q, self.dq, self.ddq = q, dq, ddq
        if not still:
            self.pose, self.jacobian = self.model.kinematics(q, F_T_EE)

    def follow(self) -> None:
        """Joint motions: the commanded Cartesian signals equal the desired ones."""
        twist = self.jacobian @ self.dq
        self.acceleration = (twist - self.twist) / DT
        self.twist, self.commanded_pose = twist, self.pose
        delbow = float(self.dq[2])
        self.elbow, self.delbow, self.ddelbow = float(self.q[2]), delbow, float(self.ddq[2])

    def brake(self, deceleration: np.ndarray, F_T_EE: np.ndarray) -> None:
        """One step towards rest, each joint with its own deceleration (rad/s^2)."""
        change = -np.clip(self.dq, -deceleration * DT, deceleration * DT)
        dq = self.dq + change
        self.move(self.q + dq * DT, dq, change / DT, F_T_EE)
        self.follow()

    @property
    def at_rest(self) -> bool:
        """The desired motion stands still."""
        return not self.dq.any()
