"""Opening a session: sockets, Connect, version negotiation; for the arm also the state stream.

A client offers one version per connection. A refusal names the server's version; if that is the next one on offer,
fresh sockets are opened for it, otherwise the refusal is final. A server that accepts but reports another version is
refused too, because every later byte would be read against the wrong layout (FCI protocol 1.2, 1.3).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from franka_rt import checks
from franka_rt.channel import CommandChannel
from franka_rt.connection import ArmClientConnection, ClientConnection
from franka_rt.dialect import ArmDialect, Dialect, Status, arm_dialect
from franka_rt.errors import FrankaException, IncompatibleVersionException, NetworkException, ProtocolException
from franka_rt.state import RobotState
from franka_rt.transport import Transport, connect
from franka_rt.versions import VersionPolicy, robot_system

__all__ = ["ArmSession", "Connector", "open_arm", "open_channel", "socket_connector"]

_LONGEST_TIMEOUT = 86400.0  # s; the system's calls take no more than some years
HANDSHAKE_TIMEOUT = 5.0  # s, for connecting and for the answer to Connect
Connector = Callable[[Dialect], Transport]
"""Opens the sockets for a session with a dialect."""


def socket_connector(host: str, port: int, timeout: float | None = None) -> Connector:
    """Sockets to ``host``; without a timeout the version's own, at most 5 s."""

    def open_sockets(dialect: Dialect) -> Transport:
        return connect(host, port, handshake_timeout(dialect, timeout), udp_timeout=1.0, size=dialect.state.itemsize)

    return open_sockets


def handshake_timeout(dialect: Dialect, timeout: float | None) -> float:
    """Seconds for connecting and for the answer to Connect."""
    if timeout is not None:
        return min(checks.number("timeout", timeout, minimum=1e-3), _LONGEST_TIMEOUT)
    return min(dialect.tcp_timeout, HANDSHAKE_TIMEOUT) if isinstance(dialect, ArmDialect) else HANDSHAKE_TIMEOUT


def open_channel(connection: ClientConnection, connector: Connector, timeout: float | None = None) -> CommandChannel:
    """Connect and shake hands.

    IncompatibleVersionException, NetworkException or ProtocolException; no socket is left open then.
    """
    channel = CommandChannel(connector(connection.dialect), connection)
    try:
        _shake_hands(channel, connection.dialect, handshake_timeout(connection.dialect, timeout))
    except BaseException:
        channel.close()
        raise
    return channel


def _shake_hands(channel: CommandChannel, dialect: Dialect, timeout: float) -> None:
    command_id, message = channel.connection.connect(channel.transport.udp_port)
    try:
        channel.transport.send(message)
        answer = channel.wait(command_id, timeout)
    except ProtocolException as error:
        raise ProtocolException("libfranka: Protocol error during connection attempt", str(error)) from None
    except NetworkException as error:
        hint = f"{error.hint} The server took the connection without an answer: another client may hold the session."
        raise NetworkException(error.text, hint.strip()) from None
    server = int(answer.body["version"])
    if answer.status is not Status.SUCCESS or server != dialect.version:
        raise incompatible(dialect, server)


def incompatible(dialect: Dialect, server: int) -> IncompatibleVersionException:
    """The exception for a server that speaks another version, with the row of the compatibility table."""
    if isinstance(dialect, ArmDialect):
        text = dialect.incompatible_text.format(server=server, library=dialect.version)
        hint = robot_system(server).capitalize() + "; this client speaks 5 and 10."
    else:
        text = (
            f"libfranka: Incompatible library version (server version: {server}, library version: {dialect.version})."
        )
        hint = f"This client speaks {dialect.label}."
    return IncompatibleVersionException(text, hint, server_version=server, library_version=dialect.version)


def open_arm(connector: Connector, policy: VersionPolicy, timeout: float | None = None) -> ArmSession:
    """Open a session with the first offered version that the robot accepts, and wait for its first state."""
    offers = list(policy.offers)
    while True:
        dialect = arm_dialect(offers.pop(0))
        try:
            return ArmSession(dialect, connector, timeout)
        except IncompatibleVersionException as error:
            if error.server_version not in offers:
                raise
            offers = [offer for offer in offers if offer == error.server_version]


