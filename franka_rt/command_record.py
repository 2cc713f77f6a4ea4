"""``python -m franka_rt record``: all traffic of a reading session to a file, for bug reports and replays."""

from __future__ import annotations

import argparse
import sys
import time

from franka_rt import checks
from franka_rt.command_read import add_connection, open_robot
from franka_rt.recorder import Recorder, Recording
from franka_rt.state import RobotState

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_connection(parser)
    parser.add_argument("file", help="where to write; an existing file is replaced")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long (default %(default)s)")


def run(arguments: argparse.Namespace) -> None:
    """Record, with progress every second."""
    seconds = checks.number("--seconds", arguments.seconds, minimum=0.0)
    with Recorder(arguments.file) as recorder, open_robot(arguments, recorder=recorder) as robot:
        robot.read(_Until(time.monotonic() + seconds, seconds))
    print(f"{arguments.file}: {Recording.load(arguments.file)!r}")


class _Until:
    """A callback that goes on until a time and reports progress on standard error."""

    def __init__(self, end: float, seconds: float) -> None:
        self.end, self.seconds, self.next = end, seconds, end - seconds + 1.0

    def __call__(self, state: RobotState) -> bool:
        now = time.monotonic()
        if now >= self.next:
            print(f"\r{self.seconds - (self.end - now):.0f} of {self.seconds:g} s", end="", file=sys.stderr, flush=True)
            self.next += 1.0
        return now < self.end
