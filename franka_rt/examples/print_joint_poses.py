"""Print the pose of every frame of the arm, from its model. Nothing moves.

The model is that of the connected robot: an FR3 hands out its own description, a FER is this package's own.
"""

from __future__ import annotations

import sys

import numpy as np

from franka_rt.examples.runner import main
from franka_rt.frames import FRAMES
from franka_rt.robot import Robot


def run(robot: Robot) -> None:
    """Print ten poses; the end effector's is also what the robot itself reports."""
    model, state = robot.load_model(), robot.read_once()
    for frame in FRAMES:
        pose = model.pose(frame, state)
        print(f"{frame}: position {pose[:3, 3].round(4)} m, rotation\n{pose[:3, :3].round(4)}")
    difference = np.abs(model.pose("end_effector", state) - state.O_T_EE).max()
    print(f"Largest difference between the model's end effector and the robot's own: {difference:.1e}")


if __name__ == "__main__":
    sys.exit(main(run, __doc__, only_reads=True))
