"""The exception tree of the client.

::

    FrankaException                    every failure of this package; .text is libfranka's sentence, .hint the next step
    ├── NetworkException               sockets: refused, unreachable, timed out, closed by the peer
    ├── ProtocolException              bytes that the negotiated version does not have
    ├── IncompatibleVersionException   .server_version, .library_version
    ├── CommandException               .command, .status, .robot_mode: the robot refused or aborted a command
    ├── ControlException               .log, .reasons, .status: a motion ended badly
    ├── InvalidOperationException      the call does not fit the present state of the session, or the version lacks it
    ├── InvalidArgumentException       (also a ValueError) refused here, nothing was sent
    ├── RealtimeException              the machine cannot give what RealtimeConfig.ENFORCE demands
    ├── ModelException                 a robot model that cannot be loaded
    └── KernelException                a compiled kernel that cannot be loaded, saved or called

``str(exception)`` is the text, followed on its own line by the hint where there is one. The texts are libfranka's
wherever libfranka has one (FCI protocol, section 17).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "CommandException",
    "ControlException",
    "FrankaException",
    "IncompatibleVersionException",
    "InvalidArgumentException",
    "InvalidOperationException",
    "KernelException",
    "ModelException",
    "NetworkException",
    "ProtocolException",
    "RealtimeException",
]


class FrankaException(Exception):
    """Base of all exceptions of this package.

    Attributes:
        text: the sentence that says what happened (libfranka's own where it has one).
        hint: what to do next, or an empty string.
    """

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.text}\n{self.hint}" if self.hint else self.text


class NetworkException(FrankaException):
    """A connection that cannot be opened, timed out or broke."""


class ProtocolException(FrankaException):
    """The peer sent bytes that the negotiated protocol version does not allow."""


class IncompatibleVersionException(FrankaException):
    """The server speaks another protocol version.

    Attributes:
        server_version: the version that the server reported.
        library_version: the version that was offered.
    """

    def __init__(self, text: str, hint: str = "", *, server_version: int = 0, library_version: int = 0) -> None:
        super().__init__(text, hint)
        self.server_version = server_version
        self.library_version = library_version


class CommandException(FrankaException):
    """The robot (or gripper) refused or aborted a command.

    Attributes:
        command: the command, a ``franka_rt.dialect.CommandName`` (None if unknown).
        status: the answer, a ``franka_rt.dialect.Status`` (None if unknown).
        robot_mode: the robot mode of the last accepted state (None for a gripper).
    """

    def __init__(
        self, text: str, hint: str = "", *, command: Any = None, status: Any = None, robot_mode: Any = None
    ) -> None:
        super().__init__(text, hint)
        self.command = command
        self.status = status
        self.robot_mode = robot_mode


class ControlException(FrankaException):
    """A motion could not start or ended in an error.

    Attributes:
        log: the last records of the motion, oldest first (empty when nothing was logged).
        reasons: names of the errors that ended the motion, in the order of the protocol.
        status: the Move answer, a ``franka_rt.dialect.Status`` (None if the motion did not end by an answer).
        statistics: what a callback loop measured of itself, a ``LoopStatistics`` (None outside such a loop).
    """

    statistics: Any = None

    def __init__(
        self, text: str, hint: str = "", *, log: Any = (), reasons: Sequence[str] = (), status: Any = None
    ) -> None:
        super().__init__(text, hint)
        self.log = log
        self.reasons = tuple(reasons)
        self.status = status


class InvalidOperationException(FrankaException):
    """The call does not fit the present state of the session, or this protocol version does not have it."""


class InvalidArgumentException(FrankaException, ValueError):
    """An argument was refused before anything was sent."""


class RealtimeException(FrankaException):
    """The machine cannot give the realtime conditions that were demanded."""


class ModelException(FrankaException):
    """A robot model could not be fetched, loaded or evaluated."""


class KernelException(FrankaException):
    """A kernel cannot be loaded, saved or called; the text says why and what to do."""
