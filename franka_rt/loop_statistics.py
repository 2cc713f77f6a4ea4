"""What a control loop measures of itself: time from state to command, and states that never came or came too late."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

__all__ = ["LoopStatistics"]

_RING = 65536  # newest cycles that the quantiles are taken from, about a minute
_BUDGET = 300e-6  # s; the vendor's advice for the time between a state and its command

_CHECKLIST = (
    "Check: an own network card with a direct cable and power saving off, a realtime kernel, realtime priority for the "
    "loop, the performance governor, no other load, and that the callback returns within 300 us."
)


class LoopStatistics:
    """Filled by a running loop with almost no work per cycle; read it afterwards (``robot.loop_statistics``).

    Attributes:
        cycles: commands sent.
        skipped: milliseconds of the robot's clock without a state that this loop answered.
        longest_gap: the largest step of the robot's clock between two states, ms.
    """

    def __init__(self) -> None:
        self.cycles = 0
        self.skipped = 0
        self.longest_gap = 0
        self._ring = array("q", bytes(8 * _RING))

    def add(self, turnaround: int) -> None:
        """A command was sent ``turnaround`` ns after its state had been received."""
        self._ring[self.cycles % _RING] = turnaround
        self.cycles += 1

    def step(self, milliseconds: int) -> None:
        """The next state came this much later on the robot's clock; 1 is regular."""
        if milliseconds > 1:
            self.skipped += milliseconds - 1
        if milliseconds > self.longest_gap:
            self.longest_gap = milliseconds

    def take(self, cycles: int, skipped: int, longest_gap: int, turnarounds: np.ndarray) -> None:
        """The figures of a loop that ran elsewhere; ``turnarounds`` (65536,) ns is its ring of the newest cycles."""
        self.cycles, self.skipped, self.longest_gap = cycles, skipped, longest_gap
        self._ring = array("q", turnarounds.tobytes())

    @property
    def turnaround(self) -> np.ndarray:
        """(n,) seconds from state received to command sent, the newest cycles in no particular order."""
        return np.array(self._ring[: min(self.cycles, _RING)]) * 1e-9

    def quantile(self, share: float) -> float:
        """Turnaround (s) that this share of the cycles does not exceed; NaN without cycles."""
        return float(np.quantile(self.turnaround, share)) if self.cycles else float("nan")

    @property
    def slow(self) -> int:
        """Cycles that took longer than the vendor's advice of 300 us."""
        return int(np.count_nonzero(self.turnaround > _BUDGET))

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain numbers, times in seconds."""
        names = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "longest": 1.0}
        counts = {"cycles": self.cycles, "skipped": self.skipped, "longest_gap": self.longest_gap, "slow": self.slow}
        return counts | {name: self.quantile(share) for name, share in names.items()}

    def advice(self) -> str:
        """What this loop saw, and what to check when the robot missed commands."""
        return f"{self}\n{_CHECKLIST}"

    def __str__(self) -> str:
        if not self.cycles:
            return "This loop sent no command."
        p50, p99, longest = (1e6 * self.quantile(share) for share in (0.5, 0.99, 1.0))
        return (
            f"This loop: {self.cycles} commands, state to command median {p50:.0f} us, 99 % within {p99:.0f} us, "
            f"longest {longest:.0f} us ({self.slow} above 300 us); {self.skipped} states missed, longest gap "
            f"{self.longest_gap} ms."
        )

    def __repr__(self) -> str:
        return f"<LoopStatistics: {self}>"
