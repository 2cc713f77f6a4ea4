"""The callback loop: one motion from start to end, calling the user once per state (FCI protocol 7.5).

::

    start; state = next                                      first callback: dt = 0
    repeat: outputs = callbacks(state, dt); stop if one of them is finished; send; state = next; dt = state's step
    finish with the last commands, until the robot confirms

Which callback comes first, and that a finished one skips the other, is data of the version. The skipped one's part of
the last command is that of the cycle before. If there was none, torques are zero as in libfranka; a motion command
holds the present position, where libfranka would send zeros as a position.
"""

from __future__ import annotations

import contextlib
import reprlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from franka_rt.commands import CartesianPose, CartesianVelocities, Command, JointPositions, JointVelocities, Torques
from franka_rt.conditioning import Conditioner
from franka_rt.dialect import ControllerMode, GeneratorMode
from franka_rt.errors import ControlException, InvalidArgumentException
from franka_rt.garbage import no_collection
from franka_rt.loop_statistics import LoopStatistics
from franka_rt.motion import MotionControl
from franka_rt.state import RobotState

__all__ = ["Callback", "ControlLoop", "Stage", "coerce", "explained"]

Callback = Callable[[RobotState, float], Any]
_COMMUNICATION = "communication_constraints_violation"


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__name__


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


class Stage:
    """A callback, what its output becomes, and the last command it led to."""

    def __init__(self, kind: type[Command], callback: Callback, conditioner: Conditioner) -> None:
        self.kind = kind
        self._callback = callback
        self._condition = conditioner.prepare(kind)
        self._source = f"the callback {_name(callback)}"
        self._first = True
        self.command: Any = None

    def __call__(self, state: RobotState, dt: float) -> bool:
        """Call the callback; whether it ends the motion."""
        output = self._callback(state, dt)
        if type(output) is not self.kind:
            output = coerce(self.kind, output, self._source)
        self.command = self._condition(output, state, self._first)
        self._first = False
        return output.motion_finished

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


@contextlib.contextmanager
def explained(statistics: LoopStatistics) -> Iterator[None]:
    """Give a ControlException that leaves a loop the loop's statistics, and advice where they explain it."""
    try:
        yield
    except ControlException as error:
        if len(error.log) > 1:  # the step to the state that ended the motion
            statistics.step(error.log[-1].state.message_id - error.log[-2].state.message_id)
        if _COMMUNICATION in error.reasons:
            error.hint = statistics.advice()
        error.statistics = statistics
        raise


class ControlLoop:
    """One motion driven by callbacks.

    Args:
        motion: runs the protocol.
        generator, controller: modes of the motion.
        motion_stage, torque_stage: what commands come from; a missing one is None.
        scheduled: how the thread is scheduled meanwhile.
    """

    def __init__(
        self,
        motion: MotionControl,
        generator: GeneratorMode,
        controller: ControllerMode,
        motion_stage: Stage | None,
        torque_stage: Stage | None,
        scheduled: AbstractContextManager[None] | None = None,
    ) -> None:
        self._motion = motion
        self._modes = generator, controller
        self._motion_stage, self._torque_stage = motion_stage, torque_stage
        both = (torque_stage, motion_stage) if motion.session.dialect.torque_first else (motion_stage, torque_stage)
        self._stages = [stage for stage in both if stage is not None]
        self._scheduled = scheduled or contextlib.nullcontext()
        self.statistics = LoopStatistics()

    def run(self) -> None:
        """Run the motion to its end; on any exception it is cancelled and the exception goes on."""
        with explained(self.statistics), self._scheduled, no_collection():
            self._motion.start(*self._modes)
            with self._motion.cancel_on_error():
                self._motion.finish(*self._last_commands(self._spin(self._motion.update())))

    def _spin(self, state: RobotState) -> RobotState:
        """Cycles until a callback ends the motion; the state that it saw."""
        motion, statistics, clock, dt = self._motion, self.statistics, time.perf_counter_ns, 0.0
        while True:
            start = clock()
            if self._call(state, dt):
                return state
            sent = motion.write(*self._commands())
            statistics.add(clock() - start)
            before, state = state.message_id, motion.read(sent)
            elapsed = state.message_id - before
            statistics.step(elapsed)
            dt = elapsed / 1000.0

    def _call(self, state: RobotState, dt: float) -> bool:
        for stage in self._stages:  # noqa: SIM110 - this runs every millisecond
            if stage(state, dt):
                return True
        return False

    def _commands(self) -> tuple[Any, Any]:
        motion, torque = self._motion_stage, self._torque_stage
        return None if motion is None else motion.command, None if torque is None else torque.command

    def _last_commands(self, state: RobotState) -> tuple[Any, Any]:
        motion, torque = self._motion_stage, self._torque_stage
        return None if motion is None else motion.last(state), None if torque is None else torque.last(state)
