"""What a machine offers for 1 kHz loops, item by item: kernel, rights, clock speed, and how late a thread wakes up."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from franka_rt import realtime

__all__ = ["Finding", "findings", "wake_up_delays"]

_CPUS = Path("/sys/devices/system/cpu")
_PERIOD = 1e-3
_LATE = 300e-6  # s; with more there is no time left for a command


@dataclass(frozen=True)
class Finding:
    """One item.

    Attributes:
        name: what was looked at.
        good: whether it serves a 1 kHz loop; None where the system does not say.
        found: what was found.
        advice: what to do, empty if all is well.
    """

    name: str
    good: bool | None
    found: str
    advice: str = ""

    def __str__(self) -> str:
        mark = {True: "ok  ", False: "BAD ", None: "?   "}[self.good]
        return f"{mark}{self.name}: {self.found}" + (f"\n      {self.advice}" if self.advice else "")


def _kernel() -> Finding:
    good = realtime.kernel_is_realtime()
    advice = "" if good else "Install a PREEMPT_RT kernel (Ubuntu: sudo pro enable realtime-kernel)."
    return Finding("kernel", good, f"{os.uname().release}, {'' if good else 'not '}realtime", advice)


def _priority() -> Finding:
    refusal = realtime.fifo_refusal()
    advice = "" if not refusal else "Put '@realtime - rtprio 99' into /etc/security/limits.conf and join that group."
    return Finding("SCHED_FIFO", not refusal, refusal or "permitted", advice)


def _memory() -> Finding:
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    good = limit == resource.RLIM_INFINITY or os.geteuid() == 0
    found = "no limit" if good else f"{limit // 1024} KiB"
    advice = "" if good else "For LoopScheduling(lock_memory=True): '@realtime - memlock unlimited' in limits.conf."
    return Finding("memory lock", good, found, advice)


def _governor() -> Finding:
    found = {p.read_text().strip() for p in _CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    if not found:
        return Finding("clock governor", None, "the system does not tell (virtual machine?)")
    good = found == {"performance"}
    advice = "" if good else "sudo cpupower frequency-set -g performance"
    return Finding("clock governor", good, ", ".join(sorted(found)), advice)


def _cores() -> Finding:
    count, isolated = len(os.sched_getaffinity(0)), _CPUS / "isolated"
    names = isolated.read_text().strip() if isolated.exists() else ""
    text = f"{count} usable" + (f", isolated: {names}" if names else ", none isolated")
    advice = "" if count > 1 else "One core for the loop and everything else: other programs will cost cycles."
    return Finding("cores", count > 1, text, advice)


def _load() -> Finding:
    load, count = os.getloadavg()[0], os.cpu_count() or 1
    good = load < count
    return Finding("load", good, f"{load:.1f} on {count} cores", "" if good else "Other programs want all cores now.")


def wake_up_delays(seconds: float) -> np.ndarray:
    """(n,) seconds that this thread woke up late from 1 ms sleeps, for so many seconds."""
    delays = np.empty(max(1, int(seconds / _PERIOD)))
    due = time.monotonic()
    for i in range(len(delays)):
        due = max(due + _PERIOD, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
        delays[i] = time.monotonic() - due
    return delays


def _wake_up(seconds: float) -> Finding:
    p50, p99, worst = np.quantile(wake_up_delays(seconds), (0.5, 0.99, 1.0))
    good = bool(p99 < _LATE)
    found = f"median {p50 * 1e6:.0f} us late, 99 % within {p99 * 1e6:.0f} us, worst {worst * 1e6:.0f} us"
    advice = "" if good else "A loop here would miss commands: see the items above, and end other programs."
    return Finding("wake-up from 1 ms sleeps", good, found, advice)


def findings(seconds: float) -> Iterator[Finding]:
    """All items, one after the other; the last one takes ``seconds``."""
    items: tuple[Callable[[], Finding], ...] = (_kernel, _priority, _memory, _governor, _cores, _load)
    for item in items:
        yield item()
    yield _wake_up(seconds)
