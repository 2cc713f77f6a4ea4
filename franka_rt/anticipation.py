"""What a loop does between its command and the next state: sleep, rehearse, look.

A thread that sleeps for a millisecond wakes up to cold caches and a sleeping core; the same code then takes several
times as long as when it runs in a row. So the loop wakes up shortly before the next state is due, does its own work
once with the old state and without effect, and then looks for the datagram again and again instead of sleeping on it.
The command of that rehearsal goes to a socket that hears itself, so that the system's code for sending is at hand too.
It begins as much earlier as that took in the cycles before, half a millisecond at most. A datagram that comes earlier
or later than expected is received all the same. The price is processor time, about a cycle and twice the lead.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable, Iterator

from franka_rt.transport import Transport

__all__ = ["Anticipation", "anticipation"]

_PERIOD = 1_000_000  # ns between two states
_PAUSE = 50  # cycles
_LONGEST_REHEARSAL = 500_000  # ns
_LARGEST_DESCRIPTOR = 1023  # that select() takes; poll() knows only whole milliseconds


class Anticipation:
    """Waits for datagrams.

    Args:
        transport: where they come from.
        descriptor: of its datagram socket.
        lead: how long before a datagram is due the rehearsal shall be over, ns.
        rehearse: called then, gives the command that would be sent; must have no effect.
        mirror: where that command is sent instead; None: nowhere.

    Every look lets other threads of the interpreter go on. When one of them keeps it for long, looking does harm, and
    for some cycles it is not done; nor after a rehearsal that took longer than half a millisecond.
    """

    def __init__(
        self,
        transport: Transport,
        descriptor: int,
        lead: int,
        rehearse: Callable[[], bytes],
        mirror: socket.socket | None = None,
    ) -> None:
        self._poll, self._descriptors = transport.poll_datagram, [descriptor]
        self._lead, self._rehearse, self._mirror, self._pause = lead, rehearse, mirror, 0
        self._took = 0  # ns, by a rehearsal

    def __call__(self, arrived: int) -> bytes | None:
        """The datagram after the one that arrived then (``perf_counter_ns``); None if it is late: sleep on it."""
        clock, poll, due = time.perf_counter_ns, self._poll, arrived + _PERIOD
        rest = due - self._lead - self._took - clock()
        if self._pause > 0:
            self._pause -= 1
            return None
        if rest <= 0:
            return None
        try:
            early = select.select(self._descriptors, (), (), rest * 1e-9)[0]
        except (OSError, ValueError):  # the socket was closed by another thread
            return None
        if early:
            return poll()
        start = clock()
        command = self._rehearse()
        if self._mirror is not None:
            _send_and_receive(self._mirror, command)
        took = clock() - start
        if took > _LONGEST_REHEARSAL:
            self._pause = _PAUSE
        self._took += (min(took, _LONGEST_REHEARSAL) - self._took) >> 3
        latest = due + self._lead
        while (datagram := poll()) is None and clock() < latest:
            pass
        if clock() > latest + self._lead:
            self._pause = _PAUSE
        return datagram


def _send_and_receive(mirror: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        mirror.send(data, socket.MSG_DONTWAIT)
        mirror.recv(len(data), socket.MSG_DONTWAIT)


def _mirror() -> socket.socket | None:
    """A socket that hears itself and nobody else, None if there is none to be had."""
    try:
        mirror = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    except OSError:
        return None
    try:
        mirror.bind(("127.0.0.1", 0))
        mirror.connect(mirror.getsockname())
    except OSError:
        mirror.close()
        return None
    return mirror


@contextlib.contextmanager
def anticipation(transport: Transport, lead: float, rehearse: Callable[[], bytes]) -> Iterator[Anticipation | None]:
    """For a transport on sockets and a lead in seconds; None where there is nothing to anticipate."""
    descriptors = getattr(transport, "descriptors", None)
    if descriptors is None or lead <= 0.0 or descriptors[0] > _LARGEST_DESCRIPTOR:
        yield None
        return
    mirror = _mirror()
    with mirror or contextlib.nullcontext():
        yield Anticipation(transport, descriptors[0], int(lead * 1e9), rehearse, mirror)
