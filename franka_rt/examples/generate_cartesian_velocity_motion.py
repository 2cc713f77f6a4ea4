"""Move the end effector 10 cm forward and down and back, by velocities.

From the ready pose, to which the arm goes first; along a straight line, 5 s, at up to 0.07 m/s.
"""

from __future__ import annotations

import sys

import numpy as np

from franka_rt.commands import CartesianVelocities
from franka_rt.examples.profiles import bump
from franka_rt.examples.runner import main
from franka_rt.examples.setup import prepare
from franka_rt.robot import Robot
from franka_rt.state import RobotState

WAY, SECONDS = 0.1 * np.array([1, 0, -1, 0, 0, 0]) / np.sqrt(2), 5.0  # m in base axes (and rad), s


class Motion:
    """The callback."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.time, self.seconds = 0.0, seconds

    def __call__(self, state: RobotState, dt: float) -> CartesianVelocities:
        """The twist of the end effector in base axes, m/s and rad/s."""
        self.time += dt
        command = CartesianVelocities(WAY * bump(self.time, self.seconds)[1])
        return command.finished() if self.time >= self.seconds else command


def run(robot: Robot, seconds: float = SECONDS) -> None:
    """Move out and back."""
    prepare(robot)
    robot.control_cartesian_velocities(Motion(seconds))
    print(f"Done. {robot.loop_statistics}")


if __name__ == "__main__":
    sys.exit(main(run, __doc__))
