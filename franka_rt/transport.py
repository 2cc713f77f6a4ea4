"""TCP and UDP sockets of one session behind a small interface; the only module that opens sockets for a client.

Socket options are the reference client's (FCI protocol 1.1 and 14), plus TCP_NODELAY. Every wait is bounded. Failures
become NetworkExceptions that say which of the usual reasons it was. Once the first state has arrived the UDP socket is
connected to its sender, so that the system drops everybody else's datagrams.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import struct
import time
from typing import Protocol

from franka_rt import checks
from franka_rt.errors import InvalidArgumentException, NetworkException

__all__ = ["SocketTransport", "Transport", "connect", "send_failure"]


class Transport(Protocol):
    """What a session needs of its sockets."""

    udp_port: int
    """Local port where states are expected."""

    def send(self, data: bytes) -> None:
        """Send on the command channel."""
        ...

    def receive(self, timeout: float) -> bytes | None:
        """Bytes of the command channel, ``b""`` at its end, None if nothing came within ``timeout`` seconds."""
        ...

    def receive_datagram(self) -> bytes:
        """The next datagram; NetworkException after the UDP timeout."""
        ...

    def poll_datagram(self) -> bytes | None:
        """A datagram that is already queued, else None."""
        ...

    def send_datagram(self, data: bytes) -> None:
        """Send a command datagram to where the states come from."""
        ...

    def shutdown(self) -> None:
        """End the command channel in both directions; the robot then stops a running motion."""
        ...

    def close(self) -> None:
        """Close everything; may be called again."""
        ...


_LOOPBACK = "127."
_TIMEVAL = struct.Struct("ll")
_KEEPALIVE = (("TCP_KEEPIDLE", 1), ("TCP_KEEPCNT", 3), ("TCP_KEEPINTVL", 1))


def _timeval(seconds: float) -> bytes:
    return _TIMEVAL.pack(int(seconds), int(seconds % 1.0 * 1e6))


def _reason(error: OSError) -> str:
    timeout = isinstance(error, TimeoutError | BlockingIOError)
    return "Timeout" if timeout else os.strerror(error.errno) if error.errno else str(error)


def _no_states_hint(port: int, seconds: float) -> str:
    return (
        f"No state datagram reached local UDP port {port} within {seconds:g} s although the command channel is open. "
        "Usual causes: a firewall that drops UDP (allow it from the robot's address), the wrong network interface or "
        "route, a container or virtual machine without host networking."
    )


def _stopped_hint(seconds: float) -> str:
    return (
        f"The robot's states had arrived and then stopped for {seconds:g} s: it was switched off or hangs, or the "
        "network in between failed."
    )


def connect(host: str, port: int, timeout: float, udp_timeout: float, size: int) -> SocketTransport:
    """Open the sockets of a session: TCP connected within ``timeout`` seconds, UDP bound to a free port.

    ``size`` is that of a state datagram.

    NetworkException with one text for each reason: refused, unreachable, silent, name not resolved;
    InvalidArgumentException for a host or port that cannot be one.
    """
    if not isinstance(host, str):
        raise InvalidArgumentException(f"franka_rt: the host is a name or an address, not {host!r}.")
    port = checks.integer("port", port, 1, 65535)
    try:
        addresses = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        hint = (
            f"The name {host!r} does not resolve to an IPv4 address ({error}); check its spelling or use the address."
        )
        raise NetworkException("libfranka: Connection error: Host not found", hint) from None
    try:
        return _open(addresses[0][4], timeout, udp_timeout, size)
    except OSError as error:
        raise _connect_error(error, f"{host}:{port}", timeout) from None


def _open(address: tuple, timeout: float, udp_timeout: float, size: int) -> SocketTransport:
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        _connect_tcp(tcp, address, timeout)
        return SocketTransport(tcp, udp_timeout, size)
    except BaseException:
        tcp.close()
        raise


def _connect_tcp(tcp: socket.socket, address: tuple, timeout: float) -> None:
    tcp.settimeout(timeout)
    tcp.connect(address)
    tcp.settimeout(None)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(timeout))
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for name, value in _KEEPALIVE:
        if hasattr(socket, name):
            tcp.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _connect_error(error: OSError, where: str, timeout: float) -> NetworkException:
    if isinstance(error, ConnectionRefusedError):
        return NetworkException(
            "libfranka: Connection to FCI refused. Please install FCI feature or enable FCI mode in Desk.",
            f"{where} answered, but nothing listens there: FCI is not activated, or this is not the robot's address.",
        )
    if isinstance(error, TimeoutError):
        return NetworkException(
            "libfranka: Connection timeout. Please check your network connection or settings.",
            f"{where} did not answer within {timeout:g} s: wrong address, cable, route, or a firewall that drops TCP.",
        )
    if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES, errno.EADDRNOTAVAIL):
        hint = f"There is no way to {where} from this machine: check the address and this machine's network settings."
        return NetworkException(f"libfranka: Connection error: {_reason(error)}", hint)
    hint = f"While connecting to {where}."
    if error.errno in (errno.EMFILE, errno.ENFILE):
        hint = "This process or this machine may open no more files (ulimit -n)."
    if isinstance(error, ConnectionResetError):
        hint = f"{where} hung up at once: another client may hold the session."
    return NetworkException(f"libfranka: Connection error: {_reason(error)}", hint)


def send_failure(error: OSError | None) -> NetworkException:
    """What sending a datagram raises; without an error of the system it was sent in part."""
    if error is None:
        return NetworkException("libfranka: could not send UDP data")
    return NetworkException(f"libfranka: UDP send: {_reason(error)}")


class SocketTransport:
    """The sockets of one session."""

    def __init__(self, tcp: socket.socket, udp_timeout: float, size: int) -> None:
        self._tcp, self._process = tcp, os.getpid()
        self._peer = tcp.getpeername()[0]
        self._size = size + 1  # one more, so that a longer datagram is noticed instead of cut
        self._udp_timeout = udp_timeout
        self._sender_known = False
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._udp.bind((tcp.getsockname()[0], 0))  # where the robot sends: this end of the TCP connection
            self._udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(udp_timeout))
        except BaseException:
            self._udp.close()
            raise
        self.udp_port = self._udp.getsockname()[1]
        self._poller = select.poll()
        self._poller.register(tcp, select.POLLIN)

    def send(self, data: bytes) -> None:
        """See :class:`Transport`."""
        try:
            self._tcp.sendall(data)
        except OSError as error:
            raise NetworkException(f"libfranka: TCP send bytes: {_reason(error)}") from None

    def receive(self, timeout: float) -> bytes | None:
        """See :class:`Transport`."""
        try:
            if timeout > 0.0 and not self._poller.poll(timeout * 1e3):
                return None
            return self._tcp.recv(65536, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            raise NetworkException(f"libfranka: TCP receive: {_reason(error)}") from None

    def receive_datagram(self) -> bytes:
        """See :class:`Transport`."""
        try:
            return self._udp.recv(self._size) if self._sender_known else self._first_datagram()
        except OSError as error:
            raise self.receive_failure(error) from None

    def receive_failure(self, error: OSError) -> NetworkException:
        """What :meth:`receive_datagram` raises for an error of the system."""
        hint = self._silence_hint() if isinstance(error, BlockingIOError) else ""
        return NetworkException(f"libfranka: UDP receive: {_reason(error)}", hint)

    @property
    def descriptors(self) -> tuple[int, int]:
        """Of the UDP socket, connected to the robot once a state has come, and of the TCP socket."""
        return self._udp.fileno(), self._tcp.fileno()

    def _silence_hint(self) -> str:
        seconds = self._udp_timeout
        return _stopped_hint(seconds) if self._sender_known else _no_states_hint(self.udp_port, seconds)

    def _first_datagram(self) -> bytes:
        """The first datagram of the robot itself; later ones can come from nobody else."""
        deadline = time.monotonic() + self._udp_timeout
        while time.monotonic() < deadline:
            data, sender = self._udp.recvfrom(self._size)
            if self._is_peer(sender[0]):
                self._udp.connect(sender)
                self._sender_known = True
                return data
        raise BlockingIOError

    def _is_peer(self, address: str) -> bool:
        """The robot's address; on this machine any local one, because servers here often send from another."""
        return address == self._peer or (address.startswith(_LOOPBACK) and self._peer.startswith(_LOOPBACK))

    def poll_datagram(self) -> bytes | None:
        """See :class:`Transport`."""
        if not self._sender_known:
            return None
        try:
            return self._udp.recv(self._size, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            raise NetworkException(f"libfranka: UDP receive: {_reason(error)}") from None

    def send_datagram(self, data: bytes) -> None:
        """See :class:`Transport`."""
        try:
            sent = self._udp.send(data)
        except OSError as error:
            raise send_failure(error) from None
        if sent != len(data):
            raise send_failure(None)

    def shutdown(self) -> None:
        """See :class:`Transport`. In a forked process nothing happens: the connection is the parent's too."""
        if os.getpid() == self._process:
            with contextlib.suppress(OSError):  # already down
                self._tcp.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """See :class:`Transport`."""
        self.shutdown()
        self._tcp.close()
        self._udp.close()
