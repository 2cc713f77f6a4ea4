"""One motion from its Move request to its end: which command answers which state, what is lost, what is torque."""

from __future__ import annotations

from collections import deque

import numpy as np

from franka_rt.dialect import ControllerMode, GeneratorMode
from franka_rt.events import CommandDatagram, Request
from franka_rt.sim.checks import Checks
from franka_rt.sim.generators import Generator
from franka_rt.sim.modes import Event

__all__ = ["MAX_LOST", "Motion"]

MAX_LOST = 20
"""Commands that may be missing in a row (FCI protocol 6.2)."""

_WINDOW = 100  # commands over which the success rate is taken
_ABSURD = 1e9  # rad, m, Nm and their rates (own choice)
_GRACE = 500  # states that a client may take before its first command (own choice)


class Motion:
    """Bookkeeping of a motion.

    Attributes:
        request: the open Move.
        mode, controller: as the state shows them.
        generator: turns commands into the setpoint.
        first_id: id of the first state that showed the motion, None before; earlier echoes are ignored.
        lost_in_row: commands missing since the last one that came in time.
        finishing: a command with the finished flag was taken.
        braking: the event that ends the motion once the arm is at rest (None while it runs).
    """

    def __init__(
        self,
        request: Request,
        mode: GeneratorMode,
        controller: ControllerMode,
        generator: Generator,
        asynchronous: bool,
    ) -> None:
        self.request, self.mode, self.controller, self.generator = request, mode, controller, generator
        self.first_id: int | None = None
        self.lost_in_row = self.states = 0
        self.braking: Event | None = None
        self._torque_given = False
        self._asynchronous, self._began = asynchronous, False
        self._pending: CommandDatagram | None = None
        self._in_time: deque[bool] = deque(maxlen=_WINDOW)

    @property
    def external(self) -> bool:
        """Torques come from the client."""
        return self.controller is ControllerMode.EXTERNAL_CONTROLLER

    @property
    def holds(self) -> bool:
        """The robot holds the arm itself although the client is to give torques: before the first and at the end."""
        return self.external and (not self._torque_given or self.braking is not None)

    @property
    def success_rate(self) -> float:
        """Share of the last 100 commands that came in time."""
        return sum(self._in_time) / len(self._in_time) if self._in_time else 1.0

    @property
    def awaits_command(self) -> bool:
        """The client has begun to send commands, one a state."""
        return self._began and not self._asynchronous and self.braking is None

    def receive(self, datagram: CommandDatagram) -> None:
        """Take a command datagram; what echoes a state from before the motion, or is out of order, is ignored."""
        if self.first_id is None or datagram.message_id < self.first_id:
            return
        if self._pending is None or datagram.message_id > self._pending.message_id:
            self._pending = datagram

    def answered(self, state_id: int) -> bool:
        """The command that answers this state is there."""
        return self._pending is not None and self._pending.message_id == state_id

    def command(self, state_id: int) -> CommandDatagram | None:
        """The command that answers the state sent last, or None: then it counts as lost once commands have begun."""
        pending, self._pending = self._pending, None
        self.states += 1
        if pending is not None and (pending.message_id == state_id or self._asynchronous):
            self._began, self.lost_in_row = True, 0
            self._in_time.append(True)
            return pending
        self._began = self._began or pending is not None
        if (self._began or self.states > _GRACE) and not self._asynchronous:
            self.lost_in_row += 1
            self._in_time.append(False)
        return None

    def is_sane(self, command: CommandDatagram) -> bool:
        """No number that matters in this motion is infinite, NaN, or so large that its differences overflow."""
        motion = command.record["motion"]
        numbers = [motion[self.generator.part]] if self.generator.part else []
        if motion["valid_elbow"]:
            numbers.append(motion["elbow_c"])
        if self.external:
            numbers.append(command.record["control"]["tau_J_d"])
        return all((np.abs(values) < _ABSURD).all() for values in numbers)  # false for NaN

    def follow(self, command: CommandDatagram | None, checks: Checks) -> list[str]:
        """Let the generator and the torque follow a command; the names of the flags it raises."""
        if command is None:
            return self.generator.miss() if self._began else []
        raised = self.generator.take(command.record["motion"])
        if self.external:
            raised = raised + self._take_torque(np.array(command.record["control"]["tau_J_d"]), checks)
        if command.finished and not raised:
            raised = self.generator.finish()
        return raised

    def _take_torque(self, torque: np.ndarray, checks: Checks) -> list[str]:
        raised = checks.torque(self.generator.setpoint, torque)
        if not raised:
            self.generator.setpoint.torque = torque
            self._torque_given = True
        return raised
