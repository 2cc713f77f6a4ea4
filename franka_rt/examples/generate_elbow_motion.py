"""Swing the elbow by 0.2 rad and back while the end effector stands still.

From the ready pose, to which the arm goes first; joint 3 leads, the others follow so that hand and orientation stay.
5 s, joint 3 at up to 0.14 rad/s; the elbow moves about 7 cm sideways.
"""

from __future__ import annotations

import sys

from franka_rt.commands import CartesianPose
from franka_rt.examples.profiles import bump
from franka_rt.examples.runner import main
from franka_rt.examples.setup import prepare
from franka_rt.robot import Robot
from franka_rt.state import RobotState

AMPLITUDE, SECONDS = 0.2, 5.0  # rad, s


class Motion:
    """The callback: a constant pose with an elbow, which is joint 3 (rad) and the sign of joint 4."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.time, self.seconds = 0.0, seconds

    def __call__(self, state: RobotState, dt: float) -> CartesianPose:
        """Begin at the elbow that the robot reports as commanded, and keep its sign."""
        if self.time == 0.0:
            self.pose, self.elbow = state.O_T_EE_c, state.elbow_c
        self.time += dt
        position = self.elbow[0] + AMPLITUDE * bump(self.time, self.seconds)[0]
        command = CartesianPose(self.pose, elbow=(position, self.elbow[1]))
        return command.finished() if self.time >= self.seconds else command


def run(robot: Robot, seconds: float = SECONDS) -> None:
    """Swing it out and back."""
    prepare(robot)
    robot.control_cartesian_pose(Motion(seconds))
    print(f"Done. {robot.loop_statistics}")


if __name__ == "__main__":
    sys.exit(main(run, __doc__))
