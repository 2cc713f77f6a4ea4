"""Move joints 4, 5 and 7 out by 0.3 rad and back, by joint positions.

From the ready pose, to which the arm goes first; 5 s, at up to 0.21 rad/s.
"""

from __future__ import annotations

import sys

import numpy as np

from franka_rt.commands import JointPositions
from franka_rt.examples.profiles import bump
from franka_rt.examples.runner import main
from franka_rt.examples.setup import prepare
from franka_rt.robot import Robot
from franka_rt.state import RobotState

AMPLITUDE, SECONDS = 0.3 * np.array([0, 0, 0, 1, 1, 0, 1]), 5.0  # rad, s


class Motion:
    """The callback: called with a state and the seconds since the one before, it returns the next command."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.time, self.seconds = 0.0, seconds

    def __call__(self, state: RobotState, dt: float) -> JointPositions:
        """Begin at q_d, where the robot's controller stands, not at the measured q."""
        if self.time == 0.0:
            self.start = state.q_d
        self.time += dt  # 0 the first time; more than 1 ms when a state was lost
        command = JointPositions(self.start + AMPLITUDE * bump(self.time, self.seconds)[0])
        return command.finished() if self.time >= self.seconds else command


def run(robot: Robot, seconds: float = SECONDS) -> None:
    """Move out and back."""
    prepare(robot)
    robot.control_joint_positions(Motion(seconds))
    print(f"Done. {robot.loop_statistics}")


if __name__ == "__main__":
    sys.exit(main(run, __doc__))
