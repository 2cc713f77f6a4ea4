"""FCI version 5 (FER, robot system 4.2.1 or later; reference client libfranka 0.9.2)."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from franka_rt import layouts
from franka_rt.dialect import ArmDialect, CommandName, CommandSpec, GeneratorMode, RateLimits, Status
from franka_rt.versions import FciVersion

__all__ = ["V5"]

_SETTER = (Status.SUCCESS, Status.COMMAND_NOT_POSSIBLE_REJECTED, Status.INVALID_ARGUMENT_REJECTED)
_MOVE = (
    Status.SUCCESS,
    Status.MOTION_STARTED,
    Status.PREEMPTED,
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
    Status.EMERGENCY_ABORTED,
    Status.REFLEX_ABORTED,
    Status.ABORTED,
)
_RECOVERY = (
    Status.SUCCESS,
    Status.COMMAND_NOT_POSSIBLE_REJECTED,
    Status.MANUAL_ERROR_RECOVERY_REQUIRED_REJECTED,
    Status.REFLEX_ABORTED,
    Status.EMERGENCY_ABORTED,
    Status.ABORTED,
)

_GET_CARTESIAN_LIMIT_REQUEST = np.dtype([("id", "<i4")])
_GET_CARTESIAN_LIMIT_RESPONSE = np.dtype(
    [("status", "u1"), ("object_world_size", "<f8", 3), ("object_frame", "<f8", 16), ("object_activation", "u1")]
)
_SET_FILTERS = np.dtype(
    [
        ("joint_position_filter_frequency", "<f8"),
        ("joint_velocity_filter_frequency", "<f8"),
        ("cartesian_position_filter_frequency", "<f8"),
        ("cartesian_velocity_filter_frequency", "<f8"),
        ("controller_filter_frequency", "<f8"),
    ]
)
_LOAD_MODEL_LIBRARY = np.dtype([("architecture", "u1"), ("system", "u1")])


def _commands() -> dict[CommandName, CommandSpec]:
    status, name, empty = layouts.STATUS_RESPONSE, CommandName, layouts.EMPTY
    specs = (
        layouts.connect_spec(),
        CommandSpec(name.MOVE, 1, np.dtype(layouts.MOVE_FIELDS), status, _MOVE, two_phase=True),
        CommandSpec(name.STOP_MOVE, 2, empty, status, _STOP_MOVE),
        CommandSpec(name.GET_CARTESIAN_LIMIT, 3, _GET_CARTESIAN_LIMIT_REQUEST, _GET_CARTESIAN_LIMIT_RESPONSE, _SETTER),
        *layouts.setter_specs(4, _SETTER).values(),
        CommandSpec(name.SET_FILTERS, 11, _SET_FILTERS, status, _SETTER),
        CommandSpec(name.AUTOMATIC_ERROR_RECOVERY, 12, empty, status, _RECOVERY),
        CommandSpec(
            name.LOAD_MODEL_LIBRARY, 13, _LOAD_MODEL_LIBRARY, status, (Status.SUCCESS, Status.ERROR), trailing=True
        ),
    )
    return {spec.name: spec for spec in specs}


V5 = ArmDialect(
    label="FCI version 5",
    version=5,
    port=1337,
    header=layouts.HEADER,
    commands=MappingProxyType(_commands()),
    state=layouts.state_layout("<f8"),
    fci_version=FciVersion.V5,
    robot="fer",
    real=np.dtype("<f8"),
    command=layouts.command_layout(np.dtype([("tau_J_d", "<f8", 7)])),
    move_generators=MappingProxyType(
        {
            GeneratorMode.JOINT_POSITION: 0,
            GeneratorMode.JOINT_VELOCITY: 1,
            GeneratorMode.CARTESIAN_POSITION: 2,
            GeneratorMode.CARTESIAN_VELOCITY: 3,
        }
    ),
    torque_generator=GeneratorMode.JOINT_VELOCITY,
    still_generators=frozenset({GeneratorMode.IDLE}),
    torque_finish_flag=("motion", "motion_generation_finished"),
    torque_first=False,
    async_motions=False,
    limit_rate=True,
    first_command_is_reference=False,
    realtime_per_motion=True,
    udp_failure_ends_session=False,
    tcp_timeout=60.0,
    limits=RateLimits(
        torque_rate=np.full(7, 999.999),
        joint_jerk=np.array([7499.999, 3749.999, 4999.999, 6249.999, 7499.999, 9999.999, 9999.999]),
        joint_acceleration=np.array([14.999, 7.499, 9.999, 12.499, 14.999, 19.999, 19.999]),
        joint_velocity=np.array([2.129003, 2.151503, 2.144003, 2.136503, 2.564003, 2.549003, 2.549003]),
        translational=(6499.999, 12.999, 1.9600030000000002),
        rotational=(12499.999, 24.999, 2.424003),
        elbow=(4999.999, 9.999, 2.144003),
    ),
    maximum_torque=np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0]),
    incompatible_text=(
        "libfranka: Incompatible library version (server version: {server}, library version: {library}). Please check "
        "https://frankaemika.github.io for Panda system updates or choose a libfranka version that uses the server "
        "version {server} from the table at https://frankaemika.github.io/docs/compatibility.html ."
    ),
    nothing_to_finish_text="libfranka robot: No motion generator command given!",
    no_callback_texts=("libfranka: Invalid motion callback given.", "libfranka: Invalid control callback given."),
)
