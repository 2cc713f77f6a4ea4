"""Which error flag a command raises: limits and discontinuities, as documented by the vendor (FCI protocol 19.3).

A command is judged by backward differences over 1 ms: its velocity against the velocity limit, its acceleration
against the acceleration limit ("velocity discontinuity"), its jerk against the jerk limit ("acceleration
discontinuity"). All limits that are exceeded are reported together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from franka_rt.sim.model import ArmModel
from franka_rt.sim.parameters import DT, ArmParameters
from franka_rt.sim.setpoint import Setpoint, elbow_sign

__all__ = ["CartesianCommand", "Checks", "JointCommand"]

_JOINT = (
    "joint_motion_generator_position_limits_violation",
    "joint_motion_generator_velocity_limits_violation",
    "joint_motion_generator_velocity_discontinuity",
    "joint_motion_generator_acceleration_discontinuity",
)
_INVERSE_KINEMATICS = (
    "cartesian_motion_generator_joint_position_limits_violation",
    "cartesian_motion_generator_joint_velocity_limits_violation",
    "cartesian_motion_generator_joint_velocity_discontinuity",
    "cartesian_motion_generator_joint_acceleration_discontinuity",
)
_CARTESIAN = (
    "cartesian_motion_generator_velocity_limits_violation",
    "cartesian_motion_generator_velocity_discontinuity",
    "cartesian_motion_generator_acceleration_discontinuity",
)


@dataclass(eq=False)
class JointCommand:
    """A desired joint motion and the differences that lead there."""

    q: np.ndarray
    dq: np.ndarray
    ddq: np.ndarray
    dddq: np.ndarray

    @classmethod
    def after(cls, setpoint: Setpoint, q: np.ndarray, dq: np.ndarray) -> JointCommand:
        """The motion to q with velocity dq, one period after the setpoint."""
        ddq = (dq - setpoint.dq) / DT
        return cls(q, dq, ddq, (ddq - setpoint.ddq) / DT)


@dataclass(eq=False)
class CartesianCommand:
    """A desired Cartesian motion: pose, twist and its differences (6,); joint 3 (rad) and its differences if given."""

    pose: np.ndarray
    twist: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    elbow: tuple[float, float, float, float] | None

    @classmethod
    def after(cls, setpoint: Setpoint, pose: np.ndarray, twist: np.ndarray, elbow: float | None) -> CartesianCommand:
        """The motion to a pose with a twist (and an elbow), one period after the setpoint."""
        acceleration = (twist - setpoint.twist) / DT
        jerk = (acceleration - setpoint.acceleration) / DT
        chain = None
        if elbow is not None:
            velocity = (elbow - setpoint.elbow) / DT
            change = (velocity - setpoint.delbow) / DT
            chain = elbow, velocity, change, (change - setpoint.ddelbow) / DT
        return cls(pose, twist, acceleration, jerk, chain)


class Checks:
    """The limits of one arm, applied to commands; every method returns the names of the flags that are raised.

    Attributes:
        acceleration: (7,) nominal joint acceleration limits, rad/s^2.
    """

    def __init__(self, parameters: ArmParameters, model: ArmModel) -> None:
        self.model, self.tolerance = model, parameters.tolerance
        t = parameters.tolerance
        self.acceleration = parameters.acceleration
        self._acceleration = self.acceleration * t.acceleration
        self._jerk = parameters.jerk * t.jerk
        self._torque_step = parameters.torque_rate * t.torque_rate * DT
        factors = np.array([t.jerk, t.acceleration, t.velocity])
        self._translational = parameters.translational * factors
        self._rotational = parameters.rotational * factors
        self._elbow = parameters.elbow * factors

    def joints(self, command: JointCommand, at: np.ndarray, names: tuple[str, ...] = _JOINT) -> list[str]:
        """Position, velocity (limits at ``at``, rad), acceleration and jerk of a joint command."""
        lower, upper = self.model.velocity_limits(at)
        slack = self.tolerance.velocity
        raised = (
            ((command.q < self.model.lower) | (command.q > self.model.upper)).any(),
            ((command.dq < lower * slack - 1e-3) | (command.dq > upper * slack + 1e-3)).any(),
            (np.abs(command.ddq) > self._acceleration).any(),
            (np.abs(command.dddq) > self._jerk).any(),
        )
        return [name for name, flag in zip(names, raised, strict=True) if flag]

    def inverse_kinematics(self, command: JointCommand, at: np.ndarray) -> list[str]:
        """The same for the joint motion that a Cartesian command needs."""
        return self.joints(command, at, _INVERSE_KINEMATICS)

    def cartesian(self, command: CartesianCommand) -> list[str]:
        """Velocity, acceleration and jerk of translation, rotation and elbow."""
        raised = np.zeros(3, bool)
        chain = (command.jerk, command.acceleration, command.twist)
        raised |= np.array([np.linalg.norm(x[:3]) for x in chain]) > self._translational
        raised |= np.array([np.linalg.norm(x[3:]) for x in chain]) > self._rotational
        if command.elbow is not None:
            raised |= np.abs(command.elbow[3:0:-1]) > self._elbow
        return [name for name, flag in zip(_CARTESIAN, raised[::-1], strict=True) if flag]

    def elbow(self, setpoint: Setpoint, elbow: np.ndarray) -> list[str]:
        """A commanded elbow (joint 3 rad, sign of joint 4): its range and its sign."""
        raised = []
        if not self.model.lower[2] <= elbow[0] <= self.model.upper[2]:
            raised.append("cartesian_motion_generator_elbow_limit_violation")
        if elbow[1] not in (0.0, elbow_sign(setpoint.q)):
            raised.append("cartesian_motion_generator_elbow_sign_inconsistent")
        return raised

    def torque(self, setpoint: Setpoint, torque: np.ndarray) -> list[str]:
        """The rate of commanded torques (Nm)."""
        jump = (np.abs(torque - setpoint.torque) > self._torque_step).any()
        return ["controller_torque_discontinuity"] if jump else []

    def start_joints(self, setpoint: Setpoint, q: np.ndarray) -> list[str]:
        """The first commanded joint position."""
        far = (np.abs(q - setpoint.q) > self.tolerance.start_joint).any()
        return ["joint_position_motion_generator_start_pose_invalid"] if far else []

    def start_pose(self, step: np.ndarray) -> list[str]:
        """The first commanded pose, ``step`` (6,) away from the present one."""
        t = self.tolerance
        far = np.linalg.norm(step[:3]) > t.start_translation or np.linalg.norm(step[3:]) > t.start_rotation
        return ["cartesian_position_motion_generator_start_pose_invalid"] if far else []

    def start_elbow(self, setpoint: Setpoint, elbow: float) -> list[str]:
        """The first commanded elbow."""
        far = abs(elbow - setpoint.elbow) > self.tolerance.start_joint
        return ["cartesian_motion_generator_start_elbow_invalid"] if far else []

    def finish_joints(self, setpoint: Setpoint) -> list[str]:
        """The regular end of a joint motion must not come at speed."""
        moving = (np.abs(setpoint.dq) > self.tolerance.finish_joint).any()
        return [_JOINT[3]] if moving else []

    def finish_cartesian(self, setpoint: Setpoint) -> list[str]:
        """The regular end of a Cartesian motion must not come at speed."""
        v, w = np.linalg.norm(setpoint.twist[:3]), np.linalg.norm(setpoint.twist[3:])
        moving = v > self.tolerance.finish_translation or w > self.tolerance.finish_rotation
        return [_CARTESIAN[2]] if moving else []
