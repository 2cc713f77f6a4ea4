"""The program's log: each state that it received with the command before it, readable while it runs."""

from __future__ import annotations

import contextlib

import numpy as np

from franka_rt.compiled_loop.memory import RECORD_HEAD, SharedMemory
from franka_rt.dialect import ArmDialect
from franka_rt.state import RobotState

__all__ = ["Records"]

_TRIES = 100


class Records:
    """The ring of records in the shared memory."""

    def __init__(self, memory: SharedMemory, dialect: ArmDialect) -> None:
        self._memory, self._dialect = memory, dialect
        self._length, self._size = int(memory.plan["log_size"]), int(memory.plan["record_size"])
        self._state = int(memory.plan["record_state"])

    @property
    def count(self) -> int:
        """Records so far; the last ones are still there."""
        return int(self._memory.report["records"])

    def newest(self) -> RobotState | None:
        """The newest state, None before the first; from any thread, never waits for the program."""
        with contextlib.suppress(ValueError):  # closed meanwhile: the session has the last state then
            for _ in range(_TRIES):
                count = self.count
                if count == 0:
                    return None
                state, _ = self._record(count - 1)
                if self.count - count < self._length - 1:  # the program was not writing there meanwhile
                    return state
        return None

    def all(self) -> list[tuple[RobotState, bytes]]:
        """All records that are still there, oldest first; for a program that has ended."""
        count = self.count
        return [self._record(number) for number in range(max(0, count - self._length), count)]

    def _record(self, number: int) -> tuple[RobotState, bytes]:
        data = self._memory.bytes_of("log", number % self._length * self._size, self._size)
        state = RobotState(self._dialect, data[self._state : self._state + self._dialect.state.itemsize])
        answered = np.frombuffer(data, RECORD_HEAD, 1)[0]["answered"]
        first = RECORD_HEAD.itemsize
        return state, data[first : first + self._dialect.command.itemsize] if answered else b""
