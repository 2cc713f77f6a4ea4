"""How the thread of a control loop is scheduled: SCHED_FIFO, a core of its own, memory that is never swapped out.

libfranka raises its thread to the highest SCHED_FIFO priority (version 5 for every motion, version 10 once in the
constructor) and leaves it so. Here every callback loop and active control raises the thread that runs or starts it, on
both versions, and gives back what it changed when the motion ends, also after exceptions and from another thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from franka_rt import checks
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


def _unless_ended(restore: Callable[..., None], *arguments: Any) -> None:
    """A thread that has ended needs nothing back."""
    with contextlib.suppress(ProcessLookupError):
        restore(*arguments)


@dataclass
class LoopScheduling:
    """Settings of callback loops and active control, ``robot.scheduling``.

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
        """For the thread that enters, until the end.

        What the system refuses raises RealtimeException if enforced, else it is ignored; InvalidArgumentException for
        a priority or a core that no system has.
        """
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
        highest = os.sched_get_priority_max(os.SCHED_FIFO)
        return highest if priority is None else checks.integer("the priority of a loop", priority, 0, highest)

    def _raise(self, stack: contextlib.ExitStack) -> None:
        priority = self.resolved_priority()
        if priority == 0:
            return
        thread = threading.get_native_id()
        before = os.sched_getscheduler(thread), os.sched_getparam(thread)
        os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
        stack.callback(_unless_ended, os.sched_setscheduler, thread, *before)

    def _bind(self, stack: contextlib.ExitStack) -> None:
        if self.cpu is None:
            return
        cpu = checks.integer("the core of a loop", self.cpu, 0, (os.cpu_count() or 1) - 1)
        thread = threading.get_native_id()
        before = os.sched_getaffinity(thread)
        os.sched_setaffinity(thread, {cpu})
        stack.callback(_unless_ended, os.sched_setaffinity, thread, before)

    def _lock(self, stack: contextlib.ExitStack) -> None:
        if not self.lock_memory:
            return
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mlockall(_MCL_CURRENT) != 0:
            raise OSError(ctypes.get_errno(), "mlockall")
        stack.callback(libc.munlockall)
