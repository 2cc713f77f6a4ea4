"""The simulated Franka Hand without sockets: requests in; answers and states out, as in ``arm.py``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from franka_rt.dialect import CommandName, Status
from franka_rt.events import CommandDatagram, Request
from franka_rt.gripper_dialect import GRIPPER
from franka_rt.gripper_state import GripperState
from franka_rt.sim.parameters import DT
from franka_rt.sim.reply import Reply

__all__ = ["Gripper"]

MAX_WIDTH = 0.08
"""Opening of the hand, m."""

_HOMING_SPEED = 0.1  # m/s
_PERIOD = 10  # ticks between two states (own choice; the vendor does not tell its rate)


class _Action:
    """A movement of the fingers: waypoints (m), speed, and what decides about success."""

    def __init__(self, request: Request, waypoints: list[float], speed: float, accept: tuple[float, float]) -> None:
        self.request, self.waypoints, self.speed, self.accept = request, waypoints, speed, accept


class Gripper:
    """A hand with an object between its fingers, or without (``object_width`` m, 0 for none)."""

    dialect = GRIPPER

    def __init__(self, first_id: int = 1000) -> None:
        self.state = GripperState(first_id, MAX_WIDTH, MAX_WIDTH, False, 30)
        self.object_width = 0.0
        self.outbox: list[Reply] = []
        self._action: _Action | None = None

    def handle(self, request: Request) -> None:
        """Take a request; a new movement or Stop aborts the one that runs."""
        self._finish(Status.ABORTED)
        if request.command is CommandName.STOP:
            self._reply(request, Status.SUCCESS)
            return
        action = _ACTIONS[request.command](request, request.arguments)
        if action is None:
            self._reply(request, Status.FAIL)
            return
        self._action = action
        self.state = replace(self.state, is_grasped=False)

    def receive(self, datagram: CommandDatagram) -> None:
        """A gripper gets no datagrams."""

    def disconnect(self) -> None:
        """The client is gone: the fingers stop."""
        self._action = None
        self.outbox.clear()

    def tick(self) -> bytes | None:
        """Advance by 1 ms; a state every so many milliseconds."""
        self.state = replace(self.state, message_id=self.state.message_id + 1)
        if self._action is not None:
            self._move(self._action)
        return self.state.datagram() if self.state.message_id % _PERIOD == 0 else None

    def _move(self, action: _Action) -> None:
        target = max(action.waypoints[0], self.object_width)
        step, way = action.speed * DT, target - self.state.width
        width = target if abs(way) <= step else self.state.width + math.copysign(step, way)
        self.state = replace(self.state, width=width)
        if width != target:
            return
        action.waypoints.pop(0)
        if not action.waypoints:
            low, high = action.accept
            reached = low <= width <= high
            grasped = action.request.command is CommandName.GRASP and reached
            self.state = replace(self.state, is_grasped=grasped)
            self._finish(Status.SUCCESS if reached else Status.UNSUCCESSFUL)

    def _finish(self, status: Status) -> None:
        if self._action is not None:
            self._reply(self._action.request, status)
            self._action = None

    def _reply(self, request: Request, status: Status) -> None:
        self.outbox.append(Reply(request, status, b"", {}))


def _homing(request: Request, _: Any) -> _Action:
    return _Action(request, [0.0, MAX_WIDTH], _HOMING_SPEED, (MAX_WIDTH, MAX_WIDTH))


def _move(request: Request, arguments: Any) -> _Action | None:
    width, speed = float(arguments["width"]), float(arguments["speed"])
    if not (0.0 <= width <= MAX_WIDTH and speed > 0.0):
        return None
    return _Action(request, [width], speed, (width - 1e-6, width + 1e-6))


def _grasp(request: Request, arguments: Any) -> _Action | None:
    """The fingers close until something stops them; it counts if that is near the width that was asked for."""
    width, speed, force = (float(arguments[name]) for name in ("width", "speed", "force"))
    inner, outer = float(arguments["epsilon"]["inner"]), float(arguments["epsilon"]["outer"])
    if not (0.0 <= width <= MAX_WIDTH and speed > 0.0 and force > 0.0 and inner >= 0.0 and outer >= 0.0):
        return None
    return _Action(request, [0.0], speed, (width - inner, width + outer))


_ACTIONS = {CommandName.HOMING: _homing, CommandName.MOVE: _move, CommandName.GRASP: _grasp}
