"""What the arm does with each request; a table leads from the command to its handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.events import Request
from franka_rt.sim import library
from franka_rt.sim.generators import GENERATORS
from franka_rt.sim.modes import Event, admission

if TYPE_CHECKING:
    from franka_rt.sim.arm import Arm

__all__ = ["handle"]

_SINGULAR = 0.01  # smallest singular value of the Jacobian at which a Cartesian motion may start (own choice)


def handle(arm: Arm, request: Request) -> None:
    """Take a request (any but Connect); the answer goes to the arm's outbox, for Move and StopMove perhaps later."""
    if admission(request.command, arm.mode):
        _HANDLERS.get(request.command, _set)(arm, request)
    else:
        arm.reply(request, Status.COMMAND_NOT_POSSIBLE_REJECTED)


def _set(arm: Arm, request: Request) -> None:
    valid = arm.settings.apply(request.command, request.arguments)
    if valid:
        arm.reconfigure()
    arm.reply(request, Status.SUCCESS if valid else Status.INVALID_ARGUMENT_REJECTED)


def _move(arm: Arm, request: Request) -> None:
    arguments = request.arguments
    numbers = {number: mode for mode, number in arm.dialect.move_generators.items()}
    mode = numbers.get(int(arguments["motion_generator_mode"]))
    controller = int(arguments["controller_mode"])
    asynchronous = arm.dialect.async_motions and bool(arguments["use_async_motion_generator"])
    if mode is None or not _valid_move(arguments, mode, controller, asynchronous):
        arm.reply(request, Status.INVALID_ARGUMENT_REJECTED)
    elif GENERATORS[mode].cartesian and np.linalg.svd(arm.setpoint.jacobian, compute_uv=False)[-1] < _SINGULAR:
        arm.reply(request, Status.START_AT_SINGULAR_POSE_REJECTED)
    else:
        velocity = np.array(arguments["maximum_velocity"]) if asynchronous else None
        arm.start(request, mode, ControllerMode(controller), velocity)


def _valid_move(arguments: Any, mode: GeneratorMode, controller: int, asynchronous: bool) -> bool:
    external = controller == ControllerMode.EXTERNAL_CONTROLLER
    if controller >= ControllerMode.OTHER or (mode is GeneratorMode.NONE and not external):
        return False
    if asynchronous and (mode is not GeneratorMode.JOINT_POSITION or external or not _positive(arguments)):
        return False
    deviations = (arguments["maximum_path_deviation"], arguments["maximum_goal_pose_deviation"])
    values = np.array([float(d[part]) for d in deviations for part in ("translation", "rotation", "elbow")])
    return bool(np.isfinite(values).all() and (values >= 0).all())


def _positive(arguments: Any) -> bool:
    velocity = arguments["maximum_velocity"]
    return bool(np.isfinite(velocity).all() and (velocity > 0).all())


def _stop(arm: Arm, request: Request) -> None:
    if arm.motion is None:
        arm.reply(request, Status.SUCCESS)
    else:
        arm.stop(request)


def _recover(arm: Arm, request: Request) -> None:
    if arm.mode is not RobotMode.REFLEX:
        arm.reply(request, Status.SUCCESS)
    elif arm.monitor.outside(arm.plant.q):
        arm.reply(request, Status.MANUAL_ERROR_RECOVERY_REQUIRED_REJECTED)
    else:
        arm.happen(Event.RECOVER)
        arm.recover(request)


def _virtual_wall(arm: Arm, request: Request) -> None:
    frame = np.eye(4).ravel()
    arm.reply(request, Status.SUCCESS, object_world_size=np.zeros(3), object_frame=frame, object_activation=0)


def _robot_model(arm: Arm, request: Request) -> None:
    arm.reply(request, Status.SUCCESS, arm.model.description().encode())


def _model_library(arm: Arm, request: Request) -> None:
    """Built in the background, because the stream of states must not pause."""
    arm.background.start(request, lambda: library.model_library(arm.model, request.arguments))


_HANDLERS = {
    CommandName.MOVE: _move,
    CommandName.STOP_MOVE: _stop,
    CommandName.AUTOMATIC_ERROR_RECOVERY: _recover,
    CommandName.GET_CARTESIAN_LIMIT: _virtual_wall,
    CommandName.GET_ROBOT_MODEL: _robot_model,
    CommandName.LOAD_MODEL_LIBRARY: _model_library,
}
"""Everything else is a setter."""
