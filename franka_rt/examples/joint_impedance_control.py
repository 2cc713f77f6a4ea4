"""Move the end effector around a circle, with a joint impedance of this program as the controller.

The circle of generate_cartesian_pose_motion (5 cm radius, vertical), from the ready pose, to which the arm goes first;
8 s, at up to 0.08 m/s. The robot finds the joint motion to the poses, this program the torques: the arm gives way when
it is pushed.
"""

from __future__ import annotations

import sys

from franka_rt.examples.generate_cartesian_pose_motion import Circle
from franka_rt.examples.motion_with_control import JointImpedance
from franka_rt.examples.runner import main
from franka_rt.examples.setup import prepare
from franka_rt.robot import Robot


def run(robot: Robot, seconds: float = 8.0) -> None:
    """Around once."""
    law = JointImpedance(robot.load_model())
    prepare(robot)
    robot.control_cartesian_pose(Circle(seconds), torque_callback=law)
    print(f"Done. {robot.loop_statistics}")


if __name__ == "__main__":
    sys.exit(main(run, __doc__))
