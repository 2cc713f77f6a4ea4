"""Hold the end effector like cartesian_impedance_control, by a compiled law in a loop without Python: push it.

Springs of 150 N/m and 10 N m/rad for ten seconds at the ready pose, to which the arm goes first. It gives way to a push
by about 7 mm per newton and swings back; joint positions that leave the end effector where it is are free. Compiling
takes some seconds the first time and needs a C compiler. A simulated arm is pushed sideways with 8 N.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from franka_rt.examples.cartesian_impedance_control import DAMPING, STIFFNESS
from franka_rt.examples.runner import main
from franka_rt.examples.setup import prepare
from franka_rt.kernel_law import KernelLaw
from franka_rt.model import jax_model
from franka_rt.robot import Robot


def compile_law(robot: Robot) -> Any:
    """Kernel of tau = c + J^T (K e - D J dq) with the model of this arm, e the way back to ``goal``, base axes."""
    import jax  # here, because programs with a saved kernel need none of it
    import jax.numpy as jnp

    from franka_jax import Payload, aot
    from franka_jax.laws import rotation_error

    def impedance(q, dq, dt, O_T_EE, F_T_EE, m_total, F_x_Ctotal, I_total, goal, stiffness, damping, end, memory):
        time = memory + dt
        turn = rotation_error(O_T_EE[:3, :3], goal[:3, :3])
        error = jnp.concatenate([goal[:3, 3] - O_T_EE[:3, 3], turn])
        J = model.zero_jacobian("end_effector", q, F_T_EE)
        wrench = stiffness * error - damping * (J @ dq)
        tau = J.T @ wrench + model.coriolis(q, dq, Payload(m_total, F_x_Ctotal, I_total))
        return {"tau": tau, "memory": time, "finished": time >= end}

    seven, six, three, pose = np.zeros(7), np.zeros(6), np.zeros(3), np.eye(4)
    model = jax_model(robot)
    with jax.enable_x64(True):
        shapes = (seven, seven, 0.0, pose, pose, 0.0, three, np.eye(3), pose, six, six, 0.0, 0.0)
        return aot.compile_function(impedance, *shapes, name="impedance")


def run(robot: Robot, seconds: float = 10.0) -> None:
    """Hold it; ``law.set(stiffness=...)`` from another thread would change the springs meanwhile."""
    kernel = compile_law(robot)  # takes its time: before the motion
    prepare(robot)
    goal = robot.read_once().O_T_EE
    law = KernelLaw(
        kernel, robot.dialect.robot, goal=goal, stiffness=STIFFNESS, damping=DAMPING, end=seconds, memory=0.0
    )
    robot.control_torques(law, compiled=True)
    away = robot.latest_state().O_T_EE[:3, 3] - goal[:3, 3]
    print(f"At the end {(1e3 * away).round(1)} mm away from where it began. {robot.loop_statistics}")


if __name__ == "__main__":
    sys.exit(main(run, __doc__, surroundings=lambda sim: sim.push([0, 8, 0, 0, 0, 0], 60.0)))
