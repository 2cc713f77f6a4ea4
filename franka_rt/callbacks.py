"""The callbacks of a loop: what they return becomes a command, filtered and limited.

Which callback comes first, and that a finished one skips the other, is data of the version. The skipped one's part of
the last command is that of the cycle before. If there was none, torques are zero as in libfranka; a motion command
holds the present position, where libfranka would send zeros as a position.
"""

from __future__ import annotations

import contextlib
import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np

from franka_rt.commands import CartesianPose, CartesianVelocities, Command, JointPositions, JointVelocities, Torques
from franka_rt.conditioning import Conditioner
from franka_rt.errors import InvalidArgumentException
from franka_rt.motion import MotionControl
from franka_rt.state import RobotState

__all__ = ["Callback", "Callbacks", "Source", "Stage", "coerce"]

Callback = Callable[[RobotState, float], Any]


def coerce(kind: type[Command], output: Any, source: str) -> Any:
    """A command of this kind from what a callback returned: such a command, or an array of its numbers.

    InvalidArgumentException in one line that names the source.
    """
    if isinstance(output, kind):
        return output
    if output is None or isinstance(output, Command):
        what = "None" if output is None else type(output).__name__
        raise InvalidArgumentException(f"franka_rt: {source} has to return {kind.__name__}, not {what}.")
    try:
        return kind(output)
    except (TypeError, ValueError) as error:
        text = getattr(error, "text", f"franka_rt: {kind.name} has to be {kind.size} numbers.")
        needed = "" if text.startswith("franka_rt") else f" ({kind.size} numbers are needed)"
        raise InvalidArgumentException(f"{text} Returned {_describe(output)} by {source}{needed}.") from None


def _describe(output: Any) -> str:
    shape = getattr(output, "shape", None)
    if shape is None:
        with contextlib.suppress(ValueError):
            shape = np.shape(output)
    return f"of shape {shape}" if shape else reprlib.repr(output)


class Source:
    """A callback whose outputs are commands of one kind."""

    def __init__(self, kind: type[Command], callback: Callback) -> None:
        self._kind, self._callback = kind, callback
        self._name = f"the callback {getattr(callback, '__qualname__', None) or type(callback).__name__}"
        self._rehearse = getattr(callback, "rehearse", None)

    def __call__(self, state: RobotState, dt: float) -> Any:
        """Its command for the state."""
        output = self._callback(state, dt)
        return output if type(output) is self._kind else coerce(self._kind, output, self._name)

    def rehearse(self, state: RobotState) -> None:
        """The same without effect, as far as that can be: a callback of which we know nothing is not called."""
        if self._rehearse is not None:
            self._rehearse(state)


class Stage:
    """A callback, what its output becomes, and the last command it led to."""

    def __init__(self, kind: type[Command], callback: Callback, conditioner: Conditioner) -> None:
        self.kind = kind
        self._source = Source(kind, callback)
        self._condition = conditioner.prepare(kind)
        self._first = True
        self.command: Any = None

    def __call__(self, state: RobotState, dt: float) -> bool:
        """Call the callback; whether it ends the motion."""
        output = self._source(state, dt)
        self.command = self._condition(output, state, self._first)
        self._first = False
        return output.motion_finished

    def rehearse(self, state: RobotState) -> None:
        """The same without effect."""
        self._source.rehearse(state)
        self._condition(self.command, state, False)

    def last(self, state: RobotState) -> Any:
        """The last command; before the first one what changes nothing."""
        return self.command or _HOLD[self.kind](state)


_HOLD: dict[type[Command], Callable[[RobotState], Command]] = {
    Torques: lambda state: Torques(np.zeros(7)),
    JointPositions: lambda state: JointPositions(state.q_d),
    JointVelocities: lambda state: JointVelocities(np.zeros(7)),
    CartesianPose: lambda state: CartesianPose(state.O_T_EE_c),
    CartesianVelocities: lambda state: CartesianVelocities(np.zeros(6)),
}


class Callbacks:
    """One cycle of a loop with a motion callback, a torque callback, or both; a missing one is None."""

    def __init__(self, motion: MotionControl, motion_stage: Stage | None, torque_stage: Stage | None) -> None:
        self._motion = motion
        self._motion_stage, self._torque_stage = motion_stage, torque_stage
        both = (torque_stage, motion_stage) if motion.session.dialect.torque_first else (motion_stage, torque_stage)
        self._stages = [stage for stage in both if stage is not None]

    def call(self, state: RobotState, dt: float) -> bool:
        """See :class:`franka_rt.control_loop.Cycle`."""
        for stage in self._stages:  # noqa: SIM110 - this runs every millisecond
            if stage(state, dt):
                return True
        return False

    def write(self) -> bytes:
        """See :class:`franka_rt.control_loop.Cycle`."""
        return self._motion.write(*self._commands())

    def rehearse(self, state: RobotState) -> bytes:
        """See :class:`franka_rt.control_loop.Cycle`."""
        for stage in self._stages:
            stage.rehearse(state)
        return self._motion.rehearse(*self._commands())

    def _commands(self) -> tuple[Any, Any]:
        motion, torque = self._motion_stage, self._torque_stage
        return None if motion is None else motion.command, None if torque is None else torque.command

    def last(self, state: RobotState) -> tuple[Any, Any]:
        """See :class:`franka_rt.control_loop.Cycle`."""
        motion, torque = self._motion_stage, self._torque_stage
        return None if motion is None else motion.last(state), None if torque is None else torque.last(state)
