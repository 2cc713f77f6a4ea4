"""Press on a horizontal surface with 5 N for five seconds.

The end effector has to touch a hard, horizontal surface BEFORE this begins, and stays there: the arm does not go to
the ready pose. The force grows in a second, is held by an integrating controller, and fades in a second; springs hold
the arm sideways. Where the surface gives way by more than 1 cm the motion stops. A simulated arm finds a table.
"""

from __future__ import annotations

import sys

from franka_rt.commands import Torques
from franka_rt.errors import InvalidOperationException
from franka_rt.examples.cartesian_impedance_control import DAMPING, STIFFNESS, error
from franka_rt.examples.profiles import quintic
from franka_rt.examples.runner import main
from franka_rt.examples.setup import set_behavior
from franka_rt.model import Model
from franka_rt.robot import Robot
from franka_rt.state import RobotState

FORCE, SECONDS, RAMP, FAR = 5.0, 5.0, 1.0, 0.01  # N downwards, s, s, m
INTEGRAL = 3.0  # 1/s


class ForceControl:
    """Torque callback: f = F + k_i integral(F - measured) downwards, an impedance in the other five directions."""

    def __init__(self, model: Model, seconds: float) -> None:
        self.model, self.seconds = model, seconds
        self.time = self.integral = self.measured = 0.0

    def __call__(self, state: RobotState, dt: float) -> Torques:
        """(7,) N m. The force is measured against what the sensors showed at the beginning."""
        if self.time == 0.0:
            self.goal, self.offset = state.O_T_EE, state.O_F_ext_hat_K[2]
        self.time += dt
        if abs(state.O_T_EE[2, 3] - self.goal[2, 3]) > FAR:
            raise InvalidOperationException("The surface gave way by more than 1 cm: there is nothing to press on.")
        wanted = FORCE * (quintic(self.time, RAMP)[0] - quintic(self.time - self.seconds + RAMP, RAMP)[0])
        pressed = self.offset - state.O_F_ext_hat_K[2]  # what the arm exerts on the surface counts positive upwards
        self.integral += INTEGRAL * (wanted - pressed) * dt
        self.measured = pressed if self.time < self.seconds - RAMP else self.measured
        J = self.model.zero_jacobian("end_effector", state)
        wrench = STIFFNESS * error(self.goal, state.O_T_EE) - DAMPING * (J @ state.dq)
        wrench[2] = -wanted - self.integral - DAMPING[2] * (J[2] @ state.dq)
        command = Torques(J.T @ wrench + self.model.coriolis(state))
        return command.finished() if self.time >= self.seconds else command


def run(robot: Robot, seconds: float = SECONDS) -> float:
    """Press; the force (N) just before it fades."""
    set_behavior(robot)
    law = ForceControl(robot.load_model(), seconds)
    robot.control_torques(law)
    print(f"Pressed with {law.measured:.2f} N. {robot.loop_statistics}")
    return law.measured


if __name__ == "__main__":
    sys.exit(main(run, __doc__, surroundings=lambda sim: sim.put_table(float(sim.state().O_T_EE[2, 3]))))
