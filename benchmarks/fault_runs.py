"""One motion that something goes wrong with, and everything that has to hold afterwards."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from franka_rt import JointPositions, RealtimeConfig, Robot, RobotMode, Torques
from franka_rt.realtime import RealtimeWarning
from franka_rt.sim import Faults, SimulatedRobot
from franka_rt.transport import connect

READY = [0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4]
BOUND = 20.0  # s; far beyond the longest wait that a fault may cause
TORQUES, POSITIONS, ACTIVE = "torque loop", "joint position loop", "active control of torques"
KINDS = (TORQUES, POSITIONS, ACTIVE)
STEP = {TORQUES: 30.0, POSITIONS: 0.1, ACTIVE: 30.0}  # Nm and rad that no robot accepts within a millisecond


class Expected(NamedTuple):
    """How a motion has to end: an exception with this text, or regularly."""

    kind: type[BaseException] | tuple[type[BaseException], ...] | None = None
    text: str = ""


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong.

    Attributes:
        name: in the table.
        expected: how the motion ends.
        strike: what happens, in the thread of the motion.
        at: in which cycle; 0 is before the start.
        step: that cycle's command jumps.
        last: the cycle that ends the motion, None for never.
        silent: no states come any more; version 10 gives the session up then.
    """

    name: str
    expected: Expected
    strike: Callable[[Run], object] = lambda run: None
    at: int = 20
    step: bool = False
    last: int | None = None
    silent: bool = False


_NONE = Fault("none", Expected(), at=0, last=5)


class Result(NamedTuple):
    """A row of the table."""

    fault: str
    kind: str
    version: str
    outcome: str
    milliseconds: float


class Run:
    """One motion that a fault strikes.

    Attributes:
        sim, robot: both ends.
        cycle: of the motion, from 1.
        struck: when the fault came (``time.perf_counter``).
        helper: thread that acts for the fault.
    """

    def __init__(self, sim: SimulatedRobot, robot: Robot, fault: Fault, kind: str) -> None:
        self.sim, self.robot, self.fault, self.kind = sim, robot, fault, kind
        self.cycle, self.struck = 0, time.perf_counter()
        self.helper: threading.Thread | None = None
        self._q = robot.latest_state().q_d
        self._strike_at(0)

    def _strike_at(self, cycle: int) -> None:
        if cycle == self.fault.at:
            self.struck = time.perf_counter()
            self.fault.strike(self)

    def command(self, *_: object) -> Any:
        """The command of the next cycle: no movement, unless the fault says otherwise."""
        self.cycle += 1
        self._strike_at(self.cycle)
        step = STEP[self.kind] if self.fault.step and self.cycle == self.fault.at else 0.0
        command = JointPositions(self._q + step) if self.kind == POSITIONS else Torques(np.full(7, step))
        return command.finished() if self.cycle == self.fault.last else command

    def move(self) -> None:
        """The motion, to its end."""
        untouched = {"limit_rate": False, "cutoff_frequency": 1000.0}
        if self.kind == TORQUES:
            self.robot.control_torques(self.command, **untouched)
        elif self.kind == POSITIONS:
            self.robot.control_joint_positions(self.command, **untouched)
        else:
            with self.robot.start_torque_control() as control:
                while not control.finished:
                    control.read_once()
                    control.write_once(self.command())


def resources() -> tuple[set[threading.Thread], int]:
    """Threads and number of descriptors of this process."""
    return set(threading.enumerate()), len(os.listdir("/proc/self/fd"))


def eventually(condition: Callable[[], bool], what: str) -> None:
    """AssertionError if it does not come true within some seconds."""
    deadline = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.001)


def open_robot(sim: SimulatedRobot, silence: float = 1.0) -> Robot:
    """A session that gives up after so many seconds without a state (libfranka: 1 s)."""

    def connector(dialect: Any) -> Any:
        return connect(sim.host, sim.port, 5.0, silence, dialect.state.itemsize)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RealtimeWarning)
        return Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port, connector=connector)


def run(sim: SimulatedRobot, fault: Fault, kind: str, silence: float = 1.0) -> Result:
    """Let a fault strike a motion, and check everything that has to hold afterwards."""
    sim.set_faults(Faults())
    sim.place(READY)
    before = resources()
    with contextlib.ExitStack() as sessions:
        robot = sessions.enter_context(open_robot(sim, silence))
        version, ends_session = robot.dialect.label, robot.dialect.udp_failure_ends_session
        result = Run(sim, robot, fault, kind)
        error, ended = _outcome(result)
        assert ended - result.struck < BOUND
        _check(error, fault.expected)
        eventually(lambda: not sim.statistics()["moving"], "the arm still moves")
        if result.helper is not None:
            result.helper.join(BOUND)
        sim.set_faults(Faults())
        if fault.silent:
            assert robot.closed == ends_session
        _go_on(sim, sessions.enter_context(open_robot(sim, silence)) if robot.closed else robot, kind)
    eventually(lambda: resources() == before, "a thread or a descriptor is left")
    return Result(fault.name, kind, version, _words(error), 1e3 * (ended - result.struck))


def _outcome(run: Run) -> tuple[BaseException | None, float]:
    try:
        run.move()
    except BaseException as error:
        return error, time.perf_counter()
    return None, time.perf_counter()


def _check(error: BaseException | None, expected: Expected) -> None:
    if expected.kind is None:
        assert error is None, repr(error)
        return
    assert isinstance(error, expected.kind), repr(error)
    assert expected.text in str(error), str(error)


def _go_on(sim: SimulatedRobot, robot: Robot, kind: str) -> None:
    """The program goes on as a user would: release the stop, recover, move again."""
    if robot.read_once().robot_mode is RobotMode.USER_STOPPED:
        sim.release_user_stop()
    if robot.read_once().needs_recovery:
        sim.place(READY)
        robot.automatic_error_recovery()
    eventually(lambda: robot.read_once().robot_mode is RobotMode.IDLE, "the robot is not idle again")
    Run(sim, robot, _NONE, kind).move()


def _words(error: BaseException | None) -> str:
    text = str(error).split("\n")[0] if error is not None else "arrives"
    return text if error is None else f"{type(error).__name__}: {text}".removesuffix(": ")
