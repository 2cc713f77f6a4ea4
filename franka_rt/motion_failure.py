"""The exception of a motion that ended badly: libfranka's text, reasons, success rate and log (FCI protocol 7.7)."""

from __future__ import annotations

from franka_rt.answers import failure_text
from franka_rt.dialect import CommandName, Status
from franka_rt.errors import ControlException
from franka_rt.log import LogRecorder
from franka_rt.state import RobotState

__all__ = ["motion_failure"]

_STILL_MOVING = "Motion finished commanded, but the robot is still moving!"
_COMMUNICATION = (
    "The robot missed 20 commands in a row. Check: an own network card without switches in between, power saving off, "
    "a realtime kernel, realtime priority for the loop, and that the callback returns within 300 us."
)


def motion_failure(
    log: LogRecorder, status: Status, newest: RobotState, ended: bool = True, finishing: bool = False
) -> ControlException:
    """What to raise for a failing answer to Move.

    Args:
        log: the motion's records; they go into the exception if the motion ``ended``.
        status: the answer.
        newest: the last state, whose mode explains a refusal.
        ended: a state showed the end of a motion that had been shown: then reasons, log and, for a reflex, errors and
            success rate belong to it.
        finishing: the finished flag had been sent.
    """
    text, hint = failure_text(CommandName.MOVE, status, newest.robot_mode)
    if not ended:
        return ControlException(text, hint, status=status)
    reasons = tuple(newest.last_motion_errors)
    if status is Status.REFLEX_ABORTED:
        text = _STILL_MOVING if finishing else text
        text += f" {newest.last_motion_errors}{_success_text(log)}"
    if "communication_constraints_violation" in reasons:
        hint = _COMMUNICATION
    return ControlException(text, hint, log=log.flush(), reasons=reasons, status=status)


def _success_text(log: LogRecorder) -> str:
    last = log.last_rate_and_loss()
    if last is None:
        return ""
    rate, lost = last
    loss = f" packets lost in a row in the last sample: {lost}" if lost > 0 else ""
    return f"\ncontrol_command_success_rate: {rate:g}{loss}"
