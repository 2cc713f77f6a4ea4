"""Recorded traffic, back from a file of :class:`franka_rt.recorder.Recorder`.

    for entry in Recording.load("session.frec"):
        entry.time, entry.kind, entry.data

A file starts with the line ``FRANKA-RECORDING 1``; each record is (kind u8, time u64 ns since the start, size u32) and
the bytes, little-endian. A file that was cut off by a crash or a full disk loads up to its last whole record
(``truncated``).
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from franka_rt.dialect import ArmDialect, arm_dialect
from franka_rt.errors import InvalidArgumentException

__all__ = ["MAGIC", "RECORD", "STATES", "TCP", "Entry", "Kind", "Recording"]

MAGIC = b"FRANKA-RECORDING 1\n"
"""First line of a file."""
RECORD = struct.Struct("<BQI")
"""Head of a record: kind, time in ns, size of the data."""


class Kind(IntEnum):
    """What a record is."""

    SESSION = 0
    """A connection was opened; the data is the offered version as u16."""
    TCP_REQUEST = 1
    TCP_REPLY = 2
    UDP_STATE = 3
    UDP_COMMAND = 4
    UDP_QUEUED = 5
    """A state that was already waiting when it was read."""
    UDP_EMPTY = 6
    """No state was waiting when one was looked for."""


STATES = (Kind.UDP_STATE, Kind.UDP_QUEUED)
TCP = (Kind.TCP_REQUEST, Kind.TCP_REPLY)


@dataclass(frozen=True)
class Entry:
    """One record; ``time`` in seconds since the recording began."""

    kind: Kind
    time: float
    data: bytes


@dataclass(frozen=True)
class Recording(Sequence[Entry]):
    """A loaded recording; ``truncated`` if the file ends inside a record."""

    entries: tuple[Entry, ...]
    truncated: bool = False

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: Any) -> Any:
        return self.entries[index]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read a file of :class:`Recorder`, or JSON lines with ``kind``, ``size`` and ``hex``.

        InvalidArgumentException for anything else.
        """
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise InvalidArgumentException(f"franka_rt: cannot read {os.fspath(path)}: {error.strerror}.") from None
        try:
            if data.startswith(MAGIC):
                return cls(*_parse(data))
            return cls(tuple(_from_json(json.loads(line)) for line in data.decode().splitlines()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidArgumentException(f"franka_rt: {os.fspath(path)} is no recording ({error}).") from None

    @property
    def duration(self) -> float:
        """Seconds from the first to the last record."""
        return self.entries[-1].time - self.entries[0].time if self.entries else 0.0

    def of(self, kind: Kind) -> list[bytes]:
        """Data of all records of a kind."""
        return [entry.data for entry in self.entries if entry.kind is kind]

    @property
    def states(self) -> list[bytes]:
        """All state datagrams."""
        return [entry.data for entry in self.entries if entry.kind in STATES]

    def last_session(self) -> Recording:
        """The records of the last connection; after a negotiation that is the accepted one."""
        starts = [i for i, entry in enumerate(self.entries) if entry.kind is Kind.SESSION]
        return Recording(self.entries[starts[-1] + 1 :] if starts else self.entries, self.truncated)

    def dialect(self) -> ArmDialect:
        """The version that the last connection offered. InvalidArgumentException if there is none."""
        requests = self.last_session().of(Kind.TCP_REQUEST)
        if not requests or len(requests[0]) < 14:
            raise InvalidArgumentException("franka_rt: the recording has no Connect request.")
        return arm_dialect(int.from_bytes(requests[0][12:14], "little"))

    def __repr__(self) -> str:
        return f"<Recording of {len(self)} records, {self.duration:.3f} s{', truncated' if self.truncated else ''}>"


def _parse(data: bytes) -> tuple[tuple[Entry, ...], bool]:
    entries, position = [], len(MAGIC)
    while position + RECORD.size <= len(data):
        kind, nanoseconds, size = RECORD.unpack_from(data, position)
        end = position + RECORD.size + size
        if end > len(data):
            break
        entries.append(Entry(Kind(kind), nanoseconds / 1e9, data[position + RECORD.size : end]))
        position = end
    return tuple(entries), position != len(data)


def _from_json(line: dict[str, Any]) -> Entry:
    kind = Kind[line["kind"].upper().replace("_FINAL", "")]
    return Entry(kind, float(line.get("time", 0.0)), bytes.fromhex(line["hex"]).ljust(line["size"], b"\0"))
