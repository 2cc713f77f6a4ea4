"""One device on one TCP port: the listener, the one session it serves, and the datagrams of that session.

A second client is turned away with a reset while a session lasts (an orderly close would leave the vendor's client
waiting for ever), unless the first one has not sent Connect for a second. A client that offers another protocol version
is told ours, and the port is free again.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from typing import Protocol

from franka_rt.connection import ServerConnection
from franka_rt.dialect import ArmDialect, CommandName, Dialect, Status
from franka_rt.errors import FrankaException, ProtocolException
from franka_rt.events import Closed, CommandDatagram, Request
from franka_rt.sim.faults import Faults, Link
from franka_rt.sim.reply import Reply

__all__ = ["Device", "Endpoint"]

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset
_MAX_DATAGRAM = 4096
_HANDSHAKE = 1.0  # s that a client may take for Connect before another one replaces it


class Device(Protocol):
    """What stands behind a port: ``Arm``, ``Gripper``, ``VacuumGripper``."""

    outbox: list[Reply]

    @property
    def dialect(self) -> Dialect:
        """What it speaks."""
        ...

    def handle(self, request: Request) -> None:
        """Take a request."""

    def receive(self, datagram: CommandDatagram) -> None:
        """Take a command of a motion."""

    def disconnect(self) -> None:
        """The client is gone."""

    def tick(self) -> bytes | None:
        """Advance by 1 ms; the state, where one is due."""


class Endpoint:
    """Sockets of a device; ``listener`` is the bound TCP socket and is closed by :meth:`close`.

    Attributes:
        port: TCP port it listens on.
        faults: what goes wrong from now on; see :meth:`set_faults`.
        sessions: how many clients have been accepted.
    """

    def __init__(self, device: Device, listener: socket.socket, faults: Faults, seed: int) -> None:
        self.device = device
        self._seed = seed
        self._listener = listener
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]
        self._tcp: socket.socket | None = None
        self._udp: socket.socket | None = None
        self._peer: tuple[str, int] | None = None
        self._connection = ServerConnection(device.dialect)
        self.sessions = self._states = 0
        self._host = ""  # of the client
        self._since = 0.0  # when the client was accepted, s
        self.set_faults(faults)

    def set_faults(self, faults: Faults) -> None:
        """Faults from the next datagram on."""
        self.faults = faults
        self._states_link = Link(faults, "states", self._seed)
        self._commands_link = Link(faults, "commands", self._seed)

    @property
    def connected(self) -> bool:
        """A client has been accepted."""
        return self._peer is not None

    def sockets(self) -> list[socket.socket]:
        """What to wait for."""
        return [s for s in (self._udp, self._tcp, self._listener) if s is not None]

    def serve(self, ready: socket.socket) -> None:
        """Something can be read."""
        if ready is self._udp:
            self._read_commands()
        elif ready is self._tcp:
            self._read_requests()
        elif ready is self._listener:
            self._accept()

    def begin_tick(self) -> None:
        """Late commands arrive as a millisecond begins."""
        for datagram in self._commands_link.tick():
            self._receive(datagram)

    def send_state(self, state: bytes | None) -> None:
        """Send a state (and late ones) to the client, and the answers that are ready."""
        if self.connected and self._udp is not None:
            for datagram in self._states_link.tick():
                self._send(datagram)
            if state is not None and not self._silent():
                self._states += 1
                for datagram in self._states_link.carry(self._sized(state)):
                    self._send(datagram)
        self.flush()

    def flush(self) -> None:
        """Send the answers in the outbox."""
        replies, self.device.outbox[:] = list(self.device.outbox), []
        self._answer(replies)

    def close_session(self, reset: bool = False) -> None:
        """Drop the client; ``reset``: abruptly."""
        was_connected, self._peer = self.connected, None
        for sock in (self._tcp, self._udp):
            if sock is not None:
                if reset and sock is self._tcp:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                sock.close()
        self._tcp = self._udp = None
        if was_connected:
            self.device.disconnect()
        self.set_faults(self.faults)

    def close(self) -> None:
        """Stop listening and drop the client."""
        self.close_session()
        self._listener.close()

    # --- TCP ----------------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            client, (host, _) = self._listener.accept()
        except OSError:
            return
        if self._tcp is not None and not self.connected and time.monotonic() - self._since > _HANDSHAKE:
            self.close_session(reset=True)
        if self._tcp is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            client.close()
            return
        client.settimeout(1.0)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._tcp, self._host, self._since = client, host, time.monotonic()
        self._connection = ServerConnection(self.device.dialect)

    def _read_requests(self) -> None:
        assert self._tcp is not None
        try:
            self._connection.receive_data(self._tcp.recv(65536))
        except OSError:
            return self.close_session()
        try:
            for event in self._connection.events():
                if isinstance(event, Closed) or self._tcp is None:
                    return self.close_session()
                assert isinstance(event, Request)
                self._request(event)
        except ProtocolException:
            return self.close_session(reset=True)
        self.flush()

    def _request(self, request: Request) -> None:
        refused = self.faults.refuse.get(request.command)
        if request.command is CommandName.CONNECT:
            self._connect(request)
        elif refused is not None:
            self._answer([Reply(request, Status(refused), b"", {})])
        else:
            self.device.handle(request)

    def _connect(self, request: Request) -> None:
        assert self._tcp is not None
        version = self.faults.connect_version or self.device.dialect.version
        right = int(request.arguments["version"]) == version
        status = Status.SUCCESS if right else Status.INCOMPATIBLE_LIBRARY_VERSION
        self._answer([Reply(request, status, b"", {"version": version})])
        if not right or self._tcp is None:
            return self.close_session()
        try:
            self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._udp.bind((self._tcp.getsockname()[0], 0))
        except OSError:  # for example too many open files
            return self.close_session(reset=True)
        self._udp.setblocking(False)
        self._peer = self._host, int(request.arguments["udp_port"])
        self.sessions, self._states = self.sessions + 1, 0

    def _answer(self, replies: list[Reply]) -> None:
        for reply in replies:
            if self._tcp is None:
                return
            message = self._connection.answer(reply.request, reply.status, reply.data, **reply.fields)
            try:
                self._tcp.sendall(message[: self.faults.answer_size])
            except OSError:
                self.close_session()

    # --- UDP ----------------------------------------------------------------------------------------------------------

    def _read_commands(self) -> None:
        while self._udp is not None:
            try:
                datagram = self._udp.recv(_MAX_DATAGRAM)
            except OSError:  # nothing left, or the echo of a state that nobody took
                return
            for carried in self._commands_link.carry(datagram):
                self._receive(carried)

    def _receive(self, datagram: bytes) -> None:
        if not isinstance(self.device.dialect, ArmDialect):
            return
        with contextlib.suppress(FrankaException):  # a robot ignores datagrams of another size
            self.device.receive(self._connection.receive_datagram(datagram))

    def _send(self, datagram: bytes) -> None:
        assert self._udp is not None
        assert self._peer is not None
        with contextlib.suppress(OSError):
            self._udp.sendto(datagram, self._peer)

    def _silent(self) -> bool:
        return self.faults.silent_after is not None and self._states >= self.faults.silent_after

    def _sized(self, state: bytes) -> bytes:
        size = self.faults.state_size
        return state if size is None else state[:size].ljust(size, b"\0")
