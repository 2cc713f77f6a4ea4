"""A simulated FER or FR3 that speaks FCI on real sockets: for tests, and for programs before they meet an arm.

Layers, each without knowledge of the next: ``model`` and ``plant`` (physics); ``setpoint``, ``generators``, ``checks``,
``control``, ``monitor`` (what the robot's own controller does); ``modes`` (tables); ``arm``, ``requests``, ``gripper``,
``vacuum`` (devices without sockets); ``endpoint`` (sockets); ``simulation`` (time); ``host`` and ``robot``.
"""

from franka_rt.sim.faults import Faults
from franka_rt.sim.robot import SimulatedRobot

__all__ = ["Faults", "SimulatedRobot"]
