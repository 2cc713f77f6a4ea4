"""What an answer of the robot means to the user: which exception, with which words (FCI protocol, 17.2, 17.3)."""

from __future__ import annotations

from typing import Any

from franka_rt.dialect import CommandName, RobotMode, Status
from franka_rt.errors import CommandException, ModelException
from franka_rt.layouts import SETTER_REQUESTS

__all__ = ["check_answer", "failure_text"]

# {name} is the command's display name, {mode} the quoted robot mode.
_TEXTS = {
    Status.EMERGENCY_ABORTED: "libfranka: {name} command aborted: User Stop pressed!",
    Status.REFLEX_ABORTED: "libfranka: {name} command aborted: motion aborted by reflex!",
    Status.INPUT_ERROR_ABORTED: "libfranka: {name} command aborted: invalid input provided!",
    Status.ABORTED: "libfranka: {name} command aborted!",
    Status.PREEMPTED: "libfranka: {name} command preempted!",
    Status.PREEMPTED_DUE_TO_SAFETY: (
        "libfranka: {name} command preempted due to activated safety function! Please disable all safety functions."
    ),
    Status.REJECTED_DUE_TO_SAFETY: (
        "libfranka: {name} command rejected due to activated safety function! Please disable all safety functions."
    ),
    Status.COMMAND_NOT_POSSIBLE_REJECTED: (
        "libfranka: {name} command rejected: command not possible in the current mode ({mode})!"
    ),
    Status.START_AT_SINGULAR_POSE_REJECTED: "libfranka: {name} command rejected: cannot start at singular pose!",
    Status.INVALID_ARGUMENT_REJECTED: "libfranka: {name} command rejected: invalid argument!",
    Status.MANUAL_ERROR_RECOVERY_REQUIRED_REJECTED: (
        "libfranka: {name} command rejected: manual error recovery required!"
    ),
    Status.ERROR: "libfranka: Server reports error when loading model library.",
}

# Where libfranka words one command differently.
_OWN_TEXTS = {
    (CommandName.MOVE, Status.INVALID_ARGUMENT_REJECTED): (
        "libfranka: Move command rejected: maximum path deviation out of range!"
    ),
    (CommandName.STOP_MOVE, Status.ABORTED): _TEXTS[Status.COMMAND_NOT_POSSIBLE_REJECTED],
    **{
        (command, Status.REJECTED_DUE_TO_SAFETY): _TEXTS[Status.REJECTED_DUE_TO_SAFETY].replace("{name}", "Move")
        for command in (CommandName.STOP_MOVE, CommandName.AUTOMATIC_ERROR_RECOVERY)
    },
    **{
        (command, Status.REJECTED_DUE_TO_SAFETY): _TEXTS[Status.REJECTED_DUE_TO_SAFETY] + " "
        for command in (*SETTER_REQUESTS, CommandName.GET_CARTESIAN_LIMIT, CommandName.SET_FILTERS)
    },
}

_MODE_TEXTS = {
    RobotMode.OTHER: "Other",
    RobotMode.IDLE: "Idle",
    RobotMode.MOVE: "Move",
    RobotMode.GUIDING: "Guiding",
    RobotMode.REFLEX: "Reflex",
    RobotMode.USER_STOPPED: "User stopped",
    RobotMode.AUTOMATIC_ERROR_RECOVERY: "Automatic error recovery",
}

_WHAT_TO_DO = {
    RobotMode.OTHER: "Open the brakes and activate FCI in Desk, then try again.",
    RobotMode.IDLE: "The robot is idle and refused nevertheless; see its log in Desk.",
    RobotMode.MOVE: "A motion is running; stop it or wait for its end.",
    RobotMode.GUIDING: "Somebody is guiding the arm; release the guiding button.",
    RobotMode.REFLEX: "Call automatic_error_recovery() first.",
    RobotMode.USER_STOPPED: "Release the user stop (external activation device) first.",
    RobotMode.AUTOMATIC_ERROR_RECOVERY: "Wait until the error recovery has ended.",
}

_HINTS = {
    Status.REJECTED_DUE_TO_SAFETY: "A safety rule set in Desk or Watchman is active; FCI moves only without one.",
    Status.PREEMPTED_DUE_TO_SAFETY: "A safety rule set in Desk or Watchman became active and ended the motion.",
    Status.REFLEX_ABORTED: "state.last_motion_errors names the reason; automatic_error_recovery() clears it.",
    Status.EMERGENCY_ABORTED: "Release the user stop (external activation device), then start again.",
    Status.MANUAL_ERROR_RECOVERY_REQUIRED_REJECTED: "Recover in Desk: the arm may have to be moved by hand.",
    Status.START_AT_SINGULAR_POSE_REJECTED: "Move the arm away from the singularity with a joint motion first.",
    Status.INVALID_ARGUMENT_REJECTED: "The robot found a value out of its range; compare with the documented ranges.",
}

_SUCCESSES = (Status.SUCCESS, Status.MOTION_STARTED)


def failure_text(command: CommandName, status: Status, robot_mode: Any = RobotMode.OTHER) -> tuple[str, str]:
    """(libfranka's sentence, what to do) for a failing answer, given the robot mode of the last state."""
    template = _OWN_TEXTS.get((command, status), _TEXTS[status])
    text = template.format(name=command.value, mode=f'"{_MODE_TEXTS.get(robot_mode, "")}"')
    if "{mode}" not in template:
        return text, _HINTS.get(status, "")
    if robot_mode == RobotMode.OTHER:
        text += " Did you open the brakes?"
    return text, _WHAT_TO_DO.get(robot_mode, "")


def check_answer(command: CommandName, status: Status, robot_mode: Any = RobotMode.OTHER) -> None:
    """Raise what a failing answer deserves: CommandException, for the model library ModelException."""
    if status in _SUCCESSES:
        return
    text, hint = failure_text(command, status, robot_mode)
    if command is CommandName.LOAD_MODEL_LIBRARY:
        raise ModelException(text, "The robot serves no model library; use franka_jax's own FER model instead.")
    raise CommandException(text, hint, command=command, status=status, robot_mode=robot_mode)
