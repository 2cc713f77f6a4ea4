"""Asynchronous joint position motions of version 10: targets instead of a trajectory (FCI protocol, section 8).

The robot interpolates between targets, so none is lost when this program pauses; only a state has to be looked at now
and then, to learn what became of the motion.
"""

from __future__ import annotations

import threading
import time
from enum import Enum
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from franka_rt import checks
from franka_rt.active_control import ActiveControl
from franka_rt.commands import JointPositions
from franka_rt.dialect import RobotMode
from franka_rt.errors import FrankaException, InvalidOperationException
from franka_rt.state import RobotState

__all__ = ["AsynchronousMotion", "TargetStatus"]

_PAUSE = 1e-3  # s between two looks of wait(), in which other threads may set targets
_SLOW = 0.01  # rad/s; norm of the desired velocity that counts as standing
_RUNNING = (RobotMode.MOVE, RobotMode.IDLE)


class TargetStatus(Enum):
    """What became of the last target."""

    IDLE = "no target yet, or the motion has ended regularly"
    EXECUTING = "on the way"
    REACHED = "there, standing"
    ABORTED = "the motion ended in an error"


class AsynchronousMotion:
    """Made by ``robot.start_asynchronous_motion()``; the robot is busy with it until :meth:`stop`. For any thread.

    An error of the motion is raised once, with its original data, by the next call that talks to the robot;
    :attr:`running` is False from then on.
    """

    def __init__(self, control: ActiveControl, goal_tolerance: float) -> None:
        self._control = control
        self.goal_tolerance = goal_tolerance
        self.target: np.ndarray | None = None
        self._failed = False
        self._lock = threading.RLock()

    @property
    def running(self) -> bool:
        """The motion takes targets."""
        return not self._control.finished

    def set_target(self, q: ArrayLike) -> RobotState:
        """Send the robot to q (7,) rad, now; the newest state."""
        command = JointPositions(checks.vector("target", q, 7))
        with self._lock:
            state = self._look()
            self._guarded(self._control.write_once, command)
            self.target = command.values.copy()
        return state

    def status(self) -> TargetStatus:
        """Look at the newest state and say what became of the target."""
        with self._lock:
            if self._failed:
                return TargetStatus.ABORTED
            return self._judge(self._look()) if self.running else TargetStatus.IDLE

    def remaining(self, state: RobotState) -> np.ndarray:
        """(7,) rad from q_d to the target; zero without one."""
        return np.zeros(7) if self.target is None else self.target - state.q_d

    def _judge(self, state: RobotState) -> TargetStatus:
        if state.robot_mode in (RobotMode.REFLEX, RobotMode.USER_STOPPED):
            return TargetStatus.ABORTED
        if self.target is None or state.robot_mode not in _RUNNING:
            return TargetStatus.IDLE
        near = float(np.linalg.norm(self.remaining(state))) < self.goal_tolerance
        standing = float(np.linalg.norm(state.dq_d)) < _SLOW
        return TargetStatus.REACHED if near and standing else TargetStatus.EXECUTING

    def wait(self, timeout: float) -> bool:
        """Whether the target was reached within so many seconds; :meth:`remaining` tells what is left."""
        deadline = time.monotonic() + timeout
        while self.status() is not TargetStatus.REACHED:
            if not self.running or time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE)
        return True

    def stop(self) -> None:
        """End the motion regularly where the robot's interpolation stands (libfranka would send it to zero)."""
        with self._lock:
            if self.running:
                state = self._look()
                self._guarded(self._control.write_once, JointPositions(state.q_d).finished())

    def _look(self) -> RobotState:
        if not self.running:
            raise InvalidOperationException("franka_rt: the asynchronous motion has ended.", "Start a new one.")
        return self._guarded(self._control.read_once)[0]

    def _guarded(self, call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except FrankaException:
            self._failed = True
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is None:
            self.stop()
        self._control.__exit__(kind, error, tb)

    def __repr__(self) -> str:
        target = "no target" if self.target is None else np.array2string(self.target, precision=4)
        return f"<AsynchronousMotion, {'running' if self.running else 'ended'}, {target}>"
