"""Which robot a command talks to: an address that was given, or a simulated robot that is started for it."""

from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from franka_rt.realtime import RealtimeWarning

if TYPE_CHECKING:
    from franka_rt.sim import SimulatedRobot

__all__ = ["add_target", "agreed", "simulated", "without_realtime_warning"]

_PREPARING = "Preparing the simulated robot (a few seconds the first time) ..."


def add_target(parser: argparse.ArgumentParser, port: int = 1337) -> None:
    """Arguments of every command that moves an arm: an address without default, or --sim."""
    parser.add_argument("host", nargs="?", help="address or name of the robot; there is no default")
    parser.add_argument("--sim", choices=("fer", "fr3"), help="a simulated robot instead, started for this run")
    parser.add_argument("--port", type=int, default=port, help="TCP port of the server (default %(default)s)")
    parser.add_argument("--yes", action="store_true", help="do not ask before the real robot moves")


def agreed(what: str) -> bool:
    """Tell a person what a real robot is about to do and ask; False unless they say yes."""
    print(what)
    try:
        return input("Go on? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


@contextlib.contextmanager
def simulated(robot: str, **options: Any) -> Iterator[SimulatedRobot]:
    """A simulated robot in real time, on free ports, in a process of its own."""
    from franka_rt.sim import SimulatedRobot  # here, because a real robot needs none of it

    print(_PREPARING, flush=True)
    with SimulatedRobot(robot, port=0, **options) as sim:
        yield sim


@contextlib.contextmanager
def without_realtime_warning() -> Iterator[None]:
    """Connect without the warning about this machine, where nothing depends on its timing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RealtimeWarning)
        yield
