"""What a protocol version fixes, as data: struct layouts, command ids, status tables, modes, limits, behaviour.

A :class:`Dialect` describes one wire protocol (arm, gripper or vacuum gripper), an :class:`ArmDialect` adds what the
motions of an arm need. The values live in ``v5.py``, ``v10.py`` and ``gripper_dialect.py``; nothing else in the
package asks for a version number. All structs are packed and little-endian; matrices are flattened column-major on
the wire. Source: libfranka's public headers, FCI protocol sections 2, 3, 5, 6, 9 and 18.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from franka_rt.errors import InvalidArgumentException, InvalidOperationException, ProtocolException
from franka_rt.names import CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.versions import FciVersion

__all__ = [
    "ArmDialect",
    "CommandName",
    "CommandSpec",
    "ControllerMode",
    "Dialect",
    "GeneratorMode",
    "RateLimits",
    "RobotMode",
    "Status",
    "arm_dialect",
]


def pack(dtype: np.dtype, fields: Mapping[str, Any]) -> bytes:
    """Bytes of a struct with the given fields, zero where none is given. InvalidArgumentException for a wrong name."""
    record: Any = np.zeros((), dtype)
    for name, value in fields.items():
        if name not in (dtype.names or ()):
            raise InvalidArgumentException(f"franka_rt: no field {name!r} in {dtype.names}.")
        record[name] = value
    return record.tobytes()


def unpack(dtype: np.dtype, data: bytes) -> Any:
    """The first ``dtype.itemsize`` bytes of ``data`` as a record (fields by name)."""
    if dtype.itemsize == 0:
        return np.zeros(1, dtype)[0]
    return np.frombuffer(data, dtype, count=1)[0]


@dataclass(frozen=True, eq=False)
class CommandSpec:
    """One command of one protocol version.

    Attributes:
        name: which command.
        wire_id: number in the message header.
        request, response: layout of the bodies; ``response`` starts with the field ``status``.
        statuses: the answers, in the order of their wire numbers.
        trailing: the response is followed by data up to the end of the message (model library, URDF).
        two_phase: answered twice, first MotionStarted, then the end of the motion.
    """

    name: CommandName
    wire_id: int
    request: np.dtype
    response: np.dtype
    statuses: tuple[Status, ...]
    trailing: bool = False
    two_phase: bool = False

    def status(self, number: int) -> Status:
        """Meaning of a status number; ProtocolException with the command's name if the version has no such number."""
        if not 0 <= number < len(self.statuses):
            raise ProtocolException(
                f"libfranka: Unexpected response while handling {self.name.value} command!",
                f"The answer carried status {number}; this protocol version defines 0 to {len(self.statuses) - 1}.",
            )
        return self.statuses[number]

    def status_number(self, status: Status) -> int:
        """Wire number of a status; InvalidArgumentException if this version's command has no such status."""
        if status not in self.statuses:
            raise InvalidArgumentException(f"franka_rt: {self.name.value} has no status {status.value}.")
        return self.statuses.index(status)


@dataclass(frozen=True, eq=False)
class Dialect:
    """One version of one wire protocol.

    Attributes:
        label: how messages call it, e.g. "FCI version 5".
        version: the number offered in the Connect request.
        port: TCP port of the server.
        header: fields command, command_id, size (of the whole message, header included).
        commands: what can be asked.
        state: layout of the state datagram.
    """

    label: str
    version: int
    port: int
    header: np.dtype
    commands: Mapping[CommandName, CommandSpec]
    state: np.dtype

    @cached_property
    def header_struct(self) -> struct.Struct:
        """The header for ``struct.pack(command, command_id, size)``."""
        return struct.Struct("<" + "".join(self.header[name].char for name in ("command", "command_id", "size")))

    @cached_property
    def by_wire_id(self) -> Mapping[int, CommandSpec]:
        """Commands by the number in the message header."""
        return {spec.wire_id: spec for spec in self.commands.values()}

    @cached_property
    def offsets(self) -> Mapping[str, int]:
        """Byte offset of every field of the state datagram."""
        fields = self.state.fields or {}
        return {name: int(entry[1]) for name, entry in fields.items()}

    def spec(self, name: CommandName) -> CommandSpec:
        """The command's layout; InvalidOperationException with the vendor's sentence if this version lacks it."""
        if name not in self.commands:
            raise InvalidOperationException(f"libfranka: {name.value} is not available on {self.label}.")
        return self.commands[name]

    def message(self, wire_id: int, command_id: int, body: bytes) -> bytes:
        """A whole TCP message: header and body."""
        size = self.header_struct.size + len(body)
        return self.header_struct.pack(wire_id, command_id & 0xFFFFFFFF, size) + body

    def new_state(self) -> Any:
        """A zeroed state datagram as a 0-d structured array; ``.tobytes()`` is what goes on the wire."""
        return np.zeros((), self.state)


