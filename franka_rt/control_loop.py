"""The control loop: one motion from start to end, one command per state (FCI protocol 7.5).

::

    start; state = next                                      first cycle: dt = 0
    repeat: outputs = callbacks(state, dt); stop if one of them is finished; send; state = next; dt = state's step
    finish with the last commands, until the robot confirms

What a cycle computes is a :class:`Cycle`: the user's callbacks, or a kernel law in one call.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from franka_rt.anticipation import anticipation
from franka_rt.dialect import ControllerMode, GeneratorMode
from franka_rt.errors import ControlException
from franka_rt.garbage import no_collection
from franka_rt.loop_statistics import LoopStatistics
from franka_rt.motion import MotionControl
from franka_rt.state import RobotState

__all__ = ["ControlLoop", "Cycle", "explained"]

_COMMUNICATION = "communication_constraints_violation"


class Cycle(Protocol):
    """What a loop does with a state."""

    def call(self, state: RobotState, dt: float) -> bool:
        """Compute the command that answers the state; whether it is the last one of the motion."""
        ...

    def write(self) -> bytes:
        """Send that command; the datagram."""
        ...

    def rehearse(self, state: RobotState) -> bytes:
        """Both without effect, as far as that can be; the datagram that would be sent."""
        ...

    def last(self, state: RobotState) -> tuple[Any, Any]:
        """The (motion, torque) commands that end the motion; None for a part that it does not have."""
        ...


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
        cycle: what is done with a state.
        scheduled: how the thread is scheduled meanwhile.
        lead: seconds before a state is due at which the loop stops sleeping (:mod:`franka_rt.anticipation`).
    """

    def __init__(
        self,
        motion: MotionControl,
        generator: GeneratorMode,
        controller: ControllerMode,
        cycle: Cycle,
        scheduled: AbstractContextManager[None] | None = None,
        lead: float = 0.0,
    ) -> None:
        self._motion = motion
        self._modes = generator, controller
        self._cycle = cycle
        self._scheduled = scheduled or contextlib.nullcontext()
        self._lead = lead
        self.statistics = LoopStatistics()

    def run(self) -> None:
        """Run the motion to its end; on any exception it is cancelled and the exception goes on."""
        with explained(self.statistics), self._scheduled, no_collection():
            self._motion.start(*self._modes)
            with self._motion.cancel_on_error():
                first = self._motion.update()
                with self._anticipating():
                    last = self._spin(first)
                self._motion.finish(*self._cycle.last(last))

    @contextlib.contextmanager
    def _anticipating(self) -> Iterator[None]:
        session = self._motion.session
        with anticipation(session.transport, self._lead, self._rehearse) as session.expect:
            try:
                yield
            finally:
                session.expect = None

    def _rehearse(self) -> bytes:
        """One cycle with the last state; the command that would be sent, and nothing else comes of it."""
        return self._cycle.rehearse(self._motion.rehearse_read())

    def _spin(self, state: RobotState) -> RobotState:
        """Cycles until one of them ends the motion; the state that it saw."""
        motion, statistics, clock, dt = self._motion, self.statistics, time.perf_counter_ns, 0.0
        session, call, write = motion.session, self._cycle.call, self._cycle.write
        while True:
            if call(state, dt):
                return state
            sent = write()
            statistics.add(clock() - session.arrived)
            before, state = state.message_id, motion.read(sent)
            elapsed = state.message_id - before
            statistics.step(elapsed)
            dt = elapsed / 1000.0
