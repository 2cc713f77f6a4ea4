"""What a loop does between its command and the next state: sleep, rehearse, look.

A thread that sleeps for a millisecond wakes up to cold caches and a sleeping core; the same code then takes several
times as long as when it runs in a row. So the loop wakes up shortly before the next state is due, does its own work
once with the old state and without effect, and then looks for the datagram again and again instead of sleeping on it. A
datagram that comes earlier or later than expected is received all the same. The price is processor time, at most twice
the lead per cycle.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable

from franka_rt.transport import Transport

__all__ = ["Anticipation", "anticipation"]

_PERIOD = 1_000_000  # ns between two states
_PAUSE = 50  # cycles
_LARGEST_DESCRIPTOR = 1023  # that select() takes; poll() knows only whole milliseconds


class Anticipation:
    """Waits for datagrams.

    Args:
        transport: where they come from.
        descriptor: of its datagram socket.
        lead: how long before a datagram is due the sleep ends, ns.
        rehearse: called then; must have no effect.

    Every look lets other threads of the interpreter go on. When one of them keeps it for long, looking does harm, and
    for some cycles it is not done.
    """

    def __init__(self, transport: Transport, descriptor: int, lead: int, rehearse: Callable[[], None]) -> None:
        self._poll, self._descriptors = transport.poll_datagram, [descriptor]
        self._lead, self._rehearse, self._pause = lead, rehearse, 0

    def __call__(self, arrived: int) -> bytes | None:
        """The datagram after the one that arrived then (``perf_counter_ns``); None if it is late: sleep on it."""
        clock, poll, due = time.perf_counter_ns, self._poll, arrived + _PERIOD
        rest = due - self._lead - clock()
        if self._pause > 0:
            self._pause -= 1
            return None
        if rest <= 0:
            return None
        if select.select(self._descriptors, (), (), rest * 1e-9)[0]:
            return poll()
        self._rehearse()
        latest = due + self._lead
        while (datagram := poll()) is None and clock() < latest:
            pass
        if clock() > latest + self._lead:
            self._pause = _PAUSE
        return datagram


def anticipation(transport: Transport, lead: float, rehearse: Callable[[], None]) -> Anticipation | None:
    """For a transport on sockets and a lead in seconds; None where there is nothing to anticipate."""
    descriptors = getattr(transport, "descriptors", None)
    if descriptors is None or lead <= 0.0 or descriptors[0] > _LARGEST_DESCRIPTOR:
        return None
    return Anticipation(transport, descriptors[0], int(lead * 1e9), rehearse)
