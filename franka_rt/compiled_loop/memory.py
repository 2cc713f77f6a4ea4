"""The memory that Python and the C program share, declared once: numpy types here, C structs from :func:`declarations`.

::

    plan                 written by Python before the program starts, then only read
    live                 written by Python while the program runs: heartbeat, wishes, the number of the newest set
    report               written by the program
    regions              one behind the other, where the plan says: law's inputs and outputs, sets, log, ...

Every item is a word of 8 bytes, which both sides write at once. What is longer than a word is guarded by a count that
is written after it: the log by ``report.records``, a set of parameters by ``live.sets``. Both are rings, so a reader
that was overtaken by the writer sees it from the count and takes the newer content, or tries again in the next cycle.
Nobody waits for anybody.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Mapping
from enum import IntEnum
from io import FileIO
from typing import Any

import numpy as np

__all__ = [
    "FIELD",
    "LIVE",
    "MEMORY",
    "PLAN",
    "RECORD_HEAD",
    "REGIONS",
    "REPORT",
    "SETS",
    "SET_HEAD",
    "SPAN",
    "TURNAROUNDS",
    "Reason",
    "Setup",
    "SharedMemory",
    "Source",
    "declarations",
]

TURNAROUNDS = 65536
"""Newest cycles whose duration is kept."""
SETS = 4
"""Ring of parameter sets: one is read, one is the newest, and the writer is at most one further while it is read."""


class Reason(IntEnum):
    """Why the program ended; 0 is what a program leaves that was killed."""

    NONE = 0
    FINISHED = 1
    BROKEN = 2
    NOT_FINITE = 3
    RECEIVE_FAILED = 4
    CLOCK_STANDS = 5
    WRONG_SIZE = 6
    SEND_FAILED = 7
    WATCHDOG = 8
    ORPHANED = 9
    HALTED = 10
    CRASHED = 11
    SETUP_FAILED = 12


class Setup(IntEnum):
    """What failed before the motion."""

    NONE = 0
    KERNEL = 1
    MEMORY_LOCK = 2
    AFFINITY = 3
    SCHEDULER = 4


class Source(IntEnum):
    """Where the numbers of a law's input come from."""

    REALS = 0
    MATRIX = 1
    TIME = 2
    TOTAL_MASS = 3
    TOTAL_CENTRE = 4
    TOTAL_INERTIA = 5


REGIONS = ("inputs", "outputs", "leaves", "fields", "spans", "memory", "stop_message", "sets", "turnarounds", "log")


def _items(names: str, *kind: Any) -> list[tuple[Any, ...]]:
    """Members of one kind, words without one."""
    return [(name, *(kind or ("<i8",))) for name in names.split()]


def _struct(words: str, **arrays: Any) -> np.dtype:
    return np.dtype([*_items(words), *arrays.items()])


PLAN = np.dtype(
    [
        *_items("parent link udp tcp kernel stop_size"),
        # scheduling; priority 0 and core -1 leave them alone
        *_items("priority core lock_memory enforce"),
        # datagrams
        *_items("state_size single_precision state_id generator controller robot_mode"),
        ("running", "<i8", 3),  # the modes of the motion
        ("still_generators", "<i8"),  # bit n: in generator mode n none runs
        *_items("external_controller command_size command_id finish_flag command_tau"),
        ("command_velocity", "<i8"),  # -1 where torques go alone
        *_items("udp_timeout finish_timeout orphan_timeout watchdog lead"),  # ns
        # the law
        *_items("leaf_count input_count field_count span_count memory_count"),
        *_items("input_words tau finished finished_is_real dt"),  # words; -1 without one
        ("load", "<i8", 6),  # m_ee, F_x_Cee, I_ee, m_load, F_x_Cload, I_load
        # signal processing
        *_items("filtering limiting tau_last velocity_last acceleration_last"),
        *_items("gain sample_time", "<f8"),
        *_items("maximum_torque torque_rate velocity acceleration jerk", "<f8", 7),
        # the log
        *_items("log_size record_size record_state"),
        *((f"{name}_at", "<i8") for name in REGIONS),
    ]
)
"""What the program has to do. Places in datagrams are bytes, places in the law's memory words."""

