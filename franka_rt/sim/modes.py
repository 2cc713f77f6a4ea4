"""The robot's modes as tables: which event leads where, how a motion ends, which command is possible when.

Source: FCI protocol, 7.7 and 19.1; what the vendor leaves open is marked.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType

from franka_rt.dialect import CommandName, RobotMode, Status
from franka_rt.sim.settings import SETTER_COMMANDS

__all__ = ["MODEL_COMMANDS", "MOTION_END", "TRANSITIONS", "Event", "admission"]


class Event(Enum):
    """What changes the mode."""

    MOVE = "a Move is accepted"
    FINISHED = "finished flag, and the arm is at rest"
    STOPPED = "StopMove, and the arm is at rest"
    INPUT_ERROR = "a command is not a number"
    SAFETY = "a safety function becomes active"
    SESSION_LOST = "the client is gone"
    REFLEX = "a limit, a discontinuity, a collision, or 20 commands lost in a row"
    USER_STOP = "the user stop is pressed"
    RELEASE = "user stop or guiding button are released"
    GUIDE = "the guiding button is pressed"
    RECOVER = "AutomaticErrorRecovery is accepted"
    RECOVERED = "recovery is complete"


TRANSITIONS = MappingProxyType(
    {
        (RobotMode.IDLE, Event.MOVE): RobotMode.MOVE,
        (RobotMode.IDLE, Event.GUIDE): RobotMode.GUIDING,
        (RobotMode.IDLE, Event.USER_STOP): RobotMode.USER_STOPPED,
        (RobotMode.MOVE, Event.FINISHED): RobotMode.IDLE,
        (RobotMode.MOVE, Event.STOPPED): RobotMode.IDLE,
        (RobotMode.MOVE, Event.INPUT_ERROR): RobotMode.IDLE,
        (RobotMode.MOVE, Event.SAFETY): RobotMode.IDLE,
        (RobotMode.MOVE, Event.SESSION_LOST): RobotMode.IDLE,
        (RobotMode.MOVE, Event.REFLEX): RobotMode.REFLEX,
        (RobotMode.MOVE, Event.GUIDE): RobotMode.GUIDING,
        (RobotMode.MOVE, Event.USER_STOP): RobotMode.USER_STOPPED,
        (RobotMode.REFLEX, Event.RECOVER): RobotMode.AUTOMATIC_ERROR_RECOVERY,
        (RobotMode.REFLEX, Event.USER_STOP): RobotMode.USER_STOPPED,
        (RobotMode.AUTOMATIC_ERROR_RECOVERY, Event.RECOVERED): RobotMode.IDLE,
        (RobotMode.AUTOMATIC_ERROR_RECOVERY, Event.USER_STOP): RobotMode.USER_STOPPED,
        (RobotMode.GUIDING, Event.RELEASE): RobotMode.IDLE,
        (RobotMode.GUIDING, Event.USER_STOP): RobotMode.USER_STOPPED,
        (RobotMode.USER_STOPPED, Event.RELEASE): RobotMode.IDLE,
    }
)
"""(mode, event) -> mode; an event that a mode does not list changes nothing."""

MOTION_END = MappingProxyType(
    {
        Event.FINISHED: Status.SUCCESS,
        Event.STOPPED: Status.PREEMPTED,
        Event.INPUT_ERROR: Status.INPUT_ERROR_ABORTED,
        Event.SAFETY: Status.PREEMPTED_DUE_TO_SAFETY,
        Event.SESSION_LOST: Status.ABORTED,
        Event.REFLEX: Status.REFLEX_ABORTED,
        Event.GUIDE: Status.ABORTED,
        Event.USER_STOP: Status.EMERGENCY_ABORTED,
    }
)
"""The second answer to Move."""

MODEL_COMMANDS = frozenset(
    {CommandName.GET_ROBOT_MODEL, CommandName.LOAD_MODEL_LIBRARY, CommandName.GET_CARTESIAN_LIMIT}
)
"""Commands that only ask."""

_MODES = {
    **dict.fromkeys(MODEL_COMMANDS | {CommandName.STOP_MOVE}, frozenset(RobotMode)),
    **dict.fromkeys(SETTER_COMMANDS | {CommandName.MOVE}, frozenset({RobotMode.IDLE})),
    CommandName.AUTOMATIC_ERROR_RECOVERY: frozenset({RobotMode.IDLE, RobotMode.REFLEX}),
}


def admission(command: CommandName, mode: RobotMode) -> bool:
    """Whether a command is possible in a mode; if not, it is answered CommandNotPossibleRejected.

    Setters need an idle robot (own choice where the vendor says nothing: none of them works while it moves).
    """
    return mode in _MODES[command]
