"""Wire protocols of the gripper (version 3) and the vacuum gripper (version 1), the same for both arm versions."""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType

import numpy as np

from franka_rt.dialect import CommandName, CommandSpec, Dialect, Status
from franka_rt.layouts import CONNECT_REQUEST, CONNECT_STATUSES, EMPTY

__all__ = ["GRIPPER", "VACUUM_GRIPPER", "DeviceStatus", "VacuumProfile"]


class VacuumProfile(IntEnum):
    """Production setup profile of the vacuum gripper."""

    P0 = 0
    P1 = 1
    P2 = 2
    P3 = 3


class DeviceStatus(IntEnum):
    """Status light of the vacuum gripper: green works, yellow warns, orange is an error, red severe."""

    GREEN = 0
    YELLOW = 1
    ORANGE = 2
    RED = 3


_HEADER = np.dtype([("command", "<u2"), ("command_id", "<u4"), ("size", "<u4")])
_STATUS = np.dtype([("status", "<u2")])
_OUTCOMES = (Status.SUCCESS, Status.FAIL, Status.UNSUCCESSFUL, Status.ABORTED)
_CONNECT_RESPONSE = np.dtype([("status", "<u2"), ("version", "<u2")])
_EPSILON = np.dtype([("inner", "<f8"), ("outer", "<f8")])
_GRASP = np.dtype([("width", "<f8"), ("epsilon", _EPSILON), ("speed", "<f8"), ("force", "<f8")])
_MOVE = np.dtype([("width", "<f8"), ("speed", "<f8")])
_VACUUM = np.dtype([("vacuum", "u1"), ("profile", "u1"), ("timeout", "<i8")])
_DROP_OFF = np.dtype([("timeout", "<i8")])


def _commands(*requests: tuple[CommandName, np.dtype]) -> MappingProxyType[CommandName, CommandSpec]:
    connect = CommandSpec(CommandName.CONNECT, 0, CONNECT_REQUEST, _CONNECT_RESPONSE, CONNECT_STATUSES)
    others = (CommandSpec(name, i, request, _STATUS, _OUTCOMES) for i, (name, request) in enumerate(requests, 1))
    return MappingProxyType({spec.name: spec for spec in (connect, *others)})


GRIPPER = Dialect(
    label="gripper protocol version 3",
    version=3,
    port=1338,
    header=_HEADER,
    commands=_commands(
        (CommandName.HOMING, EMPTY), (CommandName.GRASP, _GRASP), (CommandName.MOVE, _MOVE), (CommandName.STOP, EMPTY)
    ),
    state=np.dtype(
        [
            ("message_id", "<u4"),
            ("width", "<f8"),
            ("max_width", "<f8"),
            ("is_grasped", "u1"),
            ("temperature", "<u2"),
        ]
    ),
)

VACUUM_GRIPPER = Dialect(
    label="vacuum gripper protocol version 1",
    version=1,
    port=1339,
    header=_HEADER,
    commands=_commands((CommandName.VACUUM, _VACUUM), (CommandName.DROP_OFF, _DROP_OFF), (CommandName.STOP, EMPTY)),
    state=np.dtype(
        [
            ("message_id", "<u4"),
            ("in_control_range", "u1"),
            ("part_detached", "u1"),
            ("part_present", "u1"),
            ("device_status", "u1"),
            ("actual_power", "<i4"),
            ("vacuum", "<i4"),
        ]
    ),
)
