"""Faults that the simulated robot can be made to have, and the links that carry datagrams with them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from franka_rt import checks
from franka_rt.dialect import CommandName, Dialect, Status
from franka_rt.errors import InvalidArgumentException

__all__ = ["Faults", "Link"]

_COUNTS = ("silent_after", "cut_tcp_after", "state_size", "answer_size", "connect_version")


@dataclass(frozen=True)
class Faults:
    """What goes wrong. Probabilities are per datagram; the draws follow the simulation's seed.

    Attributes:
        drop_states, drop_commands: probability that a datagram is lost.
        delay_states, delay_commands: probability that a datagram is late by ``delay_ticks`` milliseconds.
        delay_ticks: how late.
        duplicate_states, duplicate_commands: probability that a datagram comes twice.
        reorder_states, reorder_commands: probability that a datagram comes after its successor.
        silent_after: no states any more after so many states of the session (None: never).
        cut_tcp_after: the TCP connection is reset after so many states of a motion (None: never).
        state_size: bytes to which state datagrams are cut or padded (None: right size).
        refuse: command name (``CommandName.SET_LOAD`` or its text, "Set Load") -> status (or its text) answered.
        answer_size: bytes to which answers on TCP are cut (None: whole).
        connect_version: version that the server reports and demands at Connect (None: its own).
    """

    drop_states: float = 0.0
    drop_commands: float = 0.0
    delay_states: float = 0.0
    delay_commands: float = 0.0
    delay_ticks: int = 2
    duplicate_states: float = 0.0
    duplicate_commands: float = 0.0
    reorder_states: float = 0.0
    reorder_commands: float = 0.0
    silent_after: int | None = None
    cut_tcp_after: int | None = None
    state_size: int | None = None
    refuse: Mapping[CommandName | str, Status | str] = field(default_factory=dict)
    answer_size: int | None = None
    connect_version: int | None = None

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self) if f.type == "float"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InvalidArgumentException(f"franka_rt: {name} is a probability, not {getattr(self, name)}.")
        for name, least in (("delay_ticks", 1), *((name, 0) for name in _COUNTS)):
            if (value := getattr(self, name)) is not None:
                checks.integer(name, value, least, 2**31)
        try:
            refuse = {CommandName(command): Status(status) for command, status in self.refuse.items()}
        except ValueError as error:
            raise InvalidArgumentException(f"franka_rt: cannot refuse: {error}.") from None
        object.__setattr__(self, "refuse", refuse)

    def check(self, dialect: Dialect) -> None:
        """InvalidArgumentException if a command of a protocol shall be refused with a status that it does not have."""
        for command, status in self.refuse.items():
            spec = dialect.commands.get(CommandName(command))
            if spec is not None:
                spec.status_number(Status(status))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for another process; ``Faults(**faults.to_dict())`` gives it back."""
        plain = asdict(self)
        plain["refuse"] = {CommandName(c).value: Status(s).value for c, s in self.refuse.items()}
        return plain


class Link:
    """Carries the datagrams of one direction: what goes in comes out, or not, or later, or twice."""

    def __init__(self, faults: Faults, direction: str, seed: int) -> None:
        self._probability = {
            kind: getattr(faults, f"{kind}_{direction}") for kind in ("drop", "delay", "duplicate", "reorder")
        }
        self._ticks = faults.delay_ticks
        self._clean = not any(self._probability.values())
        self._random = random.Random(f"{seed} {direction}")
        self._late: list[tuple[int, bytes]] = []  # ticks left, datagram
        self._held: bytes | None = None

    def carry(self, datagram: bytes) -> Iterable[bytes]:
        """Datagrams that come out now that this one went in."""
        if self._clean:
            return (datagram,)
        if self._hits("drop"):
            return ()
        if self._hits("delay"):
            self._late.append((self._ticks, datagram))
            return ()
        if self._held is None and self._hits("reorder"):
            self._held = datagram
            return ()
        out = [datagram] * (2 if self._hits("duplicate") else 1)
        if self._held is not None:
            out.append(self._held)
            self._held = None
        return out

    def tick(self) -> list[bytes]:
        """Late datagrams that come out as a millisecond begins."""
        if not self._late:
            return []
        out = [datagram for left, datagram in self._late if left <= 1]
        self._late = [(left - 1, datagram) for left, datagram in self._late if left > 1]
        return out

    def _hits(self, kind: str) -> bool:
        return self._random.random() < self._probability[kind]
