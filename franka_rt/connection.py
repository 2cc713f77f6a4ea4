"""The protocol without sockets: bytes in, events out; requests in, bytes out (sans-I/O).

A connection belongs to one session and one dialect. Bytes of the TCP stream go in as they come, split or coalesced
in any way, and come out as events::

    connection.receive_data(data)          # b"" means that the peer closed
    for event in connection.events():      # ProtocolException at the first message that cannot be understood
        ...

After such an exception the stream has no message boundaries any more: every later ``events()`` raises it again.
Answers are matched to requests by id alone, in any order. Nothing here knows sockets, clocks or threads; sending and
receiving may happen in different threads if each side is used by one thread at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from franka_rt.dialect import ArmDialect, CommandName, CommandSpec, Dialect, Status, pack, unpack
from franka_rt.errors import InvalidOperationException, ProtocolException
from franka_rt.events import Answer, Closed, CommandDatagram, Event, InvalidAnswer, Request, StrayAnswer
from franka_rt.state import RobotState

__all__ = ["ArmClientConnection", "ClientConnection", "Connection", "ServerConnection"]

_SIZE_TEXT = "libfranka: Incorrect TCP message size."


class Connection:
    """Framing, common to both roles.

    Attributes:
        dialect: the protocol version.
        max_message: largest message accepted, bytes; a header that announces more is a protocol error.
    """

    max_message = 64 * 2**20

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._buffer = bytearray()
        self._eof = False
        self._closed = False
        self._failure: ProtocolException | None = None

    def receive_data(self, data: bytes) -> None:
        """Take bytes of the TCP stream; ``b""`` stands for its end."""
        if data:
            self._buffer += data
        else:
            self._eof = True

    def events(self) -> Iterator[Event]:
        """What the bytes so far mean. Raises ProtocolException at the message that has no meaning, and ever after."""
        if self._failure is not None:
            raise self._failure
        try:
            while (message := self._next_message()) is not None:
                yield self._interpret(*message)
        except ProtocolException as error:
            self._failure = error
            raise
        if self._eof and not self._closed:
            self._closed = True
            yield Closed(partial=bool(self._buffer))

    def _next_message(self) -> tuple[int, int, bytes] | None:
        header = self.dialect.header_struct
        if len(self._buffer) < header.size:
            return None
        wire_id, command_id, size = header.unpack_from(self._buffer)
        self._check_size(wire_id, size)
        if len(self._buffer) < size:
            return None
        body = bytes(self._buffer[header.size : size])
        del self._buffer[:size]
        return wire_id, command_id, body

    def _check_size(self, wire_id: int, size: int) -> None:
        if not self.dialect.header_struct.size <= size <= self.max_message:
            raise ProtocolException(_SIZE_TEXT, f"A header announced {size} bytes (command {wire_id}).")

    def _interpret(self, wire_id: int, command_id: int, body: bytes) -> Event:
        raise NotImplementedError


class ClientConnection(Connection):
    """The client's end of the command channel."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self._next_id = 0
        self._open: dict[int, CommandSpec] = {}

    def request(self, command: CommandName, **fields: Any) -> tuple[int, bytes]:
        """A request as (id, message); fields that are not given are zero.

        Raises InvalidOperationException with the vendor's sentence if this version has no such command, and
        InvalidArgumentException for a field that the request lacks; nothing is used up then.
        """
        spec = self.dialect.spec(command)
        body = pack(spec.request, fields)
        command_id = self._next_id
        self._next_id = (command_id + 1) & 0xFFFFFFFF
        self._open[command_id] = spec
        return command_id, self.dialect.message(spec.wire_id, command_id, body)

    def connect(self, udp_port: int) -> tuple[int, bytes]:
        """The first request of a session: our version and the port where states are expected."""
        return self.request(CommandName.CONNECT, version=self.dialect.version, udp_port=udp_port)

    def forget(self, command_id: int) -> None:
        """Stop waiting for a request; a later answer is a StrayAnswer."""
        self._open.pop(command_id, None)

    @property
    def open_requests(self) -> dict[int, CommandName]:
        """Requests without a final answer."""
        return {command_id: spec.name for command_id, spec in self._open.items()}

    def _interpret(self, wire_id: int, command_id: int, body: bytes) -> Event:
        spec = self._open.get(command_id)
        if spec is None:
            return StrayAnswer(command_id)
        try:
            answer = self._answer(spec, command_id, body)
        except ProtocolException as error:
            self.forget(command_id)
            return InvalidAnswer(command_id, spec.name, error)
        if answer.final:
            self.forget(command_id)
        return answer

    @staticmethod
    def _answer(spec: CommandSpec, command_id: int, body: bytes) -> Answer:
        if len(body) < spec.response.itemsize:
            hint = f"The answer to {spec.name.value} has {len(body)} bytes instead of {spec.response.itemsize}."
            raise ProtocolException(_SIZE_TEXT, hint)
        record = unpack(spec.response, body)
        status = spec.status(int(record["status"]))
        data = body[spec.response.itemsize :] if spec.trailing else b""
        return Answer(command_id, spec.name, status, record, data, status is not Status.MOTION_STARTED)