LIVE = _struct("last_id heartbeat halt finish sets")
REPORT = _struct(
    "reason detail setup confirmed stop_sent records cycles skipped longest_gap sets_taken memory_taken",
    text=("S256", ()),
)
FIELD = _struct("source place size target")
SPAN = _struct("first words memory")
MEMORY = _struct("output input words")
SET_HEAD = _struct("memory_set")
RECORD_HEAD = _struct("answered")
_STRUCTS = {
    "plan": PLAN,
    "live": LIVE,
    "report": REPORT,
    "field": FIELD,
    "span": SPAN,
    "memory": MEMORY,
    "set_head": SET_HEAD,
    "record_head": RECORD_HEAD,
}
_LINE = 64  # bytes; what different processors write does not share a line of their caches


def declarations() -> str:
    """C text of the structs, enumerations and sizes above."""
    parts = [f"struct {name} {{\n{_members(dtype)}}};\n" for name, dtype in _STRUCTS.items()]
    for kind in (Reason, Setup, Source):
        members = "".join(f"    {kind.__name__.upper()}_{item.name} = {item.value},\n" for item in kind)
        parts.append(f"enum {kind.__name__.lower()} {{\n{members}}};\n")
    offsets = zip(("PLAN", "LIVE", "REPORT"), _heads(), strict=True)
    sizes = {"SETS": SETS, "TURNAROUNDS": TURNAROUNDS} | {f"{name}_AT": offset for name, offset in offsets}
    parts.append("".join(f"#define {name} {value}\n" for name, value in sizes.items()))
    return "#include <stdint.h>\n\n" + "\n".join(parts)


def _members(dtype: np.dtype) -> str:
    lines = []
    for name, (member, _) in ((n, entry[:2]) for n, entry in (dtype.fields or {}).items()):
        kind = {"i": "int64_t", "f": "double", "S": "char"}[member.base.kind]
        count = member.itemsize if member.kind == "S" else member.shape[0] if member.shape else 0
        lines.append(f"    {kind} {name}{f'[{count}]' if count else ''};\n")
    return "".join(lines)


def _heads() -> tuple[int, int, int]:
    """Offsets of plan, live and report."""
    live = _aligned(PLAN.itemsize)
    return 0, live, live + _aligned(LIVE.itemsize)


def _aligned(size: int) -> int:
    return -(-size // _LINE) * _LINE


class SharedMemory:
    """The memory of one run, without a name; gone when both sides have let go of it.

    Attributes:
        plan, live, report: 0-d arrays of the structs.
        descriptor: for the program.

    Args:
        sizes: bytes of the regions; those not named are empty.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        *heads, report = _heads()
        offset, offsets = report + _aligned(REPORT.itemsize), {}
        for name in REGIONS:
            offsets[name] = offset
            offset += _aligned(sizes.get(name, 0))
        self._offsets = offsets
        self._file = FileIO(os.memfd_create("franka_rt_loop"), "rb+")  # closed with this object at the latest
        self.descriptor = self._file.fileno()
        os.ftruncate(self.descriptor, offset)
        self._map = mmap.mmap(self.descriptor, offset)
        places = zip((*heads, report), (PLAN, LIVE, REPORT), strict=True)
        self.plan, self.live, self.report = (np.ndarray((), dtype, self._map, place) for place, dtype in places)
        for name, place in offsets.items():
            self.plan[f"{name}_at"] = place

    def region(self, name: str, dtype: Any, shape: int | tuple[int, ...]) -> np.ndarray:
        """A region as an array."""
        return np.ndarray(shape, dtype, self._map, self._offsets[name])

    def bytes_of(self, name: str, first: int, size: int) -> bytes:
        """A copy of part of a region."""
        start = self._offsets[name] + first
        return self._map[start : start + size]

    def close(self) -> None:
        """Give the memory back, once nobody holds an array of a region; the structs stay as copies."""
        self.close_descriptor()
        self.plan, self.live, self.report = self.plan.copy(), self.live.copy(), self.report.copy()
        with contextlib.suppress(BufferError):  # then it goes with the last array
            self._map.close()

    def close_descriptor(self) -> None:
        """Once the program has its own."""
        self._file.close()
