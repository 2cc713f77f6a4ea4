"""The life of a motion: start, update, finish, cancel, exactly as the reference client does it (FCI protocol 7, 8).

Commands are given as they shall be sent: filters and rate limiters are the control loops' business. After any
exception from here the motion has to be cancelled, which :meth:`MotionControl.cancel_on_error` does.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from franka_rt import requests
from franka_rt.answers import check_answer
from franka_rt.commands import CommandEncoder, MotionCommand, Torques
from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, Status
from franka_rt.errors import (
    ControlException,
    FrankaException,
    InvalidOperationException,
    NetworkException,
    ProtocolException,
)
from franka_rt.log import LogRecorder
from franka_rt.machine import MotionMachine, Phase, Signal
from franka_rt.motion_failure import motion_failure
from franka_rt.session import ArmSession
from franka_rt.state import RobotState

__all__ = ["ANSWER_TIMEOUT", "MotionControl"]

ANSWER_TIMEOUT = 10.0  # s, for every answer and every change of modes that a motion waits for
_AFTER_SILENCE = 1.0  # s, for the answer to StopMove from a robot that has just been silent for too long
_CYCLES_PER_POLL = 16  # how often the end of the TCP stream is looked for
_NOT_FAILING = (Status.SUCCESS, Status.MOTION_STARTED)
_TWO_THREADS = "franka_rt: another thread is reading or commanding in this motion right now."
_STARTED_TWICE = "libfranka: Move received unexpected motion started message."


class MotionControl:
    """Runs one motion after the other over a session. Not for several threads at a time.

    Attributes:
        machine: the state machine; ``machine.phase`` says where the motion is.
        log: the last records of the motion.
        stop_id: of a StopMove that another process has sent; :meth:`cancel` waits for its answer.
    """

    def __init__(self, session: ArmSession, log_size: int) -> None:
        self.session = session
        self.channel = session.channel
        self.machine = MotionMachine(session.dialect)
        self.log = LogRecorder(session.dialect, log_size)
        self._encoder = CommandEncoder(session.dialect)
        self._move_id: int | None = None
        self.stop_id: int | None = None
        self._cycle = 0
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """One call of the user's at a time: InvalidOperationException if another thread is inside, nothing is lost."""
        if not self._turn.acquire(blocking=False):
            raise InvalidOperationException(_TWO_THREADS, "One thread drives a motion; stop() ends it from any thread.")
        try:
            yield
        finally:
            self._turn.release()

    @property
    def active(self) -> bool:
        """A motion has been requested and has not ended."""
        return self.machine.phase is not Phase.IDLE

    def start(
        self, generator: GeneratorMode, controller: ControllerMode, maximum_velocities: Any | None = None
    ) -> RobotState:
        """Request a motion and wait until a state shows it; that state.

        ``maximum_velocities`` (7,) rad/s makes it asynchronous. CommandException if the robot refuses,
        ControlException if a motion is running or the robot ends it at once.
        """
        command, fields = requests.move(self.session.dialect, generator, controller, maximum_velocities)
        self.channel.poll()
        self.session.poll_state()
        if not self.machine.is_still(self.session.state.modes):
            raise ControlException("libfranka robot: Attempted to start multiple motions!")
        self.machine.request(GeneratorMode(generator), ControllerMode(controller))
        try:
            self._move_id = self.channel.request(command, **fields)
            self._take_first_answer()
            self._wait_until_shown()
        except BaseException as error:
            self._abandon_start(error)
            raise
        self._encoder = CommandEncoder(self.session.dialect)
        self.log.clear()
        return self.session.state

    def _wait_until_shown(self) -> None:
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while self.machine.phase is Phase.STARTING:
            self._check_second_answer()
            self._receive(b"", deadline)

    def _abandon_start(self, error: BaseException) -> None:
        """A Move that was refused or ended needs no StopMove; one whose fate is unknown does."""
        if self.active:
            with contextlib.suppress(FrankaException):
                self.cancel(error)
        self._end()

    def _take_first_answer(self) -> None:
        status = self._wait_for_move()
        if status not in _NOT_FAILING:
            self.machine.feed(Signal.REJECTED)
            self.session.refresh()
            check_answer(CommandName.MOVE, status, self.session.state.robot_mode)
        self.machine.feed(Signal.STARTED if status is Status.MOTION_STARTED else Signal.TERMINAL)

    def _check_second_answer(self) -> None:
        self.channel.poll()
        answer = None if self._move_id is None else self.channel.take(self._move_id)
        if answer is None:
            return
        self.machine.feed(Signal.TERMINAL if answer.final else Signal.STARTED)
        if answer.status is Status.SUCCESS:
            raise ProtocolException("Unexpected reply to a Move command", "Success before the motion was shown.")
        raise motion_failure(self.log, answer.status, self.session.state, ended=False)

    def update(self, motion: MotionCommand | None = None, torques: Torques | None = None) -> RobotState:
        """One cycle: send the command (if any) for the last state, receive the next state and check it."""
        return self.read(self.write(motion, torques))

    def read(self, sent: bytes = b"") -> RobotState:
        """The next state of a running motion, checked; logged with the datagram that was sent before it, if any."""
        state = self._receive(sent)
        if self.machine.phase is not Phase.RUNNING:
            self.raise_broken(state)
        return state

    def write(self, motion: MotionCommand | None = None, torques: Torques | None = None) -> bytes:
        """Send a command for the last state; the datagram, empty if there is nothing to send.

        InvalidArgumentException for values that must not be sent, ControlException if the kind does not fit.
        """
        self._before_command(motion is not None, torques is not None)
        if motion is None and torques is None:
            return b""
        return self._send(motion, torques, finished=False)

    def write_datagram(self, datagram: bytes, motion: bool, torques: bool) -> bytes:
        """The same with a command that was encoded and checked elsewhere; says which parts it has."""
        self._before_command(motion, torques)
        return self._send_datagram(datagram)

    def _before_command(self, motion: bool, torques: bool) -> None:
        self._cycle += 1
        if self._cycle % _CYCLES_PER_POLL == 0:
            self.channel.poll()
        if not motion and not torques:
            return
        if not self.active:
            self.channel.poll()  # the user may have closed the session meanwhile
        self.machine.check_command(motion, torques)

    def rehearse_read(self) -> RobotState:
        """What :meth:`read` does to a datagram, with the newest one again; the newest state."""
        state = self.session.state
        self.session.connection.receive_datagram(state.datagram)
        self.machine.observe(state.modes)
        return state

    def rehearse(self, motion: MotionCommand | None, torques: Torques | None) -> bytes:
        """What :meth:`write` does to a command, without sending; the datagram."""
        self.machine.check_command(motion is not None, torques is not None)
        for command in (motion, torques):
            if command is not None:
                command.validate()
        return self._encoder.encode(self.session.state.message_id, motion, torques)

    def finish(self, motion: MotionCommand | None = None, torques: Torques | None = None) -> None:
        """End the motion regularly with this last command, and wait for the robot's confirmation."""
        if self.machine.is_still(self.session.state.modes) or not self.active:
            self._end()
            return
        if motion is None and torques is None:
            raise ControlException(self.session.dialect.nothing_to_finish_text)
        self.machine.check_command(motion is not None, torques is not None)
        self.machine.feed(Signal.FINISH)
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while self.machine.phase is Phase.FINISHING:
            self._receive(self._send(motion, torques, finished=True), deadline)
        self.confirm()

    def confirm(self) -> None:
        """Wait for the answer to a motion whose end the newest state shows; ControlException if that was irregular."""
        status = self._wait_for_move()
        self.machine.feed(Signal.TERMINAL)
        if status not in _NOT_FAILING:
            raise motion_failure(self.log, status, self.session.state, finishing=True)
        self._end()

    def cancel(self, error: BaseException | None = None) -> None:
        """Stop the motion, wherever it stands, and wait until the states show it.

        Raises if that could not be confirmed; the machine is ready for the next motion in any case. ``error``, if there
        is one, is why: after a NetworkException the wait is short (libfranka's has no end). The robot stops by itself
        when the session is closed.
        """
        try:
            if not self.channel.broken:
                self._stop_and_settle(_AFTER_SILENCE if isinstance(error, NetworkException) else ANSWER_TIMEOUT)
        finally:
            self._end()

    def _stop_and_settle(self, timeout: float) -> None:
        self.machine.feed(Signal.STOP)
        sent, self.stop_id = self.stop_id, None
        command_id = self.channel.request(CommandName.STOP_MOVE) if sent is None else sent
        answer = self.channel.wait(command_id, timeout)
        self.machine.feed(Signal.STOPPED)
        deadline = time.monotonic() + timeout
        while self.machine.phase is not Phase.IDLE:
            self._receive(b"", deadline)
        check_answer(CommandName.STOP_MOVE, answer.status, self.session.state.robot_mode)

    @contextlib.contextmanager
    def cancel_on_error(self) -> Iterator[None]:
        """Cancel the motion when anything goes wrong inside, and let the original exception through."""
        try:
            yield
        except BaseException as error:
            with contextlib.suppress(FrankaException):
                self.cancel(error)
            raise

    def _end(self) -> None:
        if self._move_id is not None:
            self.channel.forget(self._move_id)
        self._move_id = None
        self.machine.reset()

    def _send(self, motion: MotionCommand | None, torques: Torques | None, finished: bool) -> bytes:
        for command in (motion, torques):
            if command is not None:
                command.validate()
        return self._send_datagram(self._encoder.encode(self.session.state.message_id, motion, torques, finished))

    def _send_datagram(self, datagram: bytes) -> bytes:
        try:
            self.session.transport.send_datagram(datagram)
        except NetworkException:
            self.channel.poll()  # the stream also ends when the server closes, which says more
            raise
        return datagram

    def _receive(self, sent: bytes, deadline: float | None = None) -> RobotState:
        state = self.session.receive_state()
        self.log.append((state, sent))
        self.machine.observe(state.modes)
        if deadline is not None and time.monotonic() > deadline:
            raise self.not_changed()
        return state

    def not_changed(self) -> NetworkException:
        """The exception for a robot whose states do not show what they should by now."""
        what = self.machine.phase.value
        return NetworkException(f"franka_rt: the robot's state did not change within {ANSWER_TIMEOUT:g} s ({what}).")

    def _wait_for_move(self) -> Status:
        assert self._move_id is not None
        return self.channel.wait(self._move_id, ANSWER_TIMEOUT).status

    def raise_broken(self, state: RobotState) -> None:
        """Raise how a motion ended that this state has left: the terminal answer tells."""
        status = self._wait_for_move()
        self.machine.feed(Signal.TERMINAL)
        if status in _NOT_FAILING:
            started_twice = status is Status.MOTION_STARTED and not self.machine.is_still(state.modes)
            text = _STARTED_TWICE if started_twice else "Unexpected reply to a Move command"
            raise ProtocolException(text, f"The motion broke, the answer: {status.value}.")
        raise motion_failure(self.log, status, state)
