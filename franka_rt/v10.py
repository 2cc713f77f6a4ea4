"""FCI version 10 (FR3, robot system 5.9.0 or later; reference client libfranka 0.21.2)."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from franka_rt import layouts
from franka_rt.dialect import ArmDialect, CommandName, CommandSpec, GeneratorMode, RateLimits, Status
from franka_rt.versions import FciVersion

__all__ = ["V10"]

_SETTER = (
    Status.SUCCESS,
    Status.COMMAND_NOT_POSSIBLE_REJECTED,
    Status.INVALID_ARGUMENT_REJECTED,
    Status.REJECTED_DUE_TO_SAFETY,
)
_PLAIN = (Status.SUCCESS, Status.COMMAND_NOT_POSSIBLE_REJECTED, Status.REJECTED_DUE_TO_SAFETY)
_MOVE = (
    Status.SUCCESS,
    Status.MOTION_STARTED,
    Status.PREEMPTED,
    Status.PREEMPTED_DUE_TO_SAFETY,
    Status.REJECTED_DUE_TO_SAFETY,
    Status.COMMAND_NOT_POSSIBLE_REJECTED,
    Status.START_AT_SINGULAR_POSE_REJECTED,
    Status.INVALID_ARGUMENT_REJECTED,
    Status.REFLEX_ABORTED,
    Status.EMERGENCY_ABORTED,
    Status.INPUT_ERROR_ABORTED,
    Status.ABORTED,
)
_STOP_MOVE = (
    Status.SUCCESS,
    Status.COMMAND_NOT_POSSIBLE_REJECTED,
    Status.REJECTED_DUE_TO_SAFETY,
    Status.EMERGENCY_ABORTED,
    Status.REFLEX_ABORTED,
    Status.ABORTED,
)
_RECOVERY = (
    Status.SUCCESS,
    Status.COMMAND_NOT_POSSIBLE_REJECTED,
    Status.REJECTED_DUE_TO_SAFETY,
    Status.MANUAL_ERROR_RECOVERY_REQUIRED_REJECTED,
    Status.REFLEX_ABORTED,
    Status.EMERGENCY_ABORTED,
    Status.ABORTED,
)

_MOVE_REQUEST = np.dtype([*layouts.MOVE_FIELDS, ("use_async_motion_generator", "u1"), ("maximum_velocity", "<f8", 7)])


def _commands() -> dict[CommandName, CommandSpec]:
    status, name, empty = layouts.STATUS_RESPONSE, CommandName, layouts.EMPTY
    specs = (
        layouts.connect_spec(),
        CommandSpec(name.MOVE, 1, _MOVE_REQUEST, status, _MOVE, two_phase=True),
        CommandSpec(name.STOP_MOVE, 2, empty, status, _STOP_MOVE),
        *layouts.setter_specs(3, _SETTER).values(),
        CommandSpec(name.AUTOMATIC_ERROR_RECOVERY, 10, empty, status, _RECOVERY),
        CommandSpec(name.GET_ROBOT_MODEL, 11, empty, status, _PLAIN, trailing=True),
    )
    return {spec.name: spec for spec in specs}


_NO_CALLBACK = "libfranka: Got no motion or control callback."

V10 = ArmDialect(
    label="FCI version 10",
    version=10,
    port=1337,
    header=layouts.HEADER,
    commands=MappingProxyType(_commands()),
    state=layouts.state_layout("<f4", (("accelerometer_top", (6, 3)), ("accelerometer_bottom", (6, 3)))),
    fci_version=FciVersion.V10,
    robot="fr3",
    real=np.dtype("<f4"),
    command=layouts.command_layout(np.dtype([("tau_J_d", "<f8", 7), ("torque_command_finished", "u1")])),
    move_generators=MappingProxyType(
        {
            GeneratorMode.JOINT_POSITION: 0,
            GeneratorMode.JOINT_VELOCITY: 1,
            GeneratorMode.CARTESIAN_POSITION: 2,
            GeneratorMode.CARTESIAN_VELOCITY: 3,
            GeneratorMode.NONE: 4,
        }
    ),
    torque_generator=GeneratorMode.NONE,
    still_generators=frozenset({GeneratorMode.IDLE, GeneratorMode.NONE}),
    torque_finish_flag=("control", "torque_command_finished"),
    torque_first=True,
    async_motions=True,
    limit_rate=False,
    first_command_is_reference=True,
    realtime_per_motion=False,
    udp_failure_ends_session=True,
    tcp_timeout=1.0,
    limits=RateLimits(
        torque_rate=np.full(7, 999.999),
        joint_jerk=np.full(7, 4999.999),
        joint_acceleration=np.full(7, 9.999),
        joint_velocity=None,
        translational=(4499.999, 8.999, 2.999),
        rotational=(8499.999, 16.999, 2.499),
        elbow=(4999.999, 9.999, 1.499),
    ),
    maximum_torque=np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0]),
    incompatible_text=(
        "libfranka: Incompatible library version (server version: {server}, library version: {library}). Please check "
        "https://frankarobotics.github.io for system updates or choose a libfranka version that uses the server "
        "version {server} from the table at "
        "https://frankarobotics.github.io/docs/libfranka/docs/compatibility_with_images.html ."
    ),
    nothing_to_finish_text="libfranka robot: No motion generator or control command given!",
    no_callback_texts=(_NO_CALLBACK, _NO_CALLBACK),
)
