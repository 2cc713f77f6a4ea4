"""Move all joints to a given configuration and back to the ready pose.

The arm goes to the ready pose, from there 0.3 rad away with every joint, and back: straight lines in joint space with
a smooth speed of at most a fifth of the joints' limits, about 1.5 s each (more for the first one, from far away).
"""

from __future__ import annotations

import sys

import numpy as np

from franka_rt.examples.runner import main
from franka_rt.examples.setup import READY, go_to, prepare
from franka_rt.robot import Robot

GOAL = READY + 0.3 * np.array([1, 1, -1, 1, -1, 1, 1])


def run(robot: Robot, speed: float = 0.2) -> None:
    """Go there and back at this share of the limits; see JointMotion in setup.py for how."""
    prepare(robot)
    for name, goal in (("goal", GOAL), ("ready pose", READY)):
        go_to(robot, goal, speed)
        left = np.abs(robot.read_once().q - goal).max()
        print(f"At the {name}; largest joint error {1e3 * left:.2f} mrad")


if __name__ == "__main__":
    sys.exit(main(run, __doc__))
