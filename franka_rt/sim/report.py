"""The arm's state as a datagram, with every field consistent with the physics and the setpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from franka_rt.dialect import ControllerMode, GeneratorMode
from franka_rt.sim.model import GRAVITY
from franka_rt.sim.setpoint import elbow_sign
from franka_rt.state_fields import MATRIX_SHAPES
from franka_rt.state_writer import StateWriter

if TYPE_CHECKING:
    from franka_rt.sim.arm import Arm

Fields = Iterator[tuple[str, Any]]

__all__ = ["modes", "views", "write_state"]


def views(writer: StateWriter) -> dict[str, np.ndarray]:
    """Every array field of the datagram as something to assign to, matrices in C order: half the time of a tick."""
    found = {}
    for name in writer.dialect.state.names or ():
        field = writer.record[name]
        if field.ndim:
            shape = MATRIX_SHAPES.get(field.size)
            found[name] = field if shape is None or field.ndim > 1 else field.reshape(shape).T
    return found


def modes(arm: Arm) -> tuple[int, int, int]:
    """(generator, controller, robot mode) as the state shows them; without a motion idle and other."""
    motion = arm.motion
    if motion is None:
        return GeneratorMode.IDLE, ControllerMode.OTHER, arm.mode
    return motion.mode, motion.controller, arm.mode


def write_state(arm: Arm) -> bytes:
    """The datagram of the arm's present state."""
    record = arm.writer.record
    record["message_id"] = arm.message_id
    record["motion_generator_mode"], record["controller_mode"], record["robot_mode"] = modes(arm)
    record["control_command_success_rate"] = arm.motion.success_rate if arm.motion else 0.0
    arm.writer["errors"], arm.writer["reflex_reason"] = arm.errors, arm.reflex_reason
    for name, value in (*_measured(arm), *_desired(arm)):
        arm.views[name][...] = value
    return arm.writer.datagram()


def _measured(arm: Arm) -> Fields:
    plant, monitor, elasticity = arm.plant, arm.monitor, arm.parameters.elasticity
    yield "q", plant.q
    yield "dq", plant.dq
    yield "tau_J", plant.tau_J
    yield "dtau_J", plant.dtau_J
    yield "theta", plant.q + plant.tau_J / elasticity
    yield "dtheta", plant.dq + plant.dtau_J / elasticity
    yield "O_T_EE", plant.quantities.pose
    yield "O_ddP_O", GRAVITY
    yield "elbow", (plant.q[2], elbow_sign(plant.q))
    yield "tau_ext_hat_filtered", plant.tau_ext
    yield "O_F_ext_hat_K", monitor.wrench_base
    yield "K_F_ext_hat_K", monitor.wrench_own
    yield "joint_contact", monitor.joint_contact
    yield "cartesian_contact", monitor.cartesian_contact
    yield "joint_collision", monitor.joint_collision
    yield "cartesian_collision", monitor.cartesian_collision


def _desired(arm: Arm) -> Fields:
    s = arm.setpoint
    sign = elbow_sign(s.q)
    yield "q_d", s.q
    yield "dq_d", s.dq
    yield "ddq_d", s.ddq
    yield "tau_J_d", s.torque
    yield "O_T_EE_d", s.pose
    yield "O_dP_EE_d", s.jacobian @ s.dq
    yield "O_T_EE_c", s.commanded_pose
    yield "O_dP_EE_c", s.twist
    yield "O_ddP_EE_c", s.acceleration
    yield "elbow_d", (s.q[2], sign)
    yield "elbow_c", (s.elbow, sign)
    yield "delbow_c", (s.delbow, 0.0)
    yield "ddelbow_c", (s.ddelbow, 0.0)
