"""Pick a part up with the vacuum gripper, hold it for a second, and drop it.

The pump builds up 400 mbar within 2 s. Hold a part with a smooth surface under the suction cups; a simulated gripper
finds one.
"""

from __future__ import annotations

import sys
import time

from franka_rt.examples.runner import VACUUM, main
from franka_rt.vacuum_gripper import VacuumGripper

CONTROL_POINT, TIMEOUT = 40, 2.0  # 10 mbar, s


def run(gripper: VacuumGripper, hold: float = 1.0) -> bool:
    """Pick up, hold, drop; whether there was a part."""
    held = gripper.vacuum(CONTROL_POINT, TIMEOUT)
    state = gripper.read_once()
    print(f"{'Holding a part' if held else 'No part'} at {state.vacuum} mbar")
    time.sleep(hold)
    if held and not gripper.read_once().part_present:
        print("The part was lost.")
    gripper.drop_off(TIMEOUT)
    return held


if __name__ == "__main__":
    sys.exit(main(run, __doc__, VACUUM, surroundings=lambda sim: sim.offer_part()))
