"""Move joints 4, 5 and 7 out by 0.3 rad and back, with the loop in your own hands.

The same motion as generate_joint_position_motion, from the ready pose, to which the arm goes first; 5 s, at up to
0.21 rad/s. Nothing is filtered or limited between this program and the robot.
"""

from __future__ import annotations

import sys

from franka_rt.examples.generate_joint_position_motion import SECONDS, Motion
from franka_rt.examples.runner import main
from franka_rt.examples.setup import prepare
from franka_rt.robot import Robot


def run(robot: Robot, seconds: float = SECONDS) -> None:
    """Read a state, write a command, until a command is finished; leaving the block early stops the arm."""
    prepare(robot)
    next_command = Motion(seconds)
    with robot.start_joint_position_control() as control:
        while not control.finished:
            state, dt = control.read_once()
            control.write_once(next_command(state, dt))
    print("Done.")


if __name__ == "__main__":
    sys.exit(main(run, __doc__))
