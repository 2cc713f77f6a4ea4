"""The simulated arm without sockets or clock: requests and commands in; answers and one state a millisecond out.

::

    arm.handle(request)          # answers appear in arm.outbox, at once or later
    arm.receive(command)         # a command datagram
    datagram = arm.tick()        # one millisecond passes

Modes and what they allow are tables in ``modes.py``; the motion state machine of ``franka_rt.machine`` follows along
and raises ProtocolException should the arm ever break the protocol's order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.events import CommandDatagram, Request
from franka_rt.machine import MotionMachine, Signal
from franka_rt.sim import control, requests
from franka_rt.sim.background import Background
from franka_rt.sim.checks import Checks
from franka_rt.sim.generators import make_generator
from franka_rt.sim.model import ArmModel
from franka_rt.sim.modes import MOTION_END, TRANSITIONS, Event
from franka_rt.sim.monitor import Monitor
from franka_rt.sim.motion import MAX_LOST, Motion
from franka_rt.sim.parameters import ArmParameters
from franka_rt.sim.plant import Plant
from franka_rt.sim.reply import Reply
from franka_rt.sim.report import modes, views, write_state
from franka_rt.sim.setpoint import Setpoint
from franka_rt.sim.settings import Settings
from franka_rt.state_writer import StateWriter

__all__ = ["Arm"]

_RECOVERY_TICKS = 50


class Arm:
    """One arm.

    Attributes:
        mode: robot mode.
        motion: the running motion or None.
        message_id: millisecond counter, the id of the last state.
        errors, reflex_reason: names of the flags that are set.
        outbox: answers that have not been sent yet.
        background: answers that take long.
        taken, lost: commands that came in time and that did not, in all motions so far.
    """

    def __init__(self, parameters: ArmParameters, model: ArmModel, hand: bool = True, first_id: int = 1000) -> None:
        self.parameters, self.model, self.dialect = parameters, model, parameters.dialect
        self.settings = Settings(self.dialect, hand)
        self.plant = Plant(parameters, model, self.settings.load, self.settings.F_T_EE)
        self.setpoint = Setpoint(model, self.plant.q)
        self.checks = Checks(parameters, model)
        self.monitor = Monitor(parameters, model)
        self.machine = MotionMachine(self.dialect)
        self.writer = StateWriter(self.dialect)
        self.views = views(self.writer)
        self.mode = RobotMode.IDLE
        self.motion: Motion | None = None
        self.message_id = first_id
        self.errors: set[str] = set()
        self.reflex_reason: set[str] = set()
        self.outbox: list[Reply] = []
        self.background = Background()
        self.taken = self.lost = 0
        self._stops: list[Request] = []
        self._recovery: tuple[Request, int] | None = None
        self._acceleration = parameters.acceleration
        self.reconfigure()

    # --- what requests do ---------------------------------------------------------------------------------------------

    def handle(self, request: Request) -> None:
        """Take a request (any but Connect)."""
        requests.handle(self, request)

    def reply(self, request: Request, status: Status, data: bytes = b"", **fields: Any) -> None:
        """Put an answer into the outbox."""
        self.outbox.append(Reply(request, status, data, fields))

    def reconfigure(self) -> None:
        """The settings have changed."""
        self.settings.report(self.writer)
        self.place(self.plant.q)

    def start(
        self, request: Request, mode: GeneratorMode, controller: ControllerMode, velocity: np.ndarray | None
    ) -> None:
        """Begin a motion; ``velocity`` (7,) rad/s makes it an asynchronous one."""
        s, F_T_EE = self.setpoint, self.settings.F_T_EE
        s.rest(s.q, F_T_EE)
        s.torque = np.zeros(7)
        generator = make_generator(mode, s, self.checks, F_T_EE, velocity)
        self.machine.request(mode, controller)
        self.machine.feed(Signal.STARTED)
        self.motion = Motion(request, mode, controller, generator, velocity is not None)
        self.reflex_reason = set()
        self._change(Event.MOVE)
        self.reply(request, Status.MOTION_STARTED)

    def stop(self, request: Request) -> None:
        """End the running motion; answered when the arm is at rest."""
        self.machine.feed(Signal.STOP)
        self._stops.append(request)
        self._brake(Event.STOPPED)

    def recover(self, request: Request) -> None:
        """Begin the recovery; answered when it is complete."""
        self._recovery = request, _RECOVERY_TICKS

    # --- events from outside ------------------------------------------------------------------------------------------

    def receive(self, datagram: CommandDatagram) -> None:
        """Take a command of the running motion; without one it is ignored."""
        if self.motion is not None:
            self.motion.receive(datagram)

    def disconnect(self) -> None:
        """The client is gone: a running motion ends, a recovery completes, nobody waits for answers any more."""
        if self.motion is not None:
            self._end(Event.SESSION_LOST)
        if self._recovery is not None:
            self._recovered()
        self.background.clear()
        self.outbox.clear()

    def happen(self, event: Event) -> None:
        """User stop, guiding, release, safety function."""
        if event is Event.USER_STOP and self._recovery is not None:
            self.reply(self._recovery[0], Status.EMERGENCY_ABORTED)
            self._recovery = None
        if self.motion is not None and event in MOTION_END:
            self._end(event)
        else:
            self._change(event)

    def place(self, q: np.ndarray) -> None:
        """Put the arm at q (rad), at rest."""
        self.plant.place(q, self.settings.load, self.settings.F_T_EE)
        self.setpoint.jacobian = np.zeros((6, 7))  # the end effector may have changed
        self.setpoint.rest(self.plant.q, self.settings.F_T_EE)

    def reset(self, q: np.ndarray) -> None:
        """Put the arm at q, idle and without errors; a motion is aborted."""
        if self.motion is not None:
            self._end(Event.SESSION_LOST)
        self.mode, self.errors, self.reflex_reason = RobotMode.IDLE, set(), set()
        self.monitor.reset()
        self.plant.release()
        self.place(q)

    # --- one millisecond ----------------------------------------------------------------------------------------------

    def tick(self) -> bytes:
        """Advance by 1 ms and return the new state."""
        for request, data in self.background.take():
            self.reply(request, Status.ERROR if data is None else Status.SUCCESS, data or b"")
        if self.motion is None:
            self._hold()
        elif self.motion.first_id is not None:
            self._advance(self.motion)
        self.plant.step(control.torque(self), self.settings.load, self.settings.F_T_EE)
        self.monitor.estimate(self.plant, self.settings)
        self.message_id += 1
        if self.motion is not None:
            self._watch(self.motion)
        self.machine.observe(modes(self))
        return write_state(self)

    def _advance(self, motion: Motion) -> None:
        if motion.braking is not None:
            return self._slow_down(motion)
        command = motion.command(self.message_id)
        self.taken += command is not None
        self.lost += motion.lost_in_row > 0
        if command is not None and not motion.is_sane(command):
            return self._end(Event.INPUT_ERROR)
        raised = motion.follow(command, self.checks)
        if motion.lost_in_row >= MAX_LOST:
            raised = ["communication_constraints_violation"]
        if raised:
            self._reflex(raised)
        elif command is not None and command.finished:
            self.machine.feed(Signal.FINISH)
            self._brake(Event.FINISHED)
            self._slow_down(motion)

    def _brake(self, event: Event) -> None:
        """Come to rest, then end the motion."""
        assert self.motion is not None
        self._take_over(self.motion)
        self.motion.braking = event

    def _take_over(self, motion: Motion) -> None:
        """After user torques the robot's own controller goes on from the measured motion."""
        if motion.external and motion.braking is None:
            self.setpoint.move(self.plant.q, self.plant.dq, np.zeros(7), self.settings.F_T_EE)

    def _slow_down(self, motion: Motion) -> None:
        self.setpoint.brake(self._acceleration, self.settings.F_T_EE)
        if self.setpoint.at_rest and motion.braking is not None:
            self._end(motion.braking)

    def _hold(self) -> None:
        if self.mode is RobotMode.GUIDING:
            self.setpoint.rest(self.plant.q, self.settings.F_T_EE)
        elif not self.setpoint.at_rest or self.setpoint.ddq.any():
            self.setpoint.brake(self._acceleration, self.settings.F_T_EE)
        if self._recovery is not None:
            request, ticks = self._recovery
            self._recovery = request, ticks - 1
            if ticks <= 1 and self.setpoint.at_rest:
                self._recovered()

    def _recovered(self) -> None:
        assert self._recovery is not None
        self.reply(self._recovery[0], Status.SUCCESS)
        self._recovery = None
        self.errors = set()
        self.monitor.reset()
        self._change(Event.RECOVERED)

    def _watch(self, motion: Motion) -> None:
        if motion.first_id is None:
            motion.first_id = self.message_id
        raised = self.monitor.collisions(self.plant, self.setpoint, self.settings) + self.monitor.limits(self.plant)
        if raised:
            self._reflex(raised)

    # --- ends ---------------------------------------------------------------------------------------------------------

    def _reflex(self, names: Iterable[str]) -> None:
        self.errors = self.reflex_reason = set(names)
        self._end(Event.REFLEX)

    def _end(self, event: Event) -> None:
        """The motion is over: second answer to Move, and the answers to the StopMoves that asked for it."""
        motion = self.motion
        assert motion is not None
        self._take_over(motion)
        status = MOTION_END[event]
        possible = self.dialect.spec(CommandName.MOVE).statuses
        self.reply(motion.request, status if status in possible else Status.ABORTED)
        self.machine.feed(Signal.TERMINAL)
        if self._stops:
            self.machine.feed(Signal.STOPPED)
        for request in self._stops:
            self.reply(request, Status.SUCCESS)
        self._stops.clear()
        self.motion = None
        self._change(event)

    def _change(self, event: Event) -> None:
        self.mode = TRANSITIONS.get((self.mode, event), self.mode)
