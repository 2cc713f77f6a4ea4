"""``python -m franka_rt read``: states of a robot, one after the other."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from franka_rt import checks
from franka_rt.command_target import without_realtime_warning
from franka_rt.realtime import RealtimeConfig
from franka_rt.robot import Robot
from franka_rt.state import RobotState

__all__ = ["add_arguments", "add_connection", "open_robot", "run"]


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Arguments of every command that connects to an arm without moving it."""
    parser.add_argument("host", help="address or name of the robot")
    parser.add_argument("--port", type=int, default=1337, help="TCP port of the arm (default %(default)s)")


def open_robot(arguments: argparse.Namespace, **options: Any) -> Robot:
    """Connect for reading, which needs no realtime machine: without the warning about it."""
    with without_realtime_warning():
        return Robot(arguments.host, RealtimeConfig.IGNORE, port=arguments.port, **options)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_connection(parser)
    parser.add_argument("--count", type=int, default=1, help="how many states (default %(default)s)")
    parser.add_argument("--every", type=float, default=0.1, help="seconds between two of them (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, all fields, matrices as rows")


def run(arguments: argparse.Namespace) -> None:
    """Print the states."""
    count, every = arguments.count, checks.number("--every", arguments.every, minimum=0.0)
    checks.integer("--count", count, 1, 10**9)
    with open_robot(arguments) as robot:
        for index in range(count):
            time.sleep(every if index else 0.0)
            state = robot.read_once()
            print(_json(state) if arguments.json else repr(state), flush=True)


def _json(state: RobotState) -> str:
    return json.dumps(state.to_dict(), default=lambda value: np.asarray(value).tolist())
