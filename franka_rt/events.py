"""What a :class:`~franka_rt.connection.Connection` reports about the bytes it was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from franka_rt.dialect import CommandName, Status
from franka_rt.errors import ProtocolException

__all__ = ["Answer", "Closed", "CommandDatagram", "Event", "InvalidAnswer", "Request", "StrayAnswer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Client side: the server answered a request.

    Attributes:
        command_id: id of the request.
        command: what was requested.
        status: the outcome.
        body: fields of the answer (numpy record), for example ``answer.body["version"]``.
        data: what follows the fixed part (model library, URDF), else empty.
        final: False for MotionStarted, which a second answer follows.
    """

    command_id: int
    command: CommandName
    status: Status
    body: Any
    data: bytes
    final: bool


@dataclass(frozen=True, slots=True)
class InvalidAnswer:
    """Client side: the answer to a request is too short or has a status that the version lacks."""

    command_id: int
    command: CommandName
    error: ProtocolException


@dataclass(frozen=True, slots=True)
class StrayAnswer:
    """Client side: an answer to no open request, for example a late second answer to a cancelled Move. Harmless."""

    command_id: int


@dataclass(frozen=True, slots=True)
class Request:
    """Server side: the client asks for something; ``arguments`` is a numpy record of the request's fields."""

    command_id: int
    command: CommandName
    arguments: Any


@dataclass(frozen=True, slots=True)
class CommandDatagram:
    """Server side: a command of a motion.

    Attributes:
        message_id: the state it answers.
        record: numpy record with the parts ``motion`` and ``control``.
        motion_finished, torque_finished: the flags that ask for the regular end (version 5 has one for both).
    """

    message_id: int
    record: Any
    motion_finished: bool
    torque_finished: bool

    @property
    def finished(self) -> bool:
        """Either flag is set."""
        return self.motion_finished or self.torque_finished


@dataclass(frozen=True, slots=True)
class Closed:
    """The peer closed the stream; ``partial`` tells that it did so inside a message."""

    partial: bool


Event = Answer | InvalidAnswer | StrayAnswer | Request | Closed
