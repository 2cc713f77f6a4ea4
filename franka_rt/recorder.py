"""Raw traffic of a session to a file and back: for bug reports, and for :mod:`franka_rt.replay`.

    with Recorder("session.frec") as recorder, Robot(host, recorder=recorder) as robot:
        ...
    for entry in Recording.load("session.frec"):
        entry.time, entry.kind, entry.data

A file starts with the line ``FRANKA-RECORDING 1``; each record is (kind u8, time u64 ns since the start, size u32) and
the bytes, little-endian. A file that was cut off by a crash loads up to its last whole record (``truncated``).
"""

from __future__ import annotations

import json
import os
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from franka_rt.dialect import ArmDialect, Dialect, arm_dialect
from franka_rt.errors import InvalidArgumentException
from franka_rt.transport import Transport

__all__ = ["STATES", "TCP", "Entry", "Kind", "Recorder", "Recording"]

_MAGIC = b"FRANKA-RECORDING 1\n"
_RECORD = struct.Struct("<BQI")


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


class Recorder:
    """Writes what goes over the sockets. May be used by several threads; costs a record about 2 us.

    The file appears under its name when the recorder is closed, until then it ends in ``.part``; without a record there
    is no file. InvalidArgumentException if it cannot be created. Give it to ``Robot(..., recorder=recorder)``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._part = Path(f"{self.path}.part")
        if not self.path.name or self.path.is_dir():
            raise InvalidArgumentException(f"franka_rt: cannot record to {os.fspath(path)!r}: that is no file name.")
        try:
            self._file = self._part.open("wb")
        except OSError as error:
            raise InvalidArgumentException(f"franka_rt: cannot record to {self.path}: {error.strerror}.") from None
        self._lock = threading.Lock()
        self._start = time.monotonic_ns()
        self._empty = True
        self._file.write(_MAGIC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def record(self, kind: Kind, data: bytes) -> None:
        """Append a record; ignored after ``close()``."""
        header = _RECORD.pack(kind, time.monotonic_ns() - self._start, len(data))
        with self._lock:
            if not self._file.closed:
                self._file.write(header + data)
                self._empty = False

    def wrap(self, transport: Transport, dialect: Dialect) -> Transport:
        """A transport that does the same and is recorded."""
        self.record(Kind.SESSION, struct.pack("<H", dialect.version))
        return _RecordingTransport(transport, self.record)

    def close(self) -> None:
        """Finish the file; may be called again."""
        with self._lock:
            if self._file.closed:
                return
            self._file.close()
            if self._empty:
                self._part.unlink()
            else:
                self._part.replace(self.path)


class _RecordingTransport:
    """Passes everything through and notes it down."""

    def __init__(self, transport: Transport, record: Callable[[Kind, bytes], None]) -> None:
        self._transport, self._record = transport, record
        self.udp_port = transport.udp_port
        self.shutdown, self.close = transport.shutdown, transport.close

    def send(self, data: bytes) -> None:
        self._transport.send(data)
        self._record(Kind.TCP_REQUEST, data)

    def receive(self, timeout: float) -> bytes | None:
        data = self._transport.receive(timeout)
        if data is not None:
            self._record(Kind.TCP_REPLY, data)
        return data

    def receive_datagram(self) -> bytes:
        data = self._transport.receive_datagram()
        self._record(Kind.UDP_STATE, data)
        return data

    def poll_datagram(self) -> bytes | None:
        data = self._transport.poll_datagram()
        self._record(Kind.UDP_EMPTY if data is None else Kind.UDP_QUEUED, data or b"")
        return data

    def send_datagram(self, data: bytes) -> None:
        self._transport.send_datagram(data)
        self._record(Kind.UDP_COMMAND, data)


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
            if data.startswith(_MAGIC):
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
    entries, position = [], len(_MAGIC)
    while position + _RECORD.size <= len(data):
        kind, nanoseconds, size = _RECORD.unpack_from(data, position)
        end = position + _RECORD.size + size
        if end > len(data):
            break
        entries.append(Entry(Kind(kind), nanoseconds / 1e9, data[position + _RECORD.size : end]))
        position = end
    return tuple(entries), position != len(data)


def _from_json(line: dict[str, Any]) -> Entry:
    kind = Kind[line["kind"].upper().replace("_FINAL", "")]
    return Entry(kind, float(line.get("time", 0.0)), bytes.fromhex(line["hex"]).ljust(line["size"], b"\0"))
