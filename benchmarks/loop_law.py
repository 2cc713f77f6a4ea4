"""What the clients of the loop benchmark have in common: the law's numbers, what they are asked for, when they end."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.loop_schedule import Schedule

STIFFNESS = np.array([60.0, 60.0, 60.0, 60.0, 25.0, 15.0, 5.0])
DAMPING = np.array([5.0, 5.0, 5.0, 2.0, 2.0, 2.0, 1.0])
GOAL = np.array([0.01, -np.pi / 4, 0.01, -3 * np.pi / 4, 0.01, np.pi / 2, np.pi / 4])
"""Nm/rad, Nm s/rad, rad."""


@dataclass(frozen=True)
class Run:
    """What a client is asked for."""

    host: str
    port: int
    version: int
    seconds: float
    schedule: Schedule
    hostile: bool


class Clock:
    """Counts the motion's own time; schedules the thread that runs the loop in its first cycle."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.time, self._scheduled = 0.0, False

    def __call__(self, dt: float) -> bool:
        """Whether the motion has lasted long enough."""
        if not self._scheduled:
            self._run.schedule.apply()
            self._scheduled = True
        self.time += dt
        return self.time >= self._run.seconds


def connect(run: Run) -> Any:
    """A franka_rt session whose loops are scheduled as asked for."""
    from franka_rt import RealtimeConfig, Robot, VersionPolicy

    os.environ["FRANKA_RT_PRIORITY"] = str(run.schedule.priority)
    return Robot(run.host, RealtimeConfig.IGNORE, VersionPolicy.exact(run.version), run.port)