class ArmClientConnection(ClientConnection):
    """The client's end of an arm session: commands and the state stream.

    Attributes:
        last_id: id of the newest accepted state, -1 before the first.
    """

    dialect: ArmDialect

    def __init__(self, dialect: ArmDialect) -> None:
        super().__init__(dialect)
        self.last_id = -1

    def receive_datagram(self, datagram: bytes) -> RobotState | None:
        """The state, or None if it is not newer than the newest so far (duplicates, reordered datagrams).

        ProtocolException for a datagram of the wrong size, shorter or longer.
        """
        state = RobotState(self.dialect, datagram)
        if state.message_id <= self.last_id:
            return None
        self.last_id = state.message_id
        return state


class ServerConnection(Connection):
    """The server's end: requests come in, answers go out.

    The first request has to be Connect; which version it offers is for the caller to judge
    (``request.arguments["version"]``, ``["udp_port"]``).
    """

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self._open: dict[int, CommandSpec] = {}
        self._connected = False

    def answer(self, request: Request, status: Status, data: bytes = b"", **fields: Any) -> bytes:
        """The message that answers a request; MotionStarted leaves a Move open for its second answer.

        ``data`` follows the fixed part (model library, URDF). Connect: ``answer(request, Status.SUCCESS,
        version=dialect.version)``. InvalidOperationException if the request is not open, InvalidArgumentException
        if this version has no such status or field.
        """
        spec = self._open.get(request.command_id)
        if spec is None or spec.name is not request.command:
            raise InvalidOperationException(f"franka_rt: {request.command.value} {request.command_id} is not open.")
        body = pack(spec.response, {"status": spec.status_number(status), **fields}) + data
        if status is not Status.MOTION_STARTED:
            del self._open[request.command_id]
        return self.dialect.message(spec.wire_id, request.command_id, body)

    def receive_datagram(self, datagram: bytes) -> CommandDatagram:
        """A command of a motion. ProtocolException for a wrong size (a robot ignores such datagrams)."""
        assert isinstance(self.dialect, ArmDialect), "only an arm receives datagrams"
        if len(datagram) != self.dialect.command.itemsize:
            expected = self.dialect.command.itemsize
            raise ProtocolException(f"franka_rt: a command datagram has {expected} bytes, not {len(datagram)}.")
        record = unpack(self.dialect.command, datagram)
        part, name = self.dialect.torque_finish_flag
        return CommandDatagram(
            int(record["message_id"]),
            record,
            bool(record["motion"]["motion_generation_finished"]),
            bool(record[part][name]),
        )

    def _check_size(self, wire_id: int, size: int) -> None:
        super()._check_size(wire_id, size)
        spec = self.dialect.by_wire_id.get(wire_id)
        if spec is None:
            raise ProtocolException(f"franka_rt: {self.dialect.label} has no command {wire_id}.")
        expected = self.dialect.header_struct.size + spec.request.itemsize
        if size != expected:
            raise ProtocolException(_SIZE_TEXT, f"A {spec.name.value} request has {expected} bytes, not {size}.")

    def _interpret(self, wire_id: int, command_id: int, body: bytes) -> Event:
        spec = self.dialect.by_wire_id[wire_id]
        if (spec.name is CommandName.CONNECT) == self._connected:
            raise ProtocolException("franka_rt: Connect has to be the first request of a session and only that.")
        if command_id in self._open:
            raise ProtocolException(f"franka_rt: request id {command_id} is used twice.")
        self._connected = True
        self._open[command_id] = spec
        return Request(command_id, spec.name, unpack(spec.request, body))
