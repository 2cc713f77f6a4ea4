"""Starts franka-sim with a kinematic stand-in for its physics: ``python franka_sim_server.py HOST PORT``."""

import sys
import threading

from franka_sim.franka_sim_server import FrankaSimServer  # pyright: ignore[reportMissingImports]

READY = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]


class Kinematics:
    """Joints that are where they are told to be."""

    enable_vis = False

    def __init__(self):
        self.q, self.dq, self.tau = list(READY), [0.0] * 7, [0.0] * 7
        self.stopped = threading.Event()

    def initialize_simulation(self):
        pass

    def start(self):
        self.stopped.wait()

    def stop(self):
        self.stopped.set()

    def set_control_mode(self, mode):
        pass

    def update_joint_positions(self, q):
        self.q = list(q)

    def update_joint_velocities(self, dq):
        self.dq = list(dq)
        self.q = [a + b * 1e-3 for a, b in zip(self.q, dq, strict=True)]

    def update_torques(self, tau):
        self.tau = list(tau)

    def get_robot_state(self):
        return {"q": list(self.q), "dq": list(self.dq), "tau_J": list(self.tau), "dtau_J": [0.0] * 7}


if __name__ == "__main__":
    FrankaSimServer(host=sys.argv[1], port=int(sys.argv[2]), physics_sim=Kinematics(), enable_gripper=False).start()
