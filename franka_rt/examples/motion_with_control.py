"""Move joints 4, 5 and 7 out by 0.3 rad and back, following by torques of this program.

The motion of generate_joint_position_motion, from the ready pose, to which the arm goes first; 5 s, at up to
0.21 rad/s. The robot's own joint controller is replaced by springs and dampers that are softer: the arm gives way
when it is pushed.
"""

from __future__ import annotations

import sys

import numpy as np

from franka_rt.examples.generate_joint_position_motion import SECONDS, Motion
from franka_rt.examples.runner import main
from franka_rt.examples.setup import prepare
from franka_rt.model import Model
from franka_rt.robot import Robot
from franka_rt.state import RobotState

STIFFNESS = np.array([600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0])  # N m/rad
DAMPING = np.array([50.0, 50.0, 50.0, 50.0, 30.0, 25.0, 15.0])  # N m s/rad


class JointImpedance:
    """Torque callback: springs and dampers to the desired joint motion, which the robot reports as q_d and dq_d."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __call__(self, state: RobotState, dt: float) -> np.ndarray:
        """(7,) N m. Gravity and friction are the robot's own business; Coriolis torques are not."""
        spring = STIFFNESS * (state.q_d - state.q) + DAMPING * (state.dq_d - state.dq)
        return spring + self.model.coriolis(state)


def run(robot: Robot, seconds: float = SECONDS) -> None:
    """Move out and back."""
    law = JointImpedance(robot.load_model())  # takes its time: before the motion
    prepare(robot)
    robot.control_joint_positions(Motion(seconds), torque_callback=law)
    print(f"Done. {robot.loop_statistics}")


if __name__ == "__main__":
    sys.exit(main(run, __doc__))
