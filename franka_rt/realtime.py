"""What the machine offers for a 1 kHz loop, and what RealtimeConfig makes of it."""

from __future__ import annotations

import os
import threading
import warnings
from enum import Enum
from pathlib import Path

from franka_rt.errors import InvalidArgumentException, RealtimeException

__all__ = ["RealtimeConfig", "RealtimeWarning", "fifo_refusal", "kernel_is_realtime", "prepare", "problems"]

_KERNEL_FLAG = Path("/sys/kernel/realtime")
_VARIABLE = "FRANKA_REALTIME"
_RECIPE = (
    "To get there: install a PREEMPT_RT kernel (Ubuntu: `sudo pro enable realtime-kernel`), create the group "
    "`realtime`, add yourself to it, put `@realtime - rtprio 99` and `@realtime - memlock 102400` into "
    "/etc/security/limits.conf and log in again. Or accept an ordinary machine: RealtimeConfig.IGNORE, or "
    f"{_VARIABLE}=ignore in the environment."
)


class RealtimeConfig(Enum):
    """What to do on a machine without realtime capabilities."""

    ENFORCE = "enforce"
    """Refuse to connect."""
    IGNORE = "ignore"
    """Warn and go on."""

    @classmethod
    def from_environment(cls) -> RealtimeConfig:
        """``FRANKA_REALTIME`` (enforce or ignore), ENFORCE without it as in libfranka."""
        value = os.environ.get(_VARIABLE, "enforce").lower()
        try:
            return cls(value)
        except ValueError:
            raise InvalidArgumentException(f"franka_rt: {_VARIABLE} is {value!r}, not enforce or ignore.") from None


class RealtimeWarning(UserWarning):
    """This machine cannot promise 1 kHz."""


def kernel_is_realtime() -> bool:
    """Whether the kernel says so; a kernel that says nothing is not."""
    try:
        return _KERNEL_FLAG.read_text().split()[:1] == ["1"]
    except OSError:
        return False


def fifo_refusal() -> str:
    """Try SCHED_FIFO on a thread of its own; what the system says against it, or an empty string."""
    answer = [""]

    def probe() -> None:
        try:
            priority = os.sched_get_priority_max(os.SCHED_FIFO)
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        except OSError as error:
            answer[0] = os.strerror(error.errno or 0)

    thread = threading.Thread(target=probe)
    thread.start()
    thread.join()
    return answer[0]


def problems() -> list[str]:
    """What libfranka's realtime setup would find wrong here, in its words; empty on a realtime machine."""
    found = []
    if refusal := fifo_refusal():
        found.append(f"libfranka: unable to set realtime scheduling: {refusal}")
    if not kernel_is_realtime():
        found.append("libfranka: Running kernel does not have realtime capabilities.")
    return found


def prepare(config: RealtimeConfig) -> None:
    """Act on the configuration before a robot is touched.

    ENFORCE raises RealtimeException with a recipe if something is missing, IGNORE warns once;
    InvalidArgumentException for anything else.
    """
    if not isinstance(config, RealtimeConfig):
        raise InvalidArgumentException(f"franka_rt: {config!r} is no RealtimeConfig: take its ENFORCE or IGNORE.")
    found = problems()
    if not found:
        return
    if config is RealtimeConfig.ENFORCE:
        raise RealtimeException(found[0], " ".join([*found[1:], _RECIPE]))
    text = " ".join(found)
    warnings.warn(f"{text} Control loops may lose cycles on this machine.", RealtimeWarning, stacklevel=3)
