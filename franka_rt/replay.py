"""Recorded sessions again: what their bytes mean, and a robot's side for programs without a robot."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from franka_rt.connection import ArmClientConnection, ServerConnection
from franka_rt.errors import NetworkException, ProtocolException
from franka_rt.recorder import STATES, TCP, Entry, Kind, Recording

__all__ = ["ReplayTransport", "replay"]


def replay(recording: Recording) -> Iterator[tuple[Entry, Any]]:
    """Every record of the last session with what it means: events of either side, states, command datagrams.

    Records without a meaning of their own (part of a message, an old state) come with None. ProtocolException where
    the traffic violates the protocol.
    """
    dialect = recording.dialect()
    client, server = ArmClientConnection(dialect), ServerConnection(dialect)
    for entry in recording.last_session():
        if entry.kind in STATES:
            yield entry, client.receive_datagram(entry.data)
        elif entry.kind is Kind.UDP_EMPTY:
            yield entry, None
        elif entry.kind is Kind.UDP_COMMAND:
            yield entry, server.receive_datagram(entry.data)
        else:
            events = _events(client, server, entry)
            yield from ((entry, event) for event in events or [None])


def _events(client: ArmClientConnection, server: ServerConnection, entry: Entry) -> list[Any]:
    if entry.kind is Kind.TCP_REPLY:
        client.receive_data(entry.data)
        return list(client.events())
    server.receive_data(entry.data)
    requests: list[Any] = list(server.events())
    for request in requests:
        names = request.arguments.dtype.names or ()
        client.request(request.command, **{name: request.arguments[name] for name in names})
    return requests


class ReplayTransport:
    """The robot's side of a recorded session, for ``Robot(..., connector=lambda dialect: ReplayTransport(...))``.

    Replies and states come in their recorded order. A request or command that differs from the recorded one is a
    ProtocolException; the UDP port in Connect is the recorded one.

    InvalidArgumentException for a recording without a Connect.
    """

    def __init__(self, recording: Recording) -> None:
        recording.dialect()  # there is a Connect
        session = list(enumerate(recording.last_session()))
        self._tcp = deque((i, e) for i, e in session if e.kind in TCP)
        self._states = deque((i, e) for i, e in session if e.kind in (*STATES, Kind.UDP_EMPTY))
        self._commands = deque((i, e.data) for i, e in session if e.kind is Kind.UDP_COMMAND)
        self.udp_port = int.from_bytes(self._tcp[0][1].data[14:16], "little")

    def send(self, data: bytes) -> None:
        """Compare with the recorded request."""
        if not self._tcp or self._tcp[0][1].kind is not Kind.TCP_REQUEST or self._tcp[0][1].data != data:
            raise ProtocolException("franka_rt: this request was not recorded here.", f"Sent: {data.hex()}")
        self._tcp.popleft()

    def receive(self, timeout: float) -> bytes | None:
        """The next reply, if it is its turn."""
        if not self._tcp or self._tcp[0][1].kind is not Kind.TCP_REPLY or self._states_come_first():
            return None
        return self._tcp.popleft()[1].data

    def _states_come_first(self) -> bool:
        return bool(self._states) and (not self._tcp or self._states[0][0] < self._tcp[0][0])

    def receive_datagram(self) -> bytes:
        """The next state; NetworkException after the last one."""
        while self._states and self._states[0][1].kind is Kind.UDP_EMPTY:
            self._states.popleft()
        if not self._states:
            raise NetworkException("libfranka: UDP receive: Timeout", "The recording has no more states.")
        return self._states.popleft()[1].data

    def poll_datagram(self) -> bytes | None:
        """The next state, if it was found waiting when it was recorded and it is its turn."""
        if not self._states_come_first() or self._states[0][1].kind is Kind.UDP_STATE:
            return None
        if self._commands and self._commands[0][0] < self._states[0][0]:
            return None  # it came after a command that is still to be sent
        return self._states.popleft()[1].data or None  # empty: none was waiting

    def send_datagram(self, data: bytes) -> None:
        """Compare with the recorded command."""
        if not self._commands or self._commands.popleft()[1] != data:
            raise ProtocolException("franka_rt: this command was not recorded here.", f"Sent: {data.hex()}")

    def shutdown(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""
