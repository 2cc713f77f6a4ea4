"""``python -m franka_rt doctor``: is this machine fit for a 1 kHz loop?"""

from __future__ import annotations

import argparse
import contextlib

from franka_rt.fitness import findings
from franka_rt.scheduling import LoopScheduling

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to measure wake-ups (default %(default)s)")
    parser.add_argument("--ordinary", action="store_true", help="measure with ordinary scheduling, not SCHED_FIFO")


def run(arguments: argparse.Namespace) -> None:
    """Print the items as they are found, and a verdict."""
    bad = []
    scheduled = contextlib.nullcontext() if arguments.ordinary else LoopScheduling().applied(enforce=False)
    with scheduled:
        for finding in findings(arguments.seconds):
            print(finding, flush=True)
            bad += [finding.name] if finding.good is False else []
    print(
        f"Not fit for a real robot: {', '.join(bad)}." if bad else "Fit for a real robot, as far as can be seen here."
    )
    print("python -m franka_rt communication-test HOST tries it with the robot.")
