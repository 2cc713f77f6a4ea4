"""One motion of the demonstration: the law runs in a loop, and beside it its target moves and the arm is pushed."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from franka_rt.demo.law import target
from franka_rt.dialect import RobotMode
from franka_rt.kernel_law import KernelLaw
from franka_rt.loop_statistics import LoopStatistics
from franka_rt.robot import Robot
from franka_rt.state import RobotState

if TYPE_CHECKING:
    from franka_rt.sim import SimulatedRobot

__all__ = ["PUSH", "Course", "drive"]

PUSH = np.array([0.0, 0.0, -15.0, 0.0, 0.0, 0.0])  # N, N m
_AWAY = np.array([0.0, 0.08, 0.0])  # m, how far the target goes and comes back
_PUSHED = (0.45, 0.7)  # of the motion
_EVERY = 10e-3  # s between two looks at the arm


@dataclass
class Course:
    """What was seen, about a hundred times a second, while a loop ran.

    Attributes:
        robot: "FER" or "FR3".
        loop: "Python" or "compiled".
        statistics: what the loop measured of itself.
        lost: commands that the robot missed.
        pushed: (beginning, end) of the push, s.
    """

    robot: str
    loop: str
    statistics: LoopStatistics = field(default_factory=LoopStatistics)
    lost: int = 0
    pushed: tuple[float, float] = (np.nan, np.nan)
    _rows: list[tuple[float, np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    def note(self, seconds: float, wanted: np.ndarray, state: RobotState) -> None:
        """Add a row."""
        self._rows.append((seconds, wanted, state.O_T_EE[:3, 3].copy(), state.tau_J_d.copy()))

    @property
    def time(self) -> np.ndarray:
        """(n,) s on the robot's clock since the motion began."""
        return np.array([row[0] for row in self._rows])

    @property
    def target(self) -> np.ndarray:
        """(n,3) where the end effector was to be, m."""
        return np.array([row[1] for row in self._rows])

    @property
    def position(self) -> np.ndarray:
        """(n,3) where it was, m."""
        return np.array([row[2] for row in self._rows])

    @property
    def torques(self) -> np.ndarray:
        """(n,7) commanded, N m."""
        return np.array([row[3] for row in self._rows])

    def summary(self) -> str:
        """One line."""
        s = self.statistics
        return (
            f"{s.cycles} cycles, state to command p50 {1e6 * s.quantile(0.5):.0f} us, "
            f"p99 {1e6 * s.quantile(0.99):.0f} us; states missed {s.skipped}, commands lost {self.lost}; pushed "
            f"{1e3 * self.displacement:.0f} mm away, back to {1e3 * self.rest:.1f} mm"
        )

    @property
    def displacement(self) -> float:
        """Largest distance from the target, m."""
        return float(np.linalg.norm(self.position - self.target, axis=1).max())

    @property
    def rest(self) -> float:
        """Distance from the target at the end, m."""
        return float(np.linalg.norm(self.position[-1] - self.target[-1]))


def drive(sim: SimulatedRobot, robot: Robot, law: KernelLaw, seconds: float, compiled: bool) -> Course:
    """Run the law for so long: its target goes sideways and back, and meanwhile the arm is pushed down.

    Torques are limited in their rate, because a target that comes late is a step.
    """
    course = Course(robot.dialect.robot.upper(), "compiled" if compiled else "Python")
    start, lost = robot.read_once(), sim.statistics()["lost"]
    law.set(target=target(start, 0.0 * _AWAY))
    over = threading.Event()
    beside = threading.Thread(target=_guide, args=(sim, robot, law, seconds, course, start, over), daemon=True)
    beside.start()
    try:
        robot.control_torques(law, limit_rate=True, compiled=compiled)
    finally:
        over.set()
        beside.join()
    course.statistics = robot.loop_statistics or course.statistics
    course.lost = sim.statistics()["lost"] - lost
    return course


def _guide(
    sim: SimulatedRobot,
    robot: Robot,
    law: KernelLaw,
    seconds: float,
    course: Course,
    start: RobotState,
    over: threading.Event,
) -> None:
    """The thread beside the loop: it only looks at the latest state, and hands targets over."""
    begin, elapsed = None, 0.0
    while elapsed < seconds and not over.wait(_EVERY):
        state = robot.latest_state()
        if begin is None and state.robot_mode is not RobotMode.MOVE:
            continue  # the motion has not begun yet
        begin = state.time if begin is None else begin
        elapsed = state.time - begin
        share = np.sin(np.pi * np.clip(elapsed / (0.9 * seconds), 0.0, 1.0)) ** 2
        law.set(target=target(start, share * _AWAY))
        course.note(elapsed, start.O_T_EE[:3, 3] + share * _AWAY, state)
        if np.isnan(course.pushed[0]) and elapsed > _PUSHED[0] * seconds:
            course.pushed = (elapsed, elapsed + (_PUSHED[1] - _PUSHED[0]) * seconds)
            sim.push(PUSH, course.pushed[1] - elapsed)
    if not over.is_set():
        law.finish()
