"""Active control: the caller reads states and writes commands at its own pace (FCI protocol, section 8).

Nothing is filtered or limited. A command answers the last state that was read; the robot counts milliseconds without a
command as lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

import numpy as np

from franka_rt.callbacks import coerce
from franka_rt.commands import Command, JointVelocities, MotionCommand, Torques
from franka_rt.dialect import ControllerMode
from franka_rt.errors import ControlException, FrankaException, InvalidArgumentException
from franka_rt.motion import MotionControl
from franka_rt.state import RobotState

__all__ = ["ActiveControl"]

_FINISHED = "writeOnce must not be called after the motion has finished."
_NOTHING_TO_READ = "franka_rt: the motion has finished; there is nothing more to read."
_NO_EXTERNAL = "Torques can only be commanded in kExternalController mode."
_TORQUES_MISSING = (
    "Torque command missing, please use writeOnce(const MotionGeneratorType& motion_generator_input, const Torques& "
    "control_input) for external controllers."
)
_WRONG_KIND = "Wrong writeOnce method called for currently active control!"
_SOURCE = "write_once()"


class ActiveControl:
    """A running motion; made by ``robot.start_*_control()``. The robot is busy with it until it ends.

    For the thread that started it: that one is scheduled as ``robot.scheduling`` says until the motion ends.

    Leaving the ``with`` block, or :meth:`cancel`, stops a motion that was not finished.

    Attributes:
        motion: kind of the motion commands, None for torques alone.
        external: whether torques are commanded.
        finished: the motion has ended.
    """

    def __init__(
        self,
        control: MotionControl,
        motion: type[MotionCommand] | None,
        controller: ControllerMode,
        release: Callable[[], None],
    ) -> None:
        self.finished = True  # until all is set up: nothing to cancel
        self._control = control
        self.motion = motion
        self.external = controller == ControllerMode.EXTERNAL_CONTROLLER
        self._still = None
        if motion is None and control.session.dialect.torque_generator is JointVelocities.generator:
            self._still = JointVelocities(np.zeros(7))
        self._release = release
        self._last_id: int | None = None
        self._sent = b""
        self.finished = False

    def read_once(self) -> tuple[RobotState, float]:
        """The next state and the seconds since the one before (0.0 the first time).

        ControlException when the robot ended the motion, NetworkException when the connection broke; the robot is free
        for the next motion then. InvalidOperationException while another thread is inside: the motion goes on.
        """
        with self._turn(_NOTHING_TO_READ):
            state = self._control.read(self._sent)
            self._sent = b""
            elapsed = 0 if self._last_id is None else state.message_id - self._last_id
            self._last_id = state.message_id
        return state, elapsed / 1000.0

    def write_once(self, command: Any, torques: Any = None) -> None:
        """Send a command, and torques too with an external controller, for the last state that was read.

        A command marked as finished ends the motion: this waits until the robot has confirmed it.

        Raises InvalidArgumentException for values that must not be sent and ControlException for commands of the wrong
        kind (nothing is sent, the motion goes on), ControlException when the robot ended the motion.
        """
        if self.finished:
            raise ControlException(_FINISHED)
        motion, torque = self._parts(command, torques)
        for part in (motion, torque):
            if part is not None:
                part.validate()
        with self._turn(_FINISHED):
            if any(part is not None and part.motion_finished for part in (motion, torque)):
                self._control.finish(motion, torque)
                self._end()
            else:
                self._sent = self._control.write(motion, torque)

    def _parts(self, command: Any, torques: Any) -> tuple[MotionCommand | None, Torques | None]:
        """Motion and torque command of a write, or what is wrong with it."""
        if self.motion is None:
            if torques is not None or (isinstance(command, Command) and not isinstance(command, Torques)):
                raise ControlException(_WRONG_KIND)
            return self._still, coerce(Torques, command, _SOURCE)
        if isinstance(command, Command) and not isinstance(command, self.motion):
            raise ControlException(_WRONG_KIND)
        if torques is None and self.external:
            raise ControlException(_TORQUES_MISSING)
        if torques is not None and not self.external:
            raise ControlException(_NO_EXTERNAL)
        motion = coerce(self.motion, command, _SOURCE)
        return motion, None if torques is None else coerce(Torques, torques, _SOURCE)

    def cancel(self) -> None:
        """Stop the motion now, if it is not finished, and wait until the robot shows it."""
        if not self.finished:
            with self._control.turn():
                self._cancel(None)

    def _cancel(self, error: BaseException | None) -> None:
        if self.finished:
            return
        try:
            self._control.cancel(error)
        finally:
            self._end()

    @contextlib.contextmanager
    def _turn(self, too_late: str) -> Iterator[None]:
        """For one thread at a time; what goes wrong inside ends the motion, except values that were not sent."""
        with self._control.turn():
            if self.finished:
                raise ControlException(too_late)
            try:
                yield
            except BaseException as error:
                if not isinstance(error, InvalidArgumentException):
                    with contextlib.suppress(FrankaException):
                        self._cancel(error)
                raise

    def _end(self) -> None:
        self.finished = True
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is None:
            self.cancel()
        else:
            with contextlib.suppress(FrankaException):
                self.cancel()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # for example while the interpreter ends
            self.cancel()

    def __repr__(self) -> str:
        kind = "Torques" if self.motion is None else self.motion.__name__
        torques = " and Torques" if self.motion is not None and self.external else ""
        return f"<ActiveControl of {kind}{torques}, {'finished' if self.finished else 'running'}>"
