"""What every example that moves the arm does first: thresholds and stiffnesses, then the ready pose."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from franka_rt.commands import JointPositions
from franka_rt.examples.profiles import quintic
from franka_rt.robot import Robot
from franka_rt.state import RobotState

__all__ = ["READY", "JointMotion", "go_to", "prepare", "set_behavior"]

READY = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
"""The vendor's ready pose, rad."""

_NEAR = 2e-3  # rad; nearer than this, as an arm is that sags or is being pushed, there is nothing to do
_PEAK_VELOCITY, _PEAK_ACCELERATION = 1.875, 5.7736  # of the quintic, times 1/T and 1/T^2


def set_behavior(robot: Robot) -> None:
    """Thresholds above which the arm stops (Nm, N) and the stiffness of the internal controllers (Nm/rad, N/m)."""
    torque, force = [20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0], [20.0, 20.0, 20.0, 25.0, 25.0, 25.0]
    robot.set_collision_behavior(torque, torque, force, force)
    robot.set_joint_impedance([3000, 3000, 3000, 2500, 2500, 2000, 2000])
    robot.set_cartesian_impedance([3000, 3000, 3000, 300, 300, 300])


class JointMotion:
    """Callback of a point-to-point motion: all joints start and arrive together, along a quintic.

    Args:
        robot: whose limits count.
        goal: (7,) rad.
        speed: share of the joint velocity and acceleration limits that is used, 0..1.

    Attributes:
        duration: of the motion, s; known once it has begun.
    """

    def __init__(self, robot: Robot, goal: ArrayLike, speed: float = 0.2) -> None:
        self.goal = np.array(goal, dtype=float)
        self._speed, self._robot = speed, robot
        self._time = self.duration = 0.0
        self._start = self.goal

    def _plan(self, start: np.ndarray) -> None:
        ends = (start, self.goal)
        velocity = np.min([self._robot.upper_joint_velocity_limits(q) for q in ends], axis=0)
        velocity = np.minimum(velocity, -np.max([self._robot.lower_joint_velocity_limits(q) for q in ends], axis=0))
        acceleration, way = self._robot.dialect.limits.joint_acceleration, np.abs(self.goal - start)
        by_velocity = _PEAK_VELOCITY * way / (self._speed * velocity)
        by_acceleration = np.sqrt(_PEAK_ACCELERATION * way / (self._speed * acceleration))
        self._start, self.duration = start, float(max(by_velocity.max(), by_acceleration.max(), 1e-3))

    def __call__(self, state: RobotState, dt: float) -> JointPositions:
        """The next position; it begins at q_d, which may differ from the measured q."""
        if not self.duration:
            self._plan(state.q_d)
        self._time += dt
        share, _ = quintic(self._time, self.duration)
        command = JointPositions(self._start + share * (self.goal - self._start))
        return command.finished() if self._time >= self.duration else command


def go_to(robot: Robot, goal: ArrayLike, speed: float = 0.2) -> None:
    """Move all joints to goal (7,) rad, unless they are there."""
    if np.abs(robot.read_once().q_d - np.asarray(goal)).max() > _NEAR:
        robot.control_joint_positions(JointMotion(robot, goal, speed))


def prepare(robot: Robot) -> None:
    """Set thresholds and stiffnesses, then go to the ready pose."""
    set_behavior(robot)
    go_to(robot, READY)
