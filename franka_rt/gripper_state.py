"""States of the gripper and the vacuum gripper: small, so decoded at once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

from franka_rt.dialect import Dialect, pack, unpack
from franka_rt.errors import ProtocolException
from franka_rt.gripper_dialect import GRIPPER, VACUUM_GRIPPER, DeviceStatus

__all__ = ["GripperState", "VacuumGripperState"]


def _record(dialect: Dialect, datagram: bytes) -> Any:
    if len(datagram) != dialect.state.itemsize:
        raise ProtocolException(
            "libfranka: incorrect object size",
            f"A state of {dialect.label} has {dialect.state.itemsize} bytes, this datagram {len(datagram)}.",
        )
    return unpack(dialect.state, datagram)


class _State:
    """What both have: a millisecond counter, the way to a dictionary."""

    message_id: int

    @property
    def time(self) -> float:
        """Seconds since the gripper was started (``message_id`` in seconds)."""
        return self.message_id / 1000.0

    def copy(self) -> Self:
        """The state itself: it is immutable and owns its values."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """The public fields; ``time`` in seconds replaces the counter."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        del values["message_id"]
        return {**values, "time": self.time}


@dataclass(frozen=True)
class GripperState(_State):
    """State of the gripper.

    Attributes:
        message_id: millisecond counter of the gripper.
        width: opening between the fingers, m.
        max_width: largest opening as found by homing, m; 0 before the first homing.
        is_grasped: an object is held.
        temperature: degrees Celsius.
    """

    message_id: int
    width: float
    max_width: float
    is_grasped: bool
    temperature: int

    @classmethod
    def from_datagram(cls, datagram: bytes) -> GripperState:
        """Decode a datagram; ProtocolException for a wrong size."""
        r = _record(GRIPPER, datagram)
        return cls(
            int(r["message_id"]),
            float(r["width"]),
            float(r["max_width"]),
            bool(r["is_grasped"]),
            int(r["temperature"]),
        )

    def datagram(self) -> bytes:
        """The bytes a server sends for this state."""
        return pack(GRIPPER.state, vars(self))


@dataclass(frozen=True)
class VacuumGripperState(_State):
    """State of the vacuum gripper.

    Attributes:
        message_id: millisecond counter of the gripper.
        in_control_range: the vacuum is within its set range.
        part_detached: a part was dropped.
        part_present: a part is held.
        device_status: the status light; an undefined number is kept as it is.
        actual_power: power of the pump, percent.
        vacuum: vacuum, mbar.
    """

    message_id: int
    in_control_range: bool
    part_detached: bool
    part_present: bool
    device_status: DeviceStatus | int
    actual_power: int
    vacuum: int

    @classmethod
    def from_datagram(cls, datagram: bytes) -> VacuumGripperState:
        """Decode a datagram; ProtocolException for a wrong size."""
        r = _record(VACUUM_GRIPPER, datagram)
        number = int(r["device_status"])
        return cls(
            int(r["message_id"]),
            bool(r["in_control_range"]),
            bool(r["part_detached"]),
            bool(r["part_present"]),
            next((s for s in DeviceStatus if s == number), number),
            int(r["actual_power"]) & 0xFFFF,
            int(r["vacuum"]) & 0xFFFF,
        )

    def datagram(self) -> bytes:
        """The bytes a server sends for this state."""
        return pack(VACUUM_GRIPPER.state, vars(self))
