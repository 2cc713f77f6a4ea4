"""The motion state machine as a table, for client and server alike.

A *signal* is something both ends see on the wire: a request, an answer, a state datagram of some kind, a command with
the finished flag. The table says which phase follows; a signal that a phase does not list is a protocol violation.
Source: FCI protocol, sections 4 and 7. The diagram in ``docs/motion_state_machine.md`` is generated from the table.
"""

from __future__ import annotations

from enum import Enum

from franka_rt.dialect import ArmDialect, ControllerMode, GeneratorMode, RobotMode
from franka_rt.errors import ControlException, ProtocolException

__all__ = ["TRANSITIONS", "MotionMachine", "Phase", "Signal"]


class Phase(Enum):
    """Phase of a motion."""

    IDLE = "no motion"
    REQUESTED = "Move sent, not answered"
    STARTING = "motion started, modes not shown yet"
    RUNNING = "modes shown, commands flow"
    FINISHING = "finished flag sent"
    ENDED = "state shows the end, Move not answered"
    ANSWERED = "Move answered, state does not show the end"
    CANCELLING = "StopMove sent, not answered"
    SETTLING = "StopMove answered, state does not show the end"


class Signal(Enum):
    """What both ends of a session see of a motion."""

    MOVE = "Move request"
    STARTED = "Move answer: MotionStarted"
    REJECTED = "Move answer: rejected or failed at once"
    TERMINAL = "Move answer: end of the motion"
    STOP = "StopMove request"
    STOPPED = "StopMove answer"
    FINISH = "command with the finished flag"
    SHOWN = "state: requested modes, robot mode move"
    HALTED = "state: requested modes, another robot mode"
    STILL = "state: neither generator nor external controller runs"
    MIXED = "state: other modes"


_STATES = (Signal.SHOWN, Signal.HALTED, Signal.STILL, Signal.MIXED)


def _rows(phase: Phase, stay: tuple[Signal, ...], **moves: Phase) -> dict[tuple[Phase, Signal], Phase]:
    """Rows of one phase: signals that change nothing, and those that lead on."""
    return {(phase, s): phase for s in stay} | {(phase, Signal[name]): target for name, target in moves.items()}


_P, _S = Phase, Signal
TRANSITIONS: dict[tuple[Phase, Signal], Phase] = {
    **_rows(_P.IDLE, (*_STATES, _S.FINISH), MOVE=_P.REQUESTED, STOP=_P.CANCELLING),
    **_rows(_P.REQUESTED, _STATES, STARTED=_P.STARTING, REJECTED=_P.IDLE, STOP=_P.CANCELLING),
    **_rows(
        _P.STARTING,
        (_S.STILL, _S.MIXED),
        SHOWN=_P.RUNNING,
        HALTED=_P.RUNNING,
        TERMINAL=_P.IDLE,
        STOP=_P.CANCELLING,
    ),
    **_rows(
        _P.RUNNING,
        (_S.SHOWN,),
        FINISH=_P.FINISHING,
        HALTED=_P.ENDED,
        STILL=_P.ENDED,
        MIXED=_P.ENDED,
        TERMINAL=_P.ANSWERED,
        STOP=_P.CANCELLING,
    ),
    **_rows(
        _P.FINISHING,
        (_S.FINISH, _S.SHOWN, _S.HALTED, _S.MIXED),
        STILL=_P.ENDED,
        TERMINAL=_P.ANSWERED,
        STOP=_P.CANCELLING,
    ),
    **_rows(_P.ENDED, (*_STATES, _S.FINISH), TERMINAL=_P.IDLE, STOP=_P.CANCELLING),
    **_rows(_P.ANSWERED, (_S.SHOWN, _S.HALTED, _S.MIXED, _S.FINISH), STILL=_P.IDLE, STOP=_P.CANCELLING),
    **_rows(
        _P.CANCELLING,
        (*_STATES, _S.FINISH, _S.STARTED, _S.REJECTED, _S.TERMINAL, _S.STOP),
        STOPPED=_P.SETTLING,
    ),
    **_rows(
        _P.SETTLING,
        (_S.SHOWN, _S.HALTED, _S.MIXED, _S.FINISH, _S.TERMINAL),
        STILL=_P.IDLE,
        STOP=_P.CANCELLING,
    ),
}

_VIOLATIONS = {Signal.STARTED: "libfranka: Move received unexpected motion started message."}
_NO_MOTION = (GeneratorMode.IDLE, ControllerMode.OTHER)


class MotionMachine:
    """Follows one motion after the other through the table.

    Attributes:
        phase: where the present motion stands.
        generator, controller: modes of the present motion in the state's numbering (IDLE and OTHER without one).
    """

    def __init__(self, dialect: ArmDialect) -> None:
        self.dialect = dialect
        self.phase = Phase.IDLE
        self.generator, self.controller = _NO_MOTION
        self._running = (-1, -1, -1)

    def request(self, generator: GeneratorMode, controller: ControllerMode) -> None:
        """A Move request for these modes is sent or received; ControlException if a motion is under way."""
        if self.phase is not Phase.IDLE:
            raise ControlException("libfranka robot: Attempted to start multiple motions!")
        self.generator, self.controller = generator, controller
        self._running = (int(generator), int(controller), int(RobotMode.MOVE))
        self.feed(Signal.MOVE)

    def feed(self, signal: Signal) -> Phase:
        """Take a signal; ProtocolException if the present phase does not allow it."""
        target = TRANSITIONS.get((self.phase, signal))
        if target is None:
            text = _VIOLATIONS.get(signal, "Unexpected reply to a Move command")
            raise ProtocolException(text, f"Seen while: {self.phase.value}. Signal: {signal.value}.")
        self.phase = target
        if target is Phase.IDLE:
            self.reset()
        return target

    def reset(self) -> None:
        """Forget the motion, for an end that the table cannot see (a dead connection)."""
        self.phase = Phase.IDLE
        self.generator, self.controller = _NO_MOTION

    def observe(self, modes: tuple[int, int, int]) -> Phase:
        """Take the (generator, controller, robot mode) of a new state; the cheap case is a running motion."""
        if modes == self._running and self.phase is Phase.RUNNING:
            return self.phase
        return self.feed(self.classify(modes))

    def classify(self, modes: tuple[int, int, int]) -> Signal:
        """Which signal a state with these modes is for the present motion."""
        if self.is_still(modes):
            return Signal.STILL
        if modes[:2] != (self.generator, self.controller):
            return Signal.MIXED
        return Signal.SHOWN if modes[2] == RobotMode.MOVE else Signal.HALTED

    def is_still(self, modes: tuple[int, int, int]) -> bool:
        """Neither a motion generator nor the external controller runs."""
        return modes[0] in self.dialect.still_generators and modes[1] != ControllerMode.EXTERNAL_CONTROLLER

    def check_command(self, motion: bool, torque: bool) -> None:
        """Whether a command with these parts fits the present motion (7.2); ControlException if not."""
        generator_runs = self.generator not in self.dialect.still_generators
        controller_runs = self.controller is ControllerMode.EXTERNAL_CONTROLLER
        if motion and not generator_runs:
            problem = "send motion command, but no motion generator running!"
        elif torque and not controller_runs:
            problem = "send control command, but no controller running!"
        elif generator_runs and controller_runs and motion != torque:
            problem = "send partial robot command!"
        else:
            return
        raise ControlException(f"libfranka robot: Trying to {problem}")
