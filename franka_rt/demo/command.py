"""``python -m franka_rt demo``: both arms, simulated in real time, under an impedance law while they are pushed."""

from __future__ import annotations

import argparse
import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from franka_rt import checks, realtime
from franka_rt.command_target import without_realtime_warning
from franka_rt.demo.course import Course, drive
from franka_rt.demo.law import make_law, model_call
from franka_rt.errors import ControlException, RealtimeException
from franka_rt.kernel_law import KernelLaw
from franka_rt.realtime import RealtimeConfig
from franka_rt.robot import Robot
from franka_rt.toolchain import find_compiler

if TYPE_CHECKING:
    from franka_rt.sim import SimulatedRobot

__all__ = ["add_arguments", "run"]

ROBOTS = ("fer", "fr3")
_ATTEMPTS = 5
_DISTURBED = ("communication_constraints_violation",)
_NO_COMPILER = (
    "There is no C compiler (pip install franka-jax[compiler] gets one): the law runs on XLA in the Python loop, too "
    "slow for 1 kHz, so the simulated arm waits for it instead of running by the clock."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for figures (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.5, help="of each motion (default %(default)s)")
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=ROBOTS, help="which (default: both)")
    parser.add_argument("--no-compiled", action="store_true", help="the Python loop only")


def run(arguments: argparse.Namespace) -> int:
    """Run it and print what was measured; figures where matplotlib is installed. 1 if nothing could be measured."""
    seconds, courses = checks.number("--seconds", arguments.seconds, 0.5), []
    if lacks := realtime.problems():
        print(f"An ordinary machine ({' '.join(lacks)}): cycles will be lost here that a realtime machine keeps.")
    if not (compiler := find_compiler() is not None):
        print(_NO_COMPILER)
    for robot in arguments.robots:
        with _arm_and_law(robot, compiler) as (sim, law):
            courses += _both_loops(sim, law, seconds, compiler and not arguments.no_compiled)
    if courses:
        _draw(arguments.out, courses)
    return 0 if courses else 1


def _both_loops(sim: SimulatedRobot, law: KernelLaw, seconds: float, compiled: bool) -> list[Course]:
    courses = []
    with without_realtime_warning():
        robot = Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port)
    with robot:
        print(f"  {robot.dialect.label} was agreed on; {sim.host}:{sim.port}")
        state, model = robot.read_once(), robot.load_model()
        of_law, of_model = (1e6 * t for t in model_call(law, model, state))
        print(f"  five model calls {of_model:.1f} us, the law with its model {of_law:.1f} us")
        for loop in (False, True)[: 1 + compiled]:
            courses += _course(sim, robot, law, seconds, loop)
    return courses


def _course(sim: SimulatedRobot, robot: Robot, law: KernelLaw, seconds: float, compiled: bool) -> list[Course]:
    """One motion, with what came of it; none where this machine cannot do it, which is said."""
    try:
        with _said(f"  {'compiled' if compiled else 'Python'} loop, pushed meanwhile"):
            course = _undisturbed(sim, robot, law, seconds, compiled)
    except RealtimeException as error:
        print(f"    not done: {error.text}")
    except ControlException as error:
        if error.reasons != _DISTURBED:
            raise
        print(f"    given up after {_ATTEMPTS} attempts. {error.statistics}")
    else:
        print(f"    {course.summary()}", flush=True)
        return [course]
    return []


def _undisturbed(sim: SimulatedRobot, robot: Robot, law: KernelLaw, seconds: float, compiled: bool) -> Course:
    """Once more where other programs kept this one from answering for 20 ms, which ends a motion."""
    for attempt in range(_ATTEMPTS):
        try:
            return drive(sim, robot, law, seconds, compiled)
        except ControlException as error:
            robot.automatic_error_recovery()
            if error.reasons != _DISTURBED or attempt == _ATTEMPTS - 1:
                raise
            print("(20 commands in a row were late: other programs want this machine; once more)", end=" ", flush=True)
    raise AssertionError("the last attempt returned or raised")


def _law(robot: str) -> KernelLaw:
    with _said(f"{robot.upper()}: compiling the impedance law with the model (seconds the first time, then kept)"):
        law = make_law(robot)
    return law


@contextlib.contextmanager
def _arm_and_law(robot: str, realtime: bool) -> Iterator[tuple[SimulatedRobot, KernelLaw]]:
    """A simulated arm (if realtime in a process of its own), started while the law is compiled here; then closed."""
    from franka_rt.sim import SimulatedRobot

    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as stack:
        future = pool.submit(SimulatedRobot, robot, port=0, gripper_port=None, realtime=realtime)
        stack.callback(lambda: future.exception() or future.result().close())
        law = _law(robot)
        with _said(f"{robot.upper()}: starting the simulated arm"):
            sim = future.result()
        yield sim, law


@contextlib.contextmanager
def _said(what: str) -> Iterator[None]:
    """Say what is going on, with a dot each second, and how long it took."""
    print(what, end=" ", flush=True)
    start, done = time.monotonic(), threading.Event()

    def dots() -> None:
        while not done.wait(1.0):
            print(".", end="", flush=True)

    thread = threading.Thread(target=dots, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        print(f" {time.monotonic() - start:.1f} s", flush=True)


def _draw(folder: Path, courses: list[Course]) -> None:
    try:
        from franka_rt.demo import figures

        paths = figures.save(folder, courses)
    except ModuleNotFoundError:
        print('No figures without matplotlib: pip install "franka-jax[plot]"')
    else:
        print(f"Figures: {', '.join(map(str, paths))}")
