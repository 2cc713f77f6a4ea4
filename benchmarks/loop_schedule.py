"""How server and clients of the loop benchmark are scheduled: the same for every client, stated in the output.

Where the system permits it, every loop thread has SCHED_FIFO at the highest priority; with two cores or more the
server has the first of them and the client the others. Only the thread of the loop is raised, nothing else in the
client's process.
"""

from __future__ import annotations

import argparse
import os
import threading
from dataclasses import dataclass

HIGHEST = os.sched_get_priority_max(os.SCHED_FIFO)
_POLICIES = {os.SCHED_FIFO: "SCHED_FIFO", os.SCHED_RR: "SCHED_RR", os.SCHED_OTHER: "ordinary"}


def permitted() -> bool:
    """Whether this process may use SCHED_FIFO."""
    refused = []

    def probe() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(HIGHEST))
        except OSError as error:
            refused.append(error)

    thread = threading.Thread(target=probe)
    thread.start()
    thread.join()
    return not refused


def policy_of(thread: int = 0) -> str:
    """Scheduling of a thread of this process (0: the calling one) in words."""
    policy = os.sched_getscheduler(thread)
    name = _POLICIES.get(policy, f"policy {policy}")
    return f"{name} {os.sched_getparam(thread).sched_priority}" if policy != os.SCHED_OTHER else name


@dataclass(frozen=True)
class Schedule:
    """SCHED_FIFO priority (0: ordinary) and cores (none: all)."""

    priority: int
    cores: tuple[int, ...] = ()

    def bind(self) -> None:
        """Bind this process and what it starts to the cores."""
        if self.cores:
            os.sched_setaffinity(0, self.cores)

    def apply(self, thread: int = 0) -> None:
        """Schedule a thread of this process (0: the calling one); also lowers what a library has raised."""
        policy = os.SCHED_FIFO if self.priority else os.SCHED_OTHER
        os.sched_setscheduler(thread, policy, os.sched_param(self.priority))

    def arguments(self) -> list[str]:
        """For the command line of a process."""
        return ["--priority", str(self.priority), "--cores", *map(str, self.cores)]

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options that :meth:`arguments` fills."""
        parser.add_argument("--priority", type=int, default=0, help="of SCHED_FIFO; 0: ordinary")
        parser.add_argument("--cores", type=int, nargs="*", default=[], help="to run on")

    @classmethod
    def of(cls, options: argparse.Namespace) -> Schedule:
        """From parsed options."""
        return cls(options.priority, tuple(options.cores))

    def __str__(self) -> str:
        policy = f"SCHED_FIFO {self.priority}" if self.priority else "ordinary scheduling"
        return policy + (f" on core {', '.join(map(str, self.cores))}" if self.cores else "")


def schedules(ordinary: bool) -> tuple[Schedule, Schedule]:
    """(server, client) for this machine."""
    priority = 0 if ordinary or not permitted() else HIGHEST
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        return Schedule(priority), Schedule(priority)
    return Schedule(priority, (first,)), Schedule(priority, tuple(others))
