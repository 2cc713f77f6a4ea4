"""The last records of a motion: each received state with the command that was sent before it (FCI protocol 16)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from franka_rt.dialect import ArmDialect
from franka_rt.state import RobotState

__all__ = ["Log", "LogRecorder", "Record"]

_STATE_COLUMNS = ("q", "q_d", "dq", "dq_d", "tau_J", "tau_ext_hat_filtered")
_COMMAND_COLUMNS = {"q_c": "q_d", "dq_c": "dq_d", "O_T_EE_c": "O_T_EE_d", "O_dP_EE_c": "O_dP_EE_d"}


class Record(NamedTuple):
    """One cycle: the state and, as a numpy record, the command datagram that preceded it (all zero without one)."""

    state: RobotState
    command: Any


class Log(Sequence[Record]):
    """Records, oldest first; as arrays: ``log.state_array("q")`` (n,7), ``log.command_array("tau_J_d")`` (n,7)."""

    def __init__(self, dialect: ArmDialect, entries: Sequence[tuple[RobotState, bytes]]) -> None:
        self._dialect = dialect
        self.states = [state for state, _ in entries]
        empty = bytes(dialect.command.itemsize)
        self.commands: Any = np.frombuffer(b"".join(command or empty for _, command in entries), dialect.command)

    def __len__(self) -> int:
        return len(self.states)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | Sequence[Record]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return Record(self.states[index], self.commands[index])

    def __iter__(self) -> Iterator[Record]:
        return (Record(state, command) for state, command in zip(self.states, self.commands, strict=True))

    def state_array(self, name: str) -> np.ndarray:
        """(n, ...) a field of the states."""
        return np.array([getattr(state, name) for state in self.states])

    def command_array(self, name: str) -> np.ndarray:
        """(n, ...) a field of the commands: q_c, dq_c, O_T_EE_c (column-major), O_dP_EE_c, elbow_c, tau_J_d."""
        part = "control" if name in (self._dialect.command["control"].names or ()) else "motion"
        return np.array(self.commands[part][name])

    def to_csv(self) -> str:
        """libfranka's table: time in ms, success rate, states, commands; an empty string for an empty log."""
        if not self:
            return ""
        columns = [("time", [s.message_id for s in self.states])]
        columns += [("success_rate", [s.control_command_success_rate for s in self.states])]
        for name in _STATE_COLUMNS:
            columns += _columns(f"state.{name}", self.state_array(name))
        for name, public in _COMMAND_COLUMNS.items():
            columns += _columns(f"cmd.{public}", self.command_array(name))
        columns += _columns("cmd.tau_J_d", self.command_array("tau_J_d"))
        rows = zip(*(values for _, values in columns), strict=True)
        lines = [",".join(name for name, _ in columns), *(",".join(f"{v:.9g}" for v in row) for row in rows)]
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        if not self:
            return "<Log, empty>"
        return f"<Log of {len(self)} records, {self.states[0].time:.3f} s to {self.states[-1].time:.3f} s>"


def _columns(name: str, array: np.ndarray) -> list[tuple[str, Any]]:
    return [(f"{name}[{i}]", array[:, i].tolist()) for i in range(array.shape[1])]


class LogRecorder:
    """Ring of the last ``size`` records (0: none) that costs a cycle one reference to the state and the command."""

    def __init__(self, dialect: ArmDialect, size: int) -> None:
        self._dialect = dialect
        self.size = size
        self._ring: deque[tuple[RobotState, bytes]] = deque(maxlen=size)
        self.append = self._ring.append
        self.clear = self._ring.clear

    def last_rate_and_loss(self) -> tuple[float, int] | None:
        """libfranka's success rate before the last record and packets lost in a row there; None below two records."""
        if len(self._ring) < 2:
            return None
        before, last = self._ring[-2][0], self._ring[-1][0]
        lost = last.message_id - before.message_id - 1
        return before.control_command_success_rate * (1.0 - lost / 100.0), lost

    def flush(self) -> Log:
        """The records so far; the ring is empty afterwards."""
        log = Log(self._dialect, list(self._ring))
        self.clear()
        return log
