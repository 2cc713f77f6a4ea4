"""How the thread of a control loop is scheduled: SCHED_FIFO, a core of its own, memory that is never swapped out.

libfranka raises its thread to the highest SCHED_FIFO priority (version 5 for every motion, version 10 once in the
constructor) and leaves it so. Here every callback loop raises the thread that runs it, on both versions, and gives back
what it changed when it ends, also after exceptions.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass

from franka_rt.errors import InvalidArgumentException, RealtimeException

__all__ = ["LoopScheduling", "refusal"]

_VARIABLE = "FRANKA_RT_PRIORITY"
_MCL_CURRENT = 1
_RECIPE = "python -m franka_rt doctor says what this machine lacks; RealtimeConfig.IGNORE does without."


def _default_priority() -> int | None:
    text = os.environ.get(_VARIABLE, "")
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidArgumentException(f"franka_rt: {_VARIABLE} is {text!r}, not a whole number.") from None


def refusal(what: str, number: int) -> RealtimeException:
    """The exception for a setting that the system refused with this errno."""
    return RealtimeException(f"libfranka: unable to set realtime {what}: {os.strerror(number)}", _RECIPE)


@dataclass
class LoopScheduling:
    """Settings of callback loops, ``robot.scheduling``.

    Attributes:
        priority: SCHED_FIFO priority 1..99; 0 leaves the scheduler alone; None takes ``FRANKA_RT_PRIORITY`` from the
            environment, and the highest without it, as libfranka does.
        cpu: core that the loop is bound to; None leaves the choice to the system.
        lock_memory: keep the memory that the process has at the start of a loop from being swapped out.
        anticipation: seconds before a state is due at which the thread stops sleeping, rehearses the cycle without
            effect and looks for the state again and again, which makes its answer two to three times as fast and costs
            up to twice this time of processor in each millisecond; 0 sleeps until the state is there.
    """

    priority: int | None = None
    cpu: int | None = None
    lock_memory: bool = False
    anticipation: float = 150e-6

    @contextlib.contextmanager
    def applied(self, enforce: bool) -> Iterator[None]:
        """For this thread, inside. What the system refuses raises RealtimeException if enforced, else it is ignored."""
        with contextlib.ExitStack() as stack:
            for what, change in (("memory locking", self._lock), ("affinity", self._bind), ("scheduling", self._raise)):
                try:
                    change(stack)
                except OSError as error:
                    if enforce:
                        raise refusal(what, error.errno or 0) from None
            yield

    def resolved_priority(self) -> int:
        """The SCHED_FIFO priority that a loop gets now, 0 for none."""
        priority = _default_priority() if self.priority is None else self.priority
        return os.sched_get_priority_max(os.SCHED_FIFO) if priority is None else priority

    def _raise(self, stack: contextlib.ExitStack) -> None:
        priority = self.resolved_priority()
        if priority == 0:
            return
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        stack.callback(os.sched_setscheduler, 0, *before)

    def _bind(self, stack: contextlib.ExitStack) -> None:
        if self.cpu is None:
            return
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self.cpu})
        stack.callback(os.sched_setaffinity, 0, before)

    def _lock(self, stack: contextlib.ExitStack) -> None:
        if not self.lock_memory:
            return
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mlockall(_MCL_CURRENT) != 0:
            raise OSError(ctypes.get_errno(), "mlockall")
        stack.callback(libc.munlockall)
