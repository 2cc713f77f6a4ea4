"""Grasp an object with the Franka Hand, hold it for a second, and let it go.

The fingers open and close all the way first (homing), then close at 10 cm/s on an object of about 3 cm, which you hold
between them, with 20 N. A simulated hand finds one there.
"""

from __future__ import annotations

import sys
import time

from franka_rt.examples.runner import HAND, main
from franka_rt.gripper import Gripper

WIDTH, SPEED, FORCE = 0.03, 0.1, 20.0  # m, m/s, N


def run(gripper: Gripper, hold: float = 1.0) -> bool:
    """Home, grasp, hold, release; whether there was something to hold."""
    gripper.homing()  # the hand learns its largest width
    return pick(gripper, hold)


def pick(gripper: Gripper, hold: float) -> bool:
    """The same with a hand that has been homed."""
    opened = gripper.read_once().max_width
    print(f"Opens to {1e3 * opened:.0f} mm")
    grasped = gripper.grasp(WIDTH, SPEED, FORCE, epsilon_inner=0.01, epsilon_outer=0.01)
    width = gripper.read_once().width
    print(f"{'Grasped' if grasped else 'Nothing of the expected size'}: the fingers are {1e3 * width:.1f} mm apart")
    time.sleep(hold)
    if grasped and not gripper.read_once().is_grasped:
        print("The object was lost.")
    gripper.move(opened, SPEED)
    return grasped


if __name__ == "__main__":
    sys.exit(main(run, __doc__, HAND, surroundings=lambda sim: sim.hold_object(WIDTH)))
