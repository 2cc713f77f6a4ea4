"""Wire structs that both arm versions share, and the pieces the two state and command layouts are made of.

Offsets follow from the order, because nothing is padded. Source: libfranka's public headers (FCI protocol 3, 5, 6).
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from franka_rt.dialect import CommandName, CommandSpec, Status

# fmt: off
HEADER = np.dtype([("command", "<u4"), ("command_id", "<u4"), ("size", "<u4")])
EMPTY = np.dtype([])
CONNECT_REQUEST = np.dtype([("version", "<u2"), ("udp_port", "<u2")])
CONNECT_RESPONSE = np.dtype([("status", "u1"), ("version", "<u2")])
STATUS_RESPONSE = np.dtype([("status", "u1")])
DEVIATION = np.dtype([("translation", "<f8"), ("rotation", "<f8"), ("elbow", "<f8")])
SET_COLLISION_BEHAVIOR = np.dtype([
    ("lower_torque_thresholds_acceleration", "<f8", 7), ("upper_torque_thresholds_acceleration", "<f8", 7),
    ("lower_torque_thresholds_nominal", "<f8", 7), ("upper_torque_thresholds_nominal", "<f8", 7),
    ("lower_force_thresholds_acceleration", "<f8", 6), ("upper_force_thresholds_acceleration", "<f8", 6),
    ("lower_force_thresholds_nominal", "<f8", 6), ("upper_force_thresholds_nominal", "<f8", 6)])
SET_JOINT_IMPEDANCE = np.dtype([("K_theta", "<f8", 7)])
SET_CARTESIAN_IMPEDANCE = np.dtype([("K_x", "<f8", 6)])
SET_GUIDING_MODE = np.dtype([("guiding_mode", "u1", 6), ("nullspace", "u1")])
SET_EE_TO_K = np.dtype([("EE_T_K", "<f8", 16)])
SET_NE_TO_EE = np.dtype([("NE_T_EE", "<f8", 16)])
SET_LOAD = np.dtype([("m_load", "<f8"), ("F_x_Cload", "<f8", 3), ("I_load", "<f8", 9)])
MOTION_GENERATOR_COMMAND = np.dtype([
    ("q_c", "<f8", 7), ("dq_c", "<f8", 7), ("O_T_EE_c", "<f8", 16), ("O_dP_EE_c", "<f8", 6), ("elbow_c", "<f8", 2),
    ("valid_elbow", "u1"), ("motion_generation_finished", "u1")])

MOVE_FIELDS = [
    ("controller_mode", "<u4"), ("motion_generator_mode", "<u4"),
    ("maximum_path_deviation", DEVIATION), ("maximum_goal_pose_deviation", DEVIATION)]
DEFAULT_DEVIATION = (10.0, 3.12, 6.283185307179586)
"""Translation (m), rotation (rad) and elbow (rad) that libfranka sends as both deviation limits of a Move."""

CONNECT_STATUSES = (Status.SUCCESS, Status.INCOMPATIBLE_LIBRARY_VERSION)

# Real numbers of the state in wire order; the accelerometers of version 10 follow "dtheta".
STATE_REALS = (
    ("O_T_EE", 16), ("O_T_EE_d", 16), ("F_T_EE", 16), ("EE_T_K", 16), ("F_T_NE", 16), ("NE_T_EE", 16),
    ("m_ee", None), ("I_ee", 9), ("F_x_Cee", 3), ("m_load", None), ("I_load", 9), ("F_x_Cload", 3),
    ("elbow", 2), ("elbow_d", 2), ("tau_J", 7), ("tau_J_d", 7), ("dtau_J", 7), ("q", 7), ("q_d", 7), ("dq", 7),
    ("dq_d", 7), ("ddq_d", 7), ("joint_contact", 7), ("cartesian_contact", 6), ("joint_collision", 7),
    ("cartesian_collision", 6), ("tau_ext_hat_filtered", 7), ("O_F_ext_hat_K", 6), ("K_F_ext_hat_K", 6),
    ("O_dP_EE_d", 6), ("O_ddP_O", 3), ("elbow_c", 2), ("delbow_c", 2), ("ddelbow_c", 2), ("O_T_EE_c", 16),
    ("O_dP_EE_c", 6), ("O_ddP_EE_c", 6), ("theta", 7), ("dtheta", 7))

ERROR_NAMES = (
    "joint_position_limits_violation", "cartesian_position_limits_violation", "self_collision_avoidance_violation",
    "joint_velocity_violation", "cartesian_velocity_violation", "force_control_safety_violation", "joint_reflex",
    "cartesian_reflex", "max_goal_pose_deviation_violation", "max_path_pose_deviation_violation",
    "cartesian_velocity_profile_safety_violation", "joint_position_motion_generator_start_pose_invalid",
    "joint_motion_generator_position_limits_violation", "joint_motion_generator_velocity_limits_violation",
    "joint_motion_generator_velocity_discontinuity", "joint_motion_generator_acceleration_discontinuity",
    "cartesian_position_motion_generator_start_pose_invalid", "cartesian_motion_generator_elbow_limit_violation",
    "cartesian_motion_generator_velocity_limits_violation", "cartesian_motion_generator_velocity_discontinuity",
    "cartesian_motion_generator_acceleration_discontinuity", "cartesian_motion_generator_elbow_sign_inconsistent",
    "cartesian_motion_generator_start_elbow_invalid", "force_controller_desired_force_tolerance_violation",
    "start_elbow_sign_inconsistent", "communication_constraints_violation", "power_limit_violation",
    "cartesian_motion_generator_joint_position_limits_violation",
    "cartesian_motion_generator_joint_velocity_limits_violation",
    "cartesian_motion_generator_joint_velocity_discontinuity",
    "cartesian_motion_generator_joint_acceleration_discontinuity", "cartesian_position_motion_generator_invalid_frame",
    "controller_torque_discontinuity", "joint_p2p_insufficient_torque_for_planning", "tau_j_range_violation",
    "instability_detected", "joint_move_in_wrong_direction", "cartesian_spline_motion_generator_violation",
    "joint_via_motion_generator_planning_joint_limit_violation", "base_acceleration_initialization_timeout",
    "base_acceleration_invalid_reading")
"""Attribute names of the error flags by index; the same in both versions."""

ERROR_TEXTS = MappingProxyType({
    "cartesian_position_motion_generator_invalid_frame": "cartesian_position_motion_generator_invalid_frame_flag",
    "tau_j_range_violation": "tau_J_range_violation"})
"""The two flags whose printed name differs from the attribute's."""
# fmt: on


