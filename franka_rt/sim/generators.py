"""The robot's motion generators: command -> desired joint motion, or the flags that the command raises.

A generator is handed the motion part of a command (``q_c``, ``dq_c``, ``O_T_EE_c``, ``O_dP_EE_c``, ``elbow_c``) once
per millisecond by :meth:`take`, or is told by :meth:`miss` that none came: it then goes on with the acceleration it
has (FCI protocol 6.2). Which generator runs is looked up in GENERATORS by the mode's number.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from franka_rt.dialect import GeneratorMode
from franka_rt.sim import rotation
from franka_rt.sim.checks import CartesianCommand, Checks, JointCommand
from franka_rt.sim.parameters import DT
from franka_rt.sim.setpoint import Setpoint

__all__ = ["GENERATORS", "Generator", "make_generator"]


class Generator:
    """Base: no motion generator (torques only); the setpoint stays where it is.

    Attributes:
        cartesian: commands poses or twists.
        part: field of the command that it follows.
    """

    cartesian = False
    part = ""

    def __init__(self, setpoint: Setpoint, checks: Checks, F_T_EE: np.ndarray) -> None:
        self.setpoint, self.checks, self.F_T_EE = setpoint, checks, F_T_EE
        self.started = False

    def take(self, motion: Any) -> list[str]:
        """Follow a command; the names of the flags it raises (nothing is followed then)."""
        return []

    def miss(self) -> list[str]:
        """No command came in time."""
        return []

    def finish(self) -> list[str]:
        """The last command had the finished flag."""
        return []


class _Joint(Generator):
    def _follow(self, q: np.ndarray, dq: np.ndarray) -> list[str]:
        s = self.setpoint
        command = JointCommand.after(s, q, dq)
        if raised := self.checks.joints(command, s.q):
            return raised
        s.move(command.q, command.dq, command.ddq, self.F_T_EE)
        s.follow()
        return []

    def miss(self) -> list[str]:
        s = self.setpoint
        dq = s.dq + s.ddq * DT
        return self._follow(s.q + dq * DT, dq)

    def finish(self) -> list[str]:
        return self.checks.finish_joints(self.setpoint)


class JointPosition(_Joint):
    """Follows q_c."""

    part = "q_c"

    def take(self, motion: Any) -> list[str]:
        s, q = self.setpoint, np.array(motion["q_c"])
        if not self.started and (raised := self.checks.start_joints(s, q)):
            return raised
        self.started = True
        return self._follow(q, (q - s.q) / DT)


class JointVelocity(_Joint):
    """Follows dq_c and integrates it."""

    part = "dq_c"

    def take(self, motion: Any) -> list[str]:
        dq = np.array(motion["dq_c"])
        return self._follow(self.setpoint.q + dq * DT, dq)


class Asynchronous(_Joint):
    """Version 10: q_c is a target now and then; the robot goes there with limited velocity and acceleration."""

    part = "q_c"

    def __init__(self, setpoint: Setpoint, checks: Checks, F_T_EE: np.ndarray, velocity: np.ndarray) -> None:
        super().__init__(setpoint, checks, F_T_EE)
        self.target = setpoint.q
        self._velocity, self._acceleration = velocity, checks.acceleration

    def take(self, motion: Any) -> list[str]:
        """A new target, or the finished flag (its target is ignored: the vendor's handler sends zeros then)."""
        if not motion["motion_generation_finished"]:
            self.target = np.array(motion["q_c"])
        return self.miss()

    def miss(self) -> list[str]:
        """One step of the way: as fast as allowed, never faster than what can still be braked before the target."""
        s = self.setpoint
        rest = self.target - s.q
        speed = np.minimum(self._velocity, np.sqrt(2.0 * self._acceleration * np.abs(rest)))
        near = np.abs(rest) < 0.5 * self._acceleration * DT * DT
        wanted = np.where(near, rest / DT, np.sign(rest) * np.minimum(speed, np.abs(rest) / DT))
        step = self._acceleration * DT
        dq = s.dq + np.clip(wanted - s.dq, -step, step)
        s.move(s.q + dq * DT, dq, (dq - s.dq) / DT, self.F_T_EE)
        s.follow()
        return []

    def finish(self) -> list[str]:
        """The robot brakes by itself."""
        return []


class _Cartesian(Generator):
    cartesian = True

    def _elbow(self, motion: Any) -> tuple[float | None, list[str]]:
        if not motion["valid_elbow"]:
            return None, []
        elbow = np.array(motion["elbow_c"])
        return float(elbow[0]), self.checks.elbow(self.setpoint, elbow)

    def _start(self, elbow: float | None) -> list[str]:
        if self.started or elbow is None:
            return []
        return self.checks.start_elbow(self.setpoint, elbow)

    def _follow(self, pose: np.ndarray, twist: np.ndarray, elbow: float | None) -> list[str]:
        s = self.setpoint
        command = CartesianCommand.after(s, pose, twist, elbow)
        if raised := self.checks.cartesian(command):
            return raised
        joints = self._inverse_kinematics(command)
        if raised := self.checks.inverse_kinematics(joints, s.q):
            return raised
        s.move(joints.q, joints.dq, joints.ddq, self.F_T_EE)
        s.commanded_pose, s.twist, s.acceleration = pose, twist, command.acceleration
        if command.elbow is None:
            s.elbow, s.delbow, s.ddelbow = float(s.q[2]), float(s.dq[2]), float(s.ddq[2])
        else:
            s.elbow, s.delbow, s.ddelbow = command.elbow[:3]
        return []

    def _inverse_kinematics(self, command: CartesianCommand) -> JointCommand:
        """One Newton step from the present joints: J dq = error/dt, with the elbow as seventh row where it is given.

        Without an elbow the smallest joint velocity is taken (pseudo-inverse). What a step misses is of second order
        and part of the next step's error.
        """
        s = self.setpoint
        velocity = rotation.difference(command.pose, s.pose) / DT
        J = s.jacobian
        if command.elbow is None:
            dq = J.T @ np.linalg.solve(J @ J.T + 1e-10 * np.eye(6), velocity)
        else:
            row = np.zeros(7)
            row[2] = 1.0
            square = np.vstack([J, row])
            wanted = np.append(velocity, (command.elbow[0] - s.q[2]) / DT)
            dq = np.linalg.lstsq(square, wanted, rcond=1e-8)[0]
        return JointCommand.after(s, s.q + dq * DT, dq)

    def miss(self) -> list[str]:
        s = self.setpoint
        twist = s.twist + s.acceleration * DT
        return self._follow(rotation.advance(s.commanded_pose, twist * DT), twist, None)

    def finish(self) -> list[str]:
        return self.checks.finish_cartesian(self.setpoint)


class CartesianPosition(_Cartesian):
    """Follows O_T_EE_c."""

    part = "O_T_EE_c"

    def take(self, motion: Any) -> list[str]:
        pose = np.array(motion["O_T_EE_c"]).reshape(4, 4).T
        if not rotation.is_transform(pose):
            return ["cartesian_position_motion_generator_invalid_frame"]
        step = rotation.difference(pose, self.setpoint.commanded_pose)
        elbow, raised = self._elbow(motion)
        if not self.started:
            raised = raised + self.checks.start_pose(step) + self._start(elbow)
        if raised:
            return raised
        self.started = True
        return self._follow(pose, step / DT, elbow)


class CartesianVelocity(_Cartesian):
    """Follows O_dP_EE_c and integrates it."""

    part = "O_dP_EE_c"

    def take(self, motion: Any) -> list[str]:
        twist = np.array(motion["O_dP_EE_c"])
        elbow, raised = self._elbow(motion)
        if raised := raised + self._start(elbow):
            return raised
        self.started = True
        return self._follow(rotation.advance(self.setpoint.commanded_pose, twist * DT), twist, elbow)


GENERATORS = MappingProxyType(
    {
        GeneratorMode.NONE: Generator,
        GeneratorMode.JOINT_POSITION: JointPosition,
        GeneratorMode.JOINT_VELOCITY: JointVelocity,
        GeneratorMode.CARTESIAN_POSITION: CartesianPosition,
        GeneratorMode.CARTESIAN_VELOCITY: CartesianVelocity,
    }
)


def make_generator(
    mode: GeneratorMode, setpoint: Setpoint, checks: Checks, F_T_EE: np.ndarray, velocity: np.ndarray | None
) -> Generator:
    """The generator of a motion; ``velocity`` (7,) rad/s makes it an asynchronous one."""
    if velocity is not None:
        return Asynchronous(setpoint, checks, F_T_EE, velocity)
    return GENERATORS[mode](setpoint, checks, F_T_EE)
