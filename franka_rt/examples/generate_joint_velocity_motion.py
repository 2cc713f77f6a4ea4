"""Turn joints 4 to 7 out by 0.2 rad and back, by joint velocities.

From the ready pose, to which the arm goes first; 4 s, at up to 0.17 rad/s.
"""

from __future__ import annotations

import sys

import numpy as np

from franka_rt.commands import JointVelocities
from franka_rt.examples.profiles import bump
from franka_rt.examples.runner import main
from franka_rt.examples.setup import prepare
from franka_rt.robot import Robot
from franka_rt.state import RobotState

AMPLITUDE, SECONDS = 0.2 * np.array([0, 0, 0, 1, 1, 1, 1]), 4.0  # rad, s


class Motion:
    """The callback. A velocity that has to end at rest: the profile's rate is zero at the end."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.time, self.seconds = 0.0, seconds

    def __call__(self, state: RobotState, dt: float) -> JointVelocities:
        """The rate of the profile, rad/s."""
        self.time += dt
        command = JointVelocities(AMPLITUDE * bump(self.time, self.seconds)[1])
        return command.finished() if self.time >= self.seconds else command


def run(robot: Robot, seconds: float = SECONDS) -> None:
    """Move out and back."""
    prepare(robot)
    robot.control_joint_velocities(Motion(seconds))
    print(f"Done. {robot.loop_statistics}")


if __name__ == "__main__":
    sys.exit(main(run, __doc__))