def state_layout(real: str, extra: tuple[tuple[str, tuple[int, ...]], ...] = ()) -> np.dtype:
    """State datagram whose real numbers have the numpy type ``real``; ``extra`` real arrays follow ``dtheta``."""
    reals = [(name, real) if n is None else (name, real, n) for name, n in STATE_REALS]
    reals += [(name, real, shape) for name, shape in extra]
    flags = len(ERROR_NAMES)
    tail = [("motion_generator_mode", "u1"), ("controller_mode", "u1"), ("errors", "u1", flags)]
    tail += [("reflex_reason", "u1", flags), ("robot_mode", "u1"), ("control_command_success_rate", real)]
    return np.dtype([("message_id", "<u8"), *reals, *tail])


def command_layout(control: np.dtype) -> np.dtype:
    """Command datagram with the given controller part."""
    return np.dtype([("message_id", "<u8"), ("motion", MOTION_GENERATOR_COMMAND), ("control", control)])


def connect_spec() -> CommandSpec:
    """The handshake, the same in both versions."""
    return CommandSpec(CommandName.CONNECT, 0, CONNECT_REQUEST, CONNECT_RESPONSE, CONNECT_STATUSES)


SETTER_REQUESTS = MappingProxyType(
    {
        CommandName.SET_COLLISION_BEHAVIOR: SET_COLLISION_BEHAVIOR,
        CommandName.SET_JOINT_IMPEDANCE: SET_JOINT_IMPEDANCE,
        CommandName.SET_CARTESIAN_IMPEDANCE: SET_CARTESIAN_IMPEDANCE,
        CommandName.SET_GUIDING_MODE: SET_GUIDING_MODE,
        CommandName.SET_EE_TO_K: SET_EE_TO_K,
        CommandName.SET_NE_TO_EE: SET_NE_TO_EE,
        CommandName.SET_LOAD: SET_LOAD,
    }
)
"""Setters that both versions have, in the order of their wire ids."""


def setter_specs(first_id: int, statuses: tuple[Status, ...]) -> dict[CommandName, CommandSpec]:
    """The seven common setters with consecutive wire ids from ``first_id``."""
    return {
        name: CommandSpec(name, wire_id, request, STATUS_RESPONSE, statuses)
        for wire_id, (name, request) in enumerate(SETTER_REQUESTS.items(), first_id)
    }
