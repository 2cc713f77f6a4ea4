"""The arm's state as a datagram, with every field consistent with the physics and the setpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from franka_rt.dialect import ControllerMode, GeneratorMode
from franka_rt.sim.model import GRAVITY
from franka_rt.sim.setpoint import elbow_sign

if TYPE_CHECKING:
    from franka_rt.sim.arm import Arm

__all__ = ["modes", "write_state"]


def modes(arm: Arm) -> tuple[int, int, int]:
    """(generator, controller, robot mode) as the state shows them; without a motion idle and other."""
    motion = arm.motion
    if motion is None:
        return GeneratorMode.IDLE, ControllerMode.OTHER, arm.mode
    return motion.mode, motion.controller, arm.mode


def write_state(arm: Arm) -> bytes:
    """The datagram of the arm's present state."""
    w = arm.writer
    generator, controller, mode = modes(arm)
    w.update(message_id=arm.message_id, motion_generator_mode=generator, controller_mode=controller, robot_mode=mode)
    w["errors"], w["reflex_reason"] = arm.errors, arm.reflex_reason
    w["control_command_success_rate"] = arm.motion.success_rate if arm.motion else 0.0
    _measured(arm)
    _desired(arm)
    return w.datagram()


def _measured(arm: Arm) -> None:
    plant, monitor, elasticity = arm.plant, arm.monitor, arm.parameters.elasticity
    arm.writer.update(
        q=plant.q,
        dq=plant.dq,
        tau_J=plant.tau_J,
        dtau_J=plant.dtau_J,
        theta=plant.q + plant.tau_J / elasticity,
        dtheta=plant.dq + plant.dtau_J / elasticity,
        O_T_EE=plant.quantities.pose,
        O_ddP_O=GRAVITY,
        elbow=(plant.q[2], elbow_sign(plant.q)),
        tau_ext_hat_filtered=plant.tau_ext,
        O_F_ext_hat_K=monitor.wrench_base,
        K_F_ext_hat_K=monitor.wrench_own,
        joint_contact=monitor.joint_contact,
        cartesian_contact=monitor.cartesian_contact,
        joint_collision=monitor.joint_collision,
        cartesian_collision=monitor.cartesian_collision,
    )


def _desired(arm: Arm) -> None:
    s = arm.setpoint
    sign = elbow_sign(s.q)
    arm.writer.update(
        q_d=s.q,
        dq_d=s.dq,
        ddq_d=s.ddq,
        tau_J_d=s.torque,
        O_T_EE_d=s.pose,
        O_dP_EE_d=s.jacobian @ s.dq if s.dq.any() else np.zeros(6),
        O_T_EE_c=s.commanded_pose,
        O_dP_EE_c=s.twist,
        O_ddP_EE_c=s.acceleration,
        elbow_d=(s.q[2], sign),
        elbow_c=(s.elbow, sign),
        delbow_c=(s.delbow, 0.0),
        ddelbow_c=(s.ddelbow, 0.0),
    )
