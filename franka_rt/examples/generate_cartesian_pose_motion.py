"""Move the end effector around a vertical circle of 5 cm radius, by poses.

From the ready pose, to which the arm goes first; the circle lies below it in the x-z plane of the base. 5 s, at up to
0.12 m/s, with constant orientation.
"""

from __future__ import annotations

import sys

import numpy as np

from franka_rt.commands import CartesianPose
from franka_rt.examples.profiles import quintic
from franka_rt.examples.runner import main
from franka_rt.examples.setup import prepare
from franka_rt.robot import Robot
from franka_rt.state import RobotState

RADIUS, SECONDS = 0.05, 5.0  # m, s


class Circle:
    """The callback; begins and ends at the pose that the robot has been commanded last."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.time, self.seconds = 0.0, seconds

    def __call__(self, state: RobotState, dt: float) -> CartesianPose:
        """The pose on the circle; begin at O_T_EE_c, not at the measured O_T_EE."""
        if self.time == 0.0:
            self.start = state.O_T_EE_c
        self.time += dt
        angle = 2.0 * np.pi * quintic(self.time, self.seconds)[0]
        pose = self.start.copy()
        pose[0, 3] += RADIUS * np.sin(angle)
        pose[2, 3] += RADIUS * (np.cos(angle) - 1.0)
        command = CartesianPose(pose)
        return command.finished() if self.time >= self.seconds else command


def run(robot: Robot, seconds: float = SECONDS) -> None:
    """Around once."""
    prepare(robot)
    robot.control_cartesian_pose(Circle(seconds))
    print(f"Done. {robot.loop_statistics}")


if __name__ == "__main__":
    sys.exit(main(run, __doc__))
