"""Who may read or move, and motions by hand: start, update, finish, cancel one command at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from numpy.typing import ArrayLike

from franka_rt.commands import MotionCommand, Torques
from franka_rt.dialect import ControllerMode, GeneratorMode
from franka_rt.errors import InvalidOperationException
from franka_rt.motion import MotionControl
from franka_rt.state import RobotState

__all__ = ["ManualMotions"]

_BUSY = "libfranka robot: Cannot perform this operation while another control or read operation is running."


class ManualMotions:
    """The part of :class:`franka_rt.Robot` that owns the right to read and to move."""

    _motion: MotionControl

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._owner = 0  # thread that holds it
        self._by_hand = False  # held for a motion of start_motion()

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        self._acquire()
        try:
            yield
        finally:
            self._busy.release()

    def _acquire(self) -> None:
        if not self._busy.acquire(blocking=False):
            raise InvalidOperationException(_BUSY, "latest_state() gives a snapshot at any time, from any thread.")
        self._owner = threading.get_ident()

    def start_motion(
        self,
        generator: GeneratorMode,
        controller: ControllerMode = ControllerMode.JOINT_IMPEDANCE,
        maximum_velocities: ArrayLike | None = None,
    ) -> RobotState:
        """Start a motion by hand and return the first state that shows it; the session is busy until it ends.

        ``GeneratorMode.NONE`` with ``ControllerMode.EXTERNAL_CONTROLLER`` commands torques only (version 10; version
        5 uses a JOINT_VELOCITY generator that is commanded zero). ``maximum_velocities`` (7,) rad/s makes a joint
        position motion asynchronous (version 10). The commands of :meth:`update_motion` are sent as they are, without
        filter and rate limiter.
        """
        self._acquire()
        try:
            state = self._motion.start(generator, controller, maximum_velocities)
        except BaseException:
            self._busy.release()
            raise
        self._by_hand = True
        return state

    def update_motion(self, motion: MotionCommand | None = None, torques: Torques | None = None) -> RobotState:
        """Send a command for the last state and return the next one. Any exception ends the motion.

        Only a second thread that comes in between does not: it gets InvalidOperationException, and the motion goes on.
        """
        with self._motion_step():
            return self._motion.update(motion, torques)

    def finish_motion(self, motion: MotionCommand | None = None, torques: Torques | None = None) -> None:
        """End the motion regularly, with the last command."""
        with self._motion_step():
            self._motion.finish(motion, torques)
            self._end_by_hand()

    def cancel_motion(self) -> None:
        """Stop the motion that was started here and wait until the robot shows it."""
        with self._motion_step():
            self._motion.cancel()
            self._end_by_hand()

    def _end_by_hand(self) -> None:
        if self._by_hand:
            self._by_hand = False
            self._busy.release()

    @contextlib.contextmanager
    def _motion_step(self) -> Iterator[None]:
        if self._busy.locked() and not self._by_hand:  # a control loop's motion is not to be touched from its callback
            raise InvalidOperationException(_BUSY, "stop() ends the motion of a running loop, from any thread.")
        with self._motion.turn():
            if not self._motion.active:
                raise InvalidOperationException("franka_rt: no motion was started.", "Call start_motion() first.")
            try:
                with self._motion.cancel_on_error():
                    yield
            except BaseException:
                self._end_by_hand()
                raise
