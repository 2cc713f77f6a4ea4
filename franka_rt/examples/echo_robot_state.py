"""Print the robot's state ten times a second. Nothing moves.

Everything that the robot reports is an attribute of the state, with libfranka's name: state.q, state.O_T_EE, ...
"""

from __future__ import annotations

import sys

from franka_rt.examples.runner import main
from franka_rt.robot import Robot
from franka_rt.state import RobotState

EVERY = 100  # states, which come at 1 kHz


def run(robot: Robot, count: int = 20) -> None:
    """Print so many states."""
    seen = 0

    def show(state: RobotState) -> bool:
        nonlocal seen
        if seen % EVERY == 0:
            print(repr(state), flush=True)
        seen += 1
        return seen < count * EVERY

    robot.read(show)


if __name__ == "__main__":
    sys.exit(main(run, __doc__, only_reads=True))
