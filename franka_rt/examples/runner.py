"""What the examples share: command line, consent, a simulated robot, and what a person sees when it goes wrong."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from franka_rt.command_target import add_target, agreed, simulated, without_realtime_warning
from franka_rt.dialect import RobotMode
from franka_rt.errors import ControlException, FrankaException
from franka_rt.gripper import Gripper
from franka_rt.realtime import RealtimeConfig
from franka_rt.robot import Robot
from franka_rt.state import RobotState
from franka_rt.vacuum_gripper import VacuumGripper
from franka_rt.versions import FciVersion, VersionPolicy

_CAUTION = "Keep everybody out of the arm's reach and the user stop at hand."

__all__ = ["ARM", "HAND", "VACUUM", "explain", "main"]


class Device(NamedTuple):
    """What an example connects to: its port, how it is opened, and the simulated robot's options and attribute."""

    port: int
    open: Callable[[str, int, argparse.Namespace], Any]
    options: dict[str, Any]
    attribute: str


def _open_arm(host: str, port: int, arguments: argparse.Namespace) -> Robot:
    config = RealtimeConfig.IGNORE if arguments.sim or arguments.only_reads else None
    policy = VersionPolicy.exact(FciVersion(arguments.fci)) if arguments.fci else VersionPolicy.AUTO
    robot = Robot(host, config, policy, port)
    if arguments.recover and robot.read_once().needs_recovery:
        robot.automatic_error_recovery()
    return robot


ARM = Device(1337, _open_arm, {"gripper_port": None}, "port")
HAND = Device(1338, lambda host, port, _: Gripper(host, port), {"gripper_port": 0}, "gripper_port")
VACUUM = Device(
    1339, lambda host, port, _: VacuumGripper(host, port), {"vacuum_gripper_port": 0}, "vacuum_gripper_port"
)


def main(
    run: Callable[[Any], Any],
    text: str | None,
    device: Device = ARM,
    *,
    only_reads: bool = False,
    surroundings: Callable[[Any], None] | None = None,
    argv: list[str] | None = None,
) -> int:
    """Run an example from its command line; the exit status.

    Args:
        run: the example, called with the open device.
        text: what it does, for people who are about to let a robot do it.
        device: ARM, HAND or VACUUM.
        only_reads: nothing moves: no question is asked, and an ordinary machine will do.
        surroundings: called with the simulated robot, for what a real one would find around it.
        argv: the command line, None for that of the process.
    """
    text = (text or "").strip()
    parser = _parser(text, device)
    arguments = parser.parse_args(argv)
    arguments.only_reads = only_reads
    if (arguments.host is None) == (arguments.sim is None):
        print(f"{parser.prog}: give the robot's address, or --sim fer, or --sim fr3.", file=sys.stderr)
        return 2
    if arguments.sim is None and not only_reads and not arguments.yes and not agreed(f"{text}\n{_CAUTION}"):
        return 1
    try:
        with _opened(device, arguments, surroundings) as opened:
            print(opened, flush=True)
            run(opened)
    except KeyboardInterrupt:
        print("\nInterrupted; a motion that was running has been stopped.", file=sys.stderr)
        return 130
    except FrankaException as error:
        print(explain(error) if isinstance(error, ControlException) else f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


class _Parser(argparse.ArgumentParser):
    """Errors are one line: the usage is what --help is for."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see --help)\n")


def _parser(text: str, device: Device) -> argparse.ArgumentParser:
    spec = sys.modules["__main__"].__spec__
    parser = _Parser(
        prog=f"python -m {spec.name}" if spec else None,
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_target(parser, device.port)
    parser.add_argument("--version", action="version", version=_version())
    if device is ARM:
        parser.add_argument("--fci", type=int, choices=[int(v) for v in FciVersion], help="insist on this FCI version")
        parser.add_argument("--recover", action="store_true", help="clear the error of an earlier motion first")
    return parser


def _version() -> str:
    try:
        number = importlib.metadata.version("franka-jax")
    except importlib.metadata.PackageNotFoundError:  # run from a source tree
        number = "(not installed)"
    return f"franka-jax {number}, FCI versions {', '.join(str(int(v)) for v in FciVersion)}"


@contextlib.contextmanager
def _opened(device: Device, arguments: argparse.Namespace, surroundings: Callable[[Any], None] | None) -> Iterator[Any]:
    with contextlib.ExitStack() as stack:
        host, port = arguments.host, arguments.port
        if arguments.sim:
            sim = stack.enter_context(simulated(arguments.sim, **device.options))
            host, port = sim.host, getattr(sim, device.attribute)
            if surroundings:
                surroundings(sim)
        quiet = arguments.sim or arguments.only_reads
        with without_realtime_warning() if quiet else contextlib.nullcontext():
            opened = device.open(host, port, arguments)
        yield stack.enter_context(opened)


# -- when a motion goes wrong --------------------------------------------------------------------------------------

_SHOWN = 5  # cycles of the log
_NEXT = {
    RobotMode.USER_STOPPED: "release the user stop, then start again.",
    RobotMode.REFLEX: "see that nothing is in the arm's way, then start again with --recover "
    "(in a program: robot.automatic_error_recovery()).",
}


def explain(error: ControlException) -> str:
    """A failed motion in one block: what the robot said, the last cycles, and what to do."""
    said = "\n".join(f"  {line}" for line in str(error).splitlines())
    lines = ["The motion ended in an error.", said]
    states = error.log.states[-_SHOWN:] if error.log else []
    if states:
        lines += [f"Last {len(states)} of {len(error.log)} logged cycles (largest of the seven joints):", _HEAD]
        lines += [_row(state) for state in states]
        todo = _NEXT.get(states[-1].robot_mode, "read what the robot said above, then start again.")
        lines.append(f"Next: {todo}")
    return "\n".join(lines)


_HEAD = "    time / s   success  |q_d - q| / rad  |dq| / rad/s  |tau_J_d| / N m  |tau_ext| / N m"


def _row(state: RobotState) -> str:
    largest = [
        float(np.abs(x).max()) for x in (state.q_d - state.q, state.dq, state.tau_J_d, state.tau_ext_hat_filtered)
    ]
    return "  {:10.3f} {:9.2f} {:16.4f} {:13.3f} {:15.2f} {:16.2f}".format(
        state.time, state.control_command_success_rate, *largest
    )