class ArmSession:
    """A connected arm: command channel and state stream.

    Attributes:
        state: the newest accepted state; replaced, never changed, so any thread may read it.
        live: gives the newest state (None before the first) while another process receives them.
        arrived: when the newest datagram was received, ``perf_counter_ns``.
        expect: waits for the datagram after the one that arrived then, instead of sleeping; None if it is late.
    """

    def __init__(self, dialect: ArmDialect, connector: Connector, timeout: float | None = None) -> None:
        self.dialect = dialect
        self.live: Callable[[], RobotState | None] | None = None
        self.arrived = 0
        self.expect: Callable[[int], bytes | None] | None = None
        self.connection = ArmClientConnection(dialect)
        self.channel = open_channel(self.connection, connector, timeout)
        try:
            self.state = self.receive_state()
        except BaseException:
            self.channel.close()
            raise

    @property
    def transport(self) -> Transport:
        """The sockets."""
        return self.channel.transport

    def receive_state(self) -> RobotState:
        """The newest queued state that is newer than the last accepted one, else the next that comes.

        NetworkException when none comes in time; ProtocolException for a datagram of the wrong size.
        """
        try:  # not a context manager, which costs a cycle a microsecond
            self.state = newest = self.poll_state() or self._wait_for_state()
        except NetworkException:
            self._stream_failed()
            raise
        return newest

    @contextlib.contextmanager
    def stream_failures(self) -> Iterator[None]:
        """What follows from a NetworkException of the state stream inside, before it goes on."""
        try:
            yield
        except NetworkException:
            self._stream_failed()
            raise

    def _stream_failed(self) -> None:
        self.channel.poll()  # the stream also ends when the server closes, which says more
        if self.dialect.udp_failure_ends_session:
            self.channel.interrupt()

    def adopt(self, state: RobotState) -> None:
        """Take a state as the newest that somebody else has received on this session's socket."""
        self.state, self.connection.last_id = state, state.message_id

    def latest(self) -> RobotState:
        """The newest state, whoever receives them."""
        live = self.live
        return self.state if live is None else live() or self.state

    def _wait_for_state(self) -> RobotState:
        """Block until a state comes that is newer; a stream of old ones is given up like silence."""
        state = self.connection.receive_datagram(self._next_datagram())
        if state is not None:
            return state
        deadline = time.monotonic() + self.dialect.udp_timeout
        while (state := self.connection.receive_datagram(self._next_datagram())) is None:
            if time.monotonic() > deadline:
                raise self.clock_stands()
        return state

    def _next_datagram(self) -> bytes:
        datagram = None if self.expect is None else self.expect(self.arrived)
        if datagram is None:
            datagram = self.transport.receive_datagram()
        self.arrived = time.perf_counter_ns()
        return datagram

    def clock_stands(self) -> NetworkException:
        """The exception for a stream of old states."""
        hint = f"Datagrams arrive, but none is newer than {self.connection.last_id} ms: the robot's clock stands."
        return NetworkException("libfranka: UDP receive: Timeout", hint)

    def poll_state(self) -> RobotState | None:
        """The newest of the states that are queued now, None if none is newer than the last accepted one."""
        newest = None
        while (datagram := self.transport.poll_datagram()) is not None:
            self.arrived = time.perf_counter_ns()
            newest = self.connection.receive_datagram(datagram) or newest
        if newest is not None:
            self.state = newest
        return newest

    def fresh_state(self) -> RobotState:
        """A state that was sent after this call began: what is queued is thrown away first, whatever it is."""
        self.channel.poll()
        while (datagram := self.transport.poll_datagram()) is not None:
            with contextlib.suppress(ProtocolException):
                self.state = self.connection.receive_datagram(datagram) or self.state
        return self.receive_state()

    def refresh(self) -> None:
        """Look at a fresh state if there is one, so that a refusal is explained by the present robot mode."""
        with contextlib.suppress(FrankaException):
            self.fresh_state()

    def close(self) -> None:
        """End the session; may be called again."""
        self.channel.close()