@dataclass(frozen=True, eq=False)
class RateLimits:
    """Largest rates that the vendor's rate limiter lets through, safety margins included (FCI protocol, 9.6).

    Joint values are (7,) in Nm/s, rad/s^3, rad/s^2, rad/s; triples are (jerk, acceleration, velocity) in m and rad.
    ``joint_velocity`` is None where the limits depend on the position and come from the robot's URDF.
    """

    torque_rate: np.ndarray
    joint_jerk: np.ndarray
    joint_acceleration: np.ndarray
    joint_velocity: np.ndarray | None
    translational: tuple[float, float, float]
    rotational: tuple[float, float, float]
    elbow: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class ArmDialect(Dialect):
    """An arm protocol: what a motion needs on top of :class:`Dialect`.

    Attributes:
        fci_version: which protocol version this is.
        robot: "fer" or "fr3", the arm that speaks it.
        real: numpy type of the numbers in the state datagram.
        command: layout of the command datagram.
        move_generators: numbers of the generators in the Move request.
        torque_generator: generator of a motion that commands torques only.
        still_generators: generator modes in which no generator runs.
        torque_finish_flag: (part, field) of the command datagram that ends a motion of torques only.
        torque_first: the torque callback is called before the motion callback, and a finished one skips the other.
        async_motions: the Move request knows asynchronous joint position motions.
        limit_rate: whether rate limiting is on unless the user says otherwise.
        first_command_is_reference: the first position or pose of a motion is its own filter and limiter reference.
        realtime_per_motion: realtime scheduling is set up at every control call instead of once per session.
        udp_failure_ends_session: a failure of the state stream closes the TCP connection.
        tcp_timeout: seconds for connecting, sending and receiving.
        limits: the rate limiter's constants.
        maximum_torque: (7,) Nm, what the joints may be commanded (vendor's data sheets, effort limits of the URDFs).
        incompatible_text: the vendor's sentence for a refused version, with {server} and {library}.
        nothing_to_finish_text: the vendor's sentence for the end of a motion without a command.
        no_callback_texts: the vendor's sentences for a loop with two callbacks whose (motion, torque) callback is none.
        cutoff_frequency: default low-pass cutoff of commands, Hz.
        udp_timeout: seconds without a state datagram after which the stream counts as broken.
    """

    fci_version: FciVersion
    robot: str
    real: np.dtype
    command: np.dtype
    move_generators: Mapping[GeneratorMode, int]
    torque_generator: GeneratorMode
    still_generators: frozenset[GeneratorMode]
    torque_finish_flag: tuple[str, str]
    torque_first: bool
    async_motions: bool
    limit_rate: bool
    first_command_is_reference: bool
    realtime_per_motion: bool
    udp_failure_ends_session: bool
    tcp_timeout: float
    limits: RateLimits
    maximum_torque: np.ndarray
    incompatible_text: str
    nothing_to_finish_text: str
    no_callback_texts: tuple[str, str]
    cutoff_frequency: float = 100.0
    udp_timeout: float = 1.0

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or an unpickled one is the same object."""
        return arm_dialect, (int(self.fci_version),)


def arm_dialect(version: FciVersion | int) -> ArmDialect:
    """The arm dialect of a version; ValueError for a version that this client does not speak."""
    from franka_rt import v5, v10  # here, because both modules are built from the classes above

    return {FciVersion.V5: v5.V5, FciVersion.V10: v10.V10}[FciVersion(version)]
