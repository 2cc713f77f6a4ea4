"""One motion of a compiled loop: Python starts and ends it, the program runs the cycles between.

::

    Python                                        program
    memory, program, kernel ready            -->  loads the kernel, sets up its scheduling
    Move, until a state shows the modes           waits
    begin                                    -->  receive, law, send; finished flag until the states show the end
    heartbeat, end of the TCP stream              every way out that may leave the arm moving: StopMove
    answer of Move, exceptions, log          <--  reason, log, statistics

What follows from a reason is what :class:`franka_rt.control_loop.ControlLoop` does in the same situation, by the same
code: exceptions, their texts, the StopMove after each of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from franka_rt.compiled_loop.cycle import refuse
from franka_rt.compiled_loop.memory import TURNAROUNDS, Reason, SharedMemory
from franka_rt.compiled_loop.parameters import LentLaw
from franka_rt.compiled_loop.plan import LawLayout, Task, make_memory
from franka_rt.compiled_loop.process import LoopProcess
from franka_rt.compiled_loop.program import executable
from franka_rt.compiled_loop.records import Records
from franka_rt.conditioning import Conditioner
from franka_rt.control_loop import explained
from franka_rt.dialect import CommandName, ControllerMode
from franka_rt.errors import ControlException, InvalidOperationException
from franka_rt.kernel_law import KernelLaw
from franka_rt.loop_statistics import LoopStatistics
from franka_rt.machine import Signal
from franka_rt.motion import MotionControl
from franka_rt.scheduling import LoopScheduling
from franka_rt.state import RobotState
from franka_rt.transport import SocketTransport, send_failure

__all__ = ["CompiledLoop"]

_BEAT = 0.02  # s between two heartbeats
_MARGIN = 1.0  # s more than the longest wait of the program, until it is ended by force


@dataclass
class CompiledLoop:
    """Torque control by a kernel law without the interpreter.

    Attributes:
        motion: starts and ends the motion.
        law: what is run.
        conditioner: what happens to its torques.
        scheduling: how the program is scheduled.
        enforce: whether a refusal of that is an error.
        watchdog: seconds without a sign of life from this process after which the program ends the motion.
        statistics: filled at the end.
    """

    motion: MotionControl
    law: KernelLaw
    conditioner: Conditioner
    scheduling: LoopScheduling
    enforce: bool
    watchdog: float

    def __post_init__(self) -> None:
        self.statistics = LoopStatistics()
        self._session = self.motion.session
        self._dialect = self._session.dialect
        self._modes = self._dialect.torque_generator, ControllerMode.EXTERNAL_CONTROLLER

    def run(self) -> None:
        """Run the motion to its end; raises what the Python loop would, and ControlException for its own ends.

        Its own are a watchdog that found this process asleep, and a program that crashed or was killed.
        """
        with explained(self.statistics), self._process() as process:
            self.motion.start(*self._modes)
            with self.motion.cancel_on_error():
                self._watch(process)
                self._conclude(process)

    # -- before the motion -------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _process(self) -> Iterator[LoopProcess]:
        """The program, ready to begin; afterwards it has ended and the law is free again."""
        transport, channel = self._session.transport, self.motion.channel
        if not isinstance(transport, SocketTransport):
            text = "franka_rt: a compiled loop needs the sockets themselves; this session is recorded or replayed."
            raise InvalidOperationException(text, "Connect without a recorder, or use compiled=False.")
        layout, program = LawLayout(self.law, self._dialect), executable()
        with contextlib.ExitStack() as stack:
            self._stop_id, message = channel.reserve(CommandName.STOP_MOVE)
            stack.callback(channel.forget, self._stop_id)
            memory = make_memory(self._task(transport.descriptors, message), layout)
            stack.callback(memory.close)
            stack.callback(LentLaw(self.law, layout, memory).give_back)
            self._records = Records(memory, self._dialect)
            process = LoopProcess(program, self.law.kernel.library, memory, transport.descriptors)
            stack.enter_context(process)
            process.wait_until_ready()
            yield process

    def _task(self, descriptors: tuple[int, int], stop_message: bytes) -> Task:
        return Task(
            self._dialect,
            *self._modes,
            self.conditioner,
            self.scheduling,
            self.enforce,
            descriptors,
            stop_message,
            self.watchdog,
            self.motion.log.size,
        )

    # -- meanwhile ---------------------------------------------------------------------------------------------------

    def _watch(self, process: LoopProcess) -> None:
        """Feed the watchdog until the program has ended; then everything it saw is this motion's."""
        process.begin(self._session.state.message_id)
        self._session.live = self._records.newest
        try:
            while not process.ended(min(_BEAT, self.watchdog / 4)):
                process.beat()
                self.motion.channel.poll()
        except BaseException:
            process.halt(self._dialect.udp_timeout + _MARGIN)
            raise
        finally:
            self._take_over(process.memory)
            self._session.live = None

    def _take_over(self, memory: SharedMemory) -> None:
        report = memory.report
        for entry in self._records.all():
            self.motion.log.append(entry)
            self._session.adopt(entry[0])
        cycles, skipped, gap = (int(report[name]) for name in ("cycles", "skipped", "longest_gap"))
        self.statistics.take(cycles, skipped, gap, memory.region("turnarounds", np.int64, TURNAROUNDS))
        if report["stop_sent"]:
            self.motion.stop_id = self._stop_id

    # -- afterwards --------------------------------------------------------------------------------------------------

    def _conclude(self, process: LoopProcess) -> None:
        """Return after a regular end by the law, else raise."""
        endings: dict[Reason, Callable[[LoopProcess], None]] = {
            Reason.FINISHED: self._finished,
            Reason.BROKEN: self._broken,
            Reason.NOT_FINITE: self._not_finite,
            Reason.RECEIVE_FAILED: self._receive_failed,
            Reason.CLOCK_STANDS: self._clock_stands,
            Reason.WRONG_SIZE: self._wrong_size,
            Reason.SEND_FAILED: self._send_failed,
            Reason.WATCHDOG: self._abandoned,
            Reason.ORPHANED: self._abandoned,
        }
        endings.get(process.reason, self._crashed)(process)

    def _finished(self, process: LoopProcess) -> None:
        self.motion.machine.feed(Signal.FINISH)
        self.motion.machine.observe(self._session.state.modes)
        if not process.memory.report["confirmed"]:
            raise self.motion.not_changed()
        self.motion.confirm()

    def _broken(self, process: LoopProcess) -> None:
        state = self._session.state
        self.motion.machine.observe(state.modes)
        self.motion.raise_broken(state)

    def _not_finite(self, process: LoopProcess) -> None:
        """The same numbers through the conditioner that refuses them."""
        place = int(process.memory.plan["tau"])
        torques = process.memory.region("outputs", np.float64, place + 7)[place:].copy()
        with_motion = bool(process.memory.plan["command_velocity"] >= 0)
        refuse(self.conditioner, torques, with_motion, self._session.state)

    def _receive_failed(self, process: LoopProcess) -> None:
        transport, number = self._session.transport, _detail(process)
        assert isinstance(transport, SocketTransport)
        with self._session.stream_failures():
            raise transport.receive_failure(OSError(number, os.strerror(number)))

    def _clock_stands(self, process: LoopProcess) -> None:
        with self._session.stream_failures():
            raise self._session.clock_stands()

    def _wrong_size(self, process: LoopProcess) -> None:
        RobotState(self._dialect, bytes(_detail(process)))  # raises

    def _send_failed(self, process: LoopProcess) -> None:
        number = _detail(process)
        raise send_failure(OSError(number, os.strerror(number)) if number else None)

    def _abandoned(self, process: LoopProcess) -> None:
        if process.memory.report["confirmed"]:
            self._finished(process)
        log = self.motion.log.flush()
        text = f"franka_rt: the compiled loop ended the motion: no sign of life from Python for {self.watchdog:g} s."
        raise ControlException(text, "The process was stopped or starved; a longer watchdog forgives more.", log=log)

    def _crashed(self, process: LoopProcess) -> None:
        text = f"franka_rt: the compiled loop crashed ({process.describe_end()}); the motion was stopped."
        raise ControlException(
            text, "Check the law's kernel, and what else may have ended it.", log=self.motion.log.flush()
        )


def _detail(process: LoopProcess) -> int:
    return int(process.memory.report["detail"])
