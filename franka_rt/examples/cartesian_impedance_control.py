"""Hold the end effector with springs of 150 N/m and 10 N m/rad for ten seconds: push it.

The arm goes to the ready pose first and stays there, but gives way to a push by about 7 mm per newton and swings back.
Joint positions that leave the end effector where it is are free. A simulated arm is pushed sideways with 8 N.
"""

from __future__ import annotations

import sys

import numpy as np

from franka_rt.commands import Torques
from franka_rt.examples.runner import main
from franka_rt.examples.setup import prepare
from franka_rt.model import Model
from franka_rt.robot import Robot
from franka_rt.state import RobotState

STIFFNESS = np.repeat([150.0, 10.0], 3)  # N/m, N m/rad
DAMPING = 2.0 * np.sqrt(STIFFNESS)  # N s/m, N m s/rad


def error(goal: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """(6,) way from a pose to the goal, m, and the sine of the angle about its axis; base axes."""
    turn = 0.5 * np.cross(pose[:3, :3].T, goal[:3, :3].T).sum(axis=0)
    return np.concatenate([goal[:3, 3] - pose[:3, 3], turn])


class CartesianImpedance:
    """Torque callback: tau = c + J^T (K e - D J dq), e the way back to the first pose."""

    def __init__(self, model: Model, seconds: float) -> None:
        self.model, self.seconds, self.time = model, seconds, 0.0

    def __call__(self, state: RobotState, dt: float) -> Torques:
        """(7,) N m, without gravity, which the robot compensates."""
        if self.time == 0.0:
            self.goal = state.O_T_EE
        self.time += dt
        J = self.model.zero_jacobian("end_effector", state)
        wrench = STIFFNESS * error(self.goal, state.O_T_EE) - DAMPING * (J @ state.dq)
        command = Torques(J.T @ wrench + self.model.coriolis(state))
        return command.finished() if self.time >= self.seconds else command


def run(robot: Robot, seconds: float = 10.0) -> None:
    """Hold it."""
    law = CartesianImpedance(robot.load_model(), seconds)
    prepare(robot)
    robot.control_torques(law)
    away = robot.latest_state().O_T_EE[:3, 3] - law.goal[:3, 3]
    print(f"At the end {(1e3 * away).round(1)} mm away from where it began. {robot.loop_statistics}")


if __name__ == "__main__":
    sys.exit(main(run, __doc__, surroundings=lambda sim: sim.push([0, 8, 0, 0, 0, 0], 60.0)))
