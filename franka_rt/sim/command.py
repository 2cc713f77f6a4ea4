"""``python -m franka_rt sim``: a simulated robot until Ctrl-C."""

from __future__ import annotations

import argparse
import time

from franka_rt.sim.parameters import PARAMETERS
from franka_rt.sim.robot import SimulatedRobot

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "--robot", choices=sorted(PARAMETERS), required=True, help="fer: FCI version 5; fr3: version 10"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument("--port", type=int, default=1337, help="TCP port of the arm, 0 for any (default %(default)s)")
    parser.add_argument("--gripper-port", type=int, default=1338, help="TCP port of the hand (default %(default)s)")
    parser.add_argument("--no-gripper", action="store_true", help="an arm without hand")
    parser.add_argument("--vacuum-gripper-port", type=int, help="a vacuum gripper on this TCP port (vendor: 1339)")
    parser.add_argument("--lock-step", action="store_true", help="as fast as the client answers instead of 1 kHz")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end by itself after so long")


def run(arguments: argparse.Namespace) -> None:
    """Simulate; reports sessions and modes as they change."""
    print("Preparing the model (a few seconds the first time) ...", flush=True)
    gripper = None if arguments.no_gripper else arguments.gripper_port
    with SimulatedRobot(
        arguments.robot,
        arguments.host,
        arguments.port,
        gripper,
        realtime=not arguments.lock_step,
        vacuum_gripper_port=arguments.vacuum_gripper_port,
    ) as sim:
        print(f"{sim} is ready; hand: {sim.gripper_port}, vacuum gripper: {sim.vacuum_gripper_port}. Ctrl-C ends it.")
        _report(sim, time.monotonic() + arguments.seconds)


def _report(sim: SimulatedRobot, end: float) -> None:
    shown = ""
    while time.monotonic() < end:
        now = sim.statistics()
        client = f"client {now['sessions']}" if now["connected"] else "no client"
        line = f"{client}, {now['mode'].replace('_', ' ').lower()}"
        if line != shown:
            print(f"{now['ticks'] / 1000:10.3f} s  {line}", flush=True)
            shown = line
        time.sleep(min(0.1, max(0.0, end - time.monotonic())))
