"""``python -m franka_rt communication-test``: the vendor's test, zero torques for 10 000 cycles, with a verdict."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from franka_rt.command_target import add_target, agreed, simulated
from franka_rt.commands import Torques
from franka_rt.errors import ControlException, InvalidArgumentException
from franka_rt.loop_statistics import LoopStatistics
from franka_rt.realtime import RealtimeConfig
from franka_rt.robot import Robot
from franka_rt.state import RobotState

__all__ = ["CommunicationTest", "add_arguments", "run"]

_GOOD_RATE = 0.95
_FAIR_RATE = 0.90
_PROGRESS = 1000  # cycles
_WARNING = (
    "The robot {host} will be commanded zero torque for about {seconds:.0f} s: it holds its own weight but gives way "
    "to any push, and drifts if its load is not set. Keep the user stop at hand."
)


class CommunicationTest:
    """The callback, and what it saw.

    Attributes:
        rates: (n,) success rate of every state, 0..1.
        gaps: (n,) ms of the robot's clock since the state before.
    """

    def __init__(self, cycles: int, progress: bool = True) -> None:
        self.cycles = cycles
        self.rates = np.zeros(cycles)
        self.gaps = np.zeros(cycles, int)
        self.count = 0
        self._progress = progress

    def __call__(self, state: RobotState, dt: float) -> Torques:
        """Zero torque, the last one finished."""
        self.rates[self.count], self.gaps[self.count] = state.control_command_success_rate, round(1e3 * dt)
        self.count += 1
        if self._progress and self.count % _PROGRESS == 0:
            print(f"  cycle {self.count} of {self.cycles}, success rate {self.rates[self.count - 1]:.2f}", flush=True)
        torques = Torques(np.zeros(7))
        return torques.finished() if self.count == self.cycles else torques

    def verdict(self, statistics: LoopStatistics) -> str:
        """In words, after the vendor's example: rates after the first 100 cycles, lost states."""
        rates, lost = self.rates[100 : self.count], int(np.maximum(self.gaps[: self.count] - 1, 0).sum())
        if not rates.size:
            return f"{statistics}\nToo short for a verdict."
        average = float(rates.mean())
        if average >= _GOOD_RATE and lost <= 1e-3 * self.count:
            word = "GOOD: this connection carries 1 kHz control."
        elif average >= _FAIR_RATE:
            word = "FAIR: motions will work most of the time, and fail now and then."
        else:
            word = "BAD: motions will be aborted by communication_constraints_violation."
        text = f"Success rate: average {average:.3f}, least {rates.min():.3f}; states lost: {lost} of {self.count}."
        return f"{text}\n{statistics}\n{word}"

    def draw(self, statistics: LoopStatistics, path: str) -> None:
        """Histograms of turnaround and of the steps between states, to a file."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.5), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.hist(statistics.turnaround * 1e6, bins=np.geomspace(5, 5000, 80), log=True)
        left.set(xlabel="state received to command sent / us", ylabel="cycles", xscale="log")
        left.axvline(300, color="tab:red", label="vendor's advice")
        left.legend()
        right.hist(self.gaps[1 : self.count], bins=np.arange(0.5, max(12, self.gaps.max() + 1)), log=True)
        right.set(xlabel="step between states / ms", ylabel="cycles")
        figure.savefig(path)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_target(parser)
    parser.add_argument("--cycles", type=int, default=10000, help="how many (default %(default)s)")
    parser.add_argument("--figure", metavar="PATH", help="save histograms there (needs matplotlib)")
    parser.add_argument("--enforce", action="store_true", help="refuse a machine that is not realtime")


def run(arguments: argparse.Namespace) -> int:
    """Run the test; 0 unless the robot aborted the motion."""
    if arguments.figure:
        _check_figure(arguments.figure)
    if arguments.cycles < 1 or (arguments.host is None) == (arguments.sim is None):
        raise InvalidArgumentException("franka_rt: give the robot's address or --sim, and a positive number of cycles.")
    warning = _WARNING.format(host=arguments.host, seconds=arguments.cycles / 1000)
    if arguments.sim is None and not arguments.yes and not agreed(warning):
        return 1
    config = RealtimeConfig.ENFORCE if arguments.enforce else RealtimeConfig.IGNORE
    with _target(arguments) as (host, port), Robot(host, config, port=port) as robot:
        return _test(robot, CommunicationTest(arguments.cycles), arguments.figure)


def _check_figure(path: str) -> None:
    """Whether it can be drawn there, before the robot is touched."""
    if not Path(path).resolve().parent.is_dir():
        raise InvalidArgumentException(f"franka_rt: --figure {path}: there is no such directory.")
    if importlib.util.find_spec("matplotlib") is None:
        raise InvalidArgumentException("franka_rt: --figure needs matplotlib: pip install matplotlib.")


def _test(robot: Robot, test: CommunicationTest, figure: str | None) -> int:
    aborted: ControlException | None = None
    try:
        robot.control_torques(test, limit_rate=False, cutoff_frequency=1000.0)
    except ControlException as error:
        aborted = error
    statistics = robot.loop_statistics or LoopStatistics()
    print(aborted if aborted else test.verdict(statistics))
    if figure:
        test.draw(statistics, figure)
        print(f"Histograms: {figure}")
    return 1 if aborted else 0


@contextlib.contextmanager
def _target(arguments: argparse.Namespace) -> Iterator[tuple[Any, int]]:
    if arguments.sim is None:
        yield arguments.host, arguments.port
        return
    with simulated(arguments.sim, gripper_port=None) as sim:
        yield sim.host, sim.port
