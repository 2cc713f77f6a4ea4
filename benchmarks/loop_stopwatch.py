"""The compiled part of the loop benchmark's server (loop_server.c), and the arrays that it fills."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

from franka_rt.toolchain import find_compiler


@cache
def library() -> ctypes.CDLL:
    """The compiled loop, built once per machine and version of its source."""
    compiler = find_compiler()
    if compiler is None:
        raise SystemExit("The benchmark's server needs a C compiler.")
    source = Path(__file__).with_name("loop_server.c").read_text(encoding="utf-8")
    path = Path(__file__).with_name("results") / "loop_server.so"
    path.parent.mkdir(exist_ok=True)
    mark = path.with_suffix(".source")
    if not (path.exists() and mark.exists() and mark.read_text(encoding="utf-8") == source):
        path.write_bytes(compiler.shared_object(source, "-O2", ((),)))
        mark.write_text(source, encoding="utf-8")
    return ctypes.CDLL(str(path))


class Arrays:
    """What one motion leaves behind, filled by the C loop."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.sent, self.turnaround, self.tick = (np.full(capacity, -1) for _ in range(3))  # written: no page is missing
        self.count = ctypes.c_int64(0)

    def pointers(self) -> list[ctypes.c_void_p]:
        """Of the arrays that the C function fills."""
        return [ctypes.c_void_p(a.ctypes.data) for a in (self.sent, self.turnaround, self.tick)]

    def answered(self) -> slice:
        """From the first cycle with a command to the last."""
        (found,) = np.nonzero(self.turnaround[: self.count.value] >= 0)
        return slice(int(found[0]), int(found[-1]) + 1) if found.size else slice(0, 0)
