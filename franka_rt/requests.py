"""What to send for each call: arguments checked, named and flattened for the wire, as (command, fields).

Everything is refused here before a byte is sent. Source of orders and defaults: FCI protocol, sections 3, 7.3, 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from franka_rt import checks
from franka_rt.dialect import ArmDialect, CommandName, ControllerMode, GeneratorMode
from franka_rt.errors import InvalidArgumentException
from franka_rt.layouts import DEFAULT_DEVIATION, SET_COLLISION_BEHAVIOR

__all__ = [
    "Command",
    "get_virtual_wall",
    "move",
    "set_cartesian_impedance",
    "set_collision_behavior",
    "set_ee",
    "set_filters",
    "set_guiding_mode",
    "set_joint_impedance",
    "set_k",
    "set_load",
]

Command = tuple[CommandName, dict[str, Any]]


def _at_least_zero(name: str, value: Any, size: int) -> np.ndarray:
    array = checks.vector(name, value, size)
    if array.min() < 0.0:
        raise InvalidArgumentException(f"franka_rt: {name} must not be negative: {array}.")
    return array


def set_collision_behavior(*thresholds: Any) -> Command:
    """Eight arrays in wire order, or four (torque lower, upper, force lower, upper) that are each used twice."""
    names = SET_COLLISION_BEHAVIOR.names or ()
    if len(thresholds) == 4:
        torque, force = thresholds[:2], thresholds[2:]
        thresholds = (*torque, *torque, *force, *force)
    if len(thresholds) != len(names):
        raise InvalidArgumentException(f"franka_rt: collision behavior takes 4 or 8 arrays, got {len(thresholds)}.")
    sizes = (SET_COLLISION_BEHAVIOR[name].shape[0] for name in names)
    values = zip(names, thresholds, sizes, strict=True)
    return CommandName.SET_COLLISION_BEHAVIOR, {name: _at_least_zero(name, v, size) for name, v, size in values}


def set_joint_impedance(K_theta: Any) -> Command:
    """(7,) stiffness, Nm/rad."""
    return CommandName.SET_JOINT_IMPEDANCE, {"K_theta": _at_least_zero("K_theta", K_theta, 7)}


def set_cartesian_impedance(K_x: Any) -> Command:
    """(6,) stiffness, N/m and Nm/rad."""
    return CommandName.SET_CARTESIAN_IMPEDANCE, {"K_x": _at_least_zero("K_x", K_x, 6)}


def set_guiding_mode(guiding_mode: Sequence[bool], elbow: bool) -> Command:
    """Six flags (x, y, z, roll, pitch, yaw) and the elbow, True is free to move."""
    fields = {"guiding_mode": checks.flags("guiding_mode", guiding_mode, 6)}
    return CommandName.SET_GUIDING_MODE, {**fields, "nullspace": checks.flags("elbow", [elbow], 1)[0]}


def get_virtual_wall(id: Any) -> Command:
    """Number of the wall, an int32 on the wire."""
    return CommandName.GET_CARTESIAN_LIMIT, {"id": checks.integer("id", id, -(2**31), 2**31 - 1)}


def set_k(EE_T_K: Any) -> Command:
    """Stiffness frame in the end effector frame."""
    return CommandName.SET_EE_TO_K, {"EE_T_K": checks.transform("EE_T_K", EE_T_K).T.ravel()}


def set_ee(NE_T_EE: Any) -> Command:
    """End effector in the nominal end effector frame."""
    return CommandName.SET_NE_TO_EE, {"NE_T_EE": checks.transform("NE_T_EE", NE_T_EE).T.ravel()}


def set_load(load_mass: Any, F_x_Cload: Any, load_inertia: Any) -> Command:
    """Mass (kg), centre of mass in the flange frame (m), inertia about it in flange axes (kg m^2)."""
    fields = {
        "m_load": checks.number("load_mass", load_mass, minimum=0.0),
        "F_x_Cload": checks.vector("F_x_Cload", F_x_Cload, 3),
        "I_load": checks.inertia("load_inertia", load_inertia).T.ravel(),
    }
    return CommandName.SET_LOAD, fields


def set_filters(dialect: ArmDialect, *frequencies: Any) -> Command:
    """Cutoffs (Hz) of joint position, joint velocity, Cartesian position, Cartesian velocity, controller."""
    names = dialect.spec(CommandName.SET_FILTERS).request.names or ()
    fields = {n: checks.number(n, f, minimum=0.0) for n, f in zip(names, frequencies, strict=True)}
    return CommandName.SET_FILTERS, fields


def move(
    dialect: ArmDialect,
    generator: GeneratorMode,
    controller: ControllerMode,
    maximum_velocities: Any | None = None,
    deviation: tuple[float, float, float] = DEFAULT_DEVIATION,
) -> Command:
    """Start of a motion; ``maximum_velocities`` (7,) rad/s makes it asynchronous (version 10, joint positions).

    InvalidArgumentException with libfranka's text for modes that the version does not have.
    """
    if generator not in tuple(dialect.move_generators):
        raise InvalidArgumentException("libfranka: Invalid motion generator mode given.")
    if controller not in (0, 1, 2):
        raise InvalidArgumentException("libfranka: Invalid controller mode given.")
    if generator == GeneratorMode.NONE and controller != ControllerMode.EXTERNAL_CONTROLLER:
        hint = "Without a motion generator only torques can be commanded: ControllerMode.EXTERNAL_CONTROLLER."
        raise InvalidArgumentException("libfranka: Invalid controller mode given.", hint)
    fields: dict[str, Any] = {
        "controller_mode": int(controller),
        "motion_generator_mode": dialect.move_generators[generator],
        "maximum_path_deviation": deviation,
        "maximum_goal_pose_deviation": deviation,
    }
    if maximum_velocities is not None:
        fields["use_async_motion_generator"] = 1
        fields["maximum_velocity"] = _at_least_zero("maximum_velocities", maximum_velocities, 7)
    return CommandName.MOVE, fields
