"""Raw traffic of a session to a file: for bug reports, and for :mod:`franka_rt.replay`.

    with Recorder("session.frec") as recorder, Robot(host, recorder=recorder) as robot:
        ...

The format and the way back are in :mod:`franka_rt.recording`.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from franka_rt.dialect import Dialect
from franka_rt.errors import InvalidArgumentException
from franka_rt.recording import MAGIC, RECORD, STATES, TCP, Entry, Kind, Recording
from franka_rt.transport import Transport

__all__ = ["STATES", "TCP", "Entry", "Kind", "Recorder", "Recording", "RecordingWarning"]


class RecordingWarning(UserWarning):
    """A recording ends before its session."""


class Recorder:
    """Writes what goes over the sockets. May be used by several threads; costs a record about 2 us.

    The file appears under its name when the recorder is closed, until then it ends in ``.part``; without a record there
    is no file. InvalidArgumentException if it cannot be created. Give it to ``Robot(..., recorder=recorder)``.

    A disk that is full does not stop the arm: the recording ends there with one :class:`RecordingWarning`, the session
    goes on, and what was written before can be loaded.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._part = Path(f"{self.path}.part")
        if not self.path.name or self.path.is_dir():
            raise InvalidArgumentException(f"franka_rt: cannot record to {os.fspath(path)!r}: that is no file name.")
        try:
            self._file = _create(self._part)
        except OSError as error:
            raise InvalidArgumentException(f"franka_rt: cannot record to {self.path}: {error.strerror}.") from None
        self._lock = threading.Lock()
        self._start = time.monotonic_ns()
        self._empty, self._failed = True, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def record(self, kind: Kind, data: bytes) -> None:
        """Append a record; ignored after ``close()`` and after the file could not be written."""
        header = RECORD.pack(kind, time.monotonic_ns() - self._start, len(data))
        with self._lock:
            if self._failed or self._file.closed:
                return
            try:
                self._file.write(header + data)
            except OSError as error:
                return self._give_up(error)
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
            try:
                self._file.close()
            except OSError as error:
                self._give_up(error)
            if self._empty:
                self._part.unlink()
            else:
                self._part.replace(self.path)

    def _give_up(self, error: OSError) -> None:
        """Once: the session is worth more than its recording."""
        if not self._failed:
            self._failed = True
            text = f"franka_rt: the recording {self.path} ends here: {error.strerror}. The session goes on without it."
            warnings.warn(text, RecordingWarning, stacklevel=3)


def _create(path: Path) -> BinaryIO:
    """A file that has its first line; none is left if that could not be written."""
    file = path.open("wb")
    try:
        file.write(MAGIC)
        file.flush()
    except OSError:
        with contextlib.suppress(OSError):
            file.close()
        path.unlink()
        raise
    return file


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
