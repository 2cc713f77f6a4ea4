"""What the tests of motions share: marks of their modules, a posture, and ends that a server can be told to show."""

import numpy as np
import pytest

from franka_rt import RobotMode

IGNORE_WARNING = pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")
MARKS = [IGNORE_WARNING, pytest.mark.usefixtures("no_thread_left")]

Q = np.array([0, -0.7, 0, -2.3, 0, 1.5, 0.7])
HALF = np.full(7, 0.5)
REFLEX = {"robot_mode": RobotMode.REFLEX, "reflex_reason": {"joint_reflex"}}
LOST = {"robot_mode": RobotMode.REFLEX, "reflex_reason": {"communication_constraints_violation"}}


def forever(output, cycles=20_000):
    """A callback that does not end by itself; a motion that nothing else ends fails its test after these cycles."""
    left = iter(range(cycles))

    def callback(state, dt):
        assert next(left, None) is not None, f"nothing has ended the motion in {cycles} cycles"
        return output

    return callback
