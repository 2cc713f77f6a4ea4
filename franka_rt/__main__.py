"""``python -m franka_rt COMMAND``: each command is a module with ``add_arguments(parser)`` and ``run(arguments)``.

Exit status: 0, 1 if what was asked for failed (no connection, a motion that was aborted), 2 for input that cannot be
used; both after one line on standard error.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from franka_rt.errors import FrankaException, InvalidArgumentException

# command -> (module, what it does)
COMMANDS = {
    "communication-test": ("franka_rt.command_communication_test", "zero torques for 10 000 cycles, and a verdict"),
    "demo": ("franka_rt.demo.command", "both arms, simulated, under an impedance law while they are pushed"),
    "doctor": ("franka_rt.command_doctor", "whether this machine is fit for 1 kHz"),
    "read": ("franka_rt.command_read", "states of a robot, one after the other"),
    "record": ("franka_rt.command_record", "all traffic of a reading session to a file"),
    "sim": ("franka_rt.sim.command", "a simulated FER or FR3 on real sockets"),
}


class _Parser(argparse.ArgumentParser):
    """Errors are one line: the usage is what --help is for."""

    def error(self, message: str) -> NoReturn:
        raise InvalidArgumentException(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit status."""
    try:
        arguments = _parser().parse_args(argv)
        return arguments.run(arguments) or 0
    except BrokenPipeError:  # whoever read the output has enough; nothing is to be flushed at the end either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except FrankaException as error:
        return _complain(str(error), 2 if isinstance(error, InvalidArgumentException) else 1)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _complain(f"{error.strerror or error}{where}", 2)
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m franka_rt", description="Client and simulator of the FCI.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        command.set_defaults(run=importlib.import_module(module).run)
        importlib.import_module(module).add_arguments(command)
    return parser


def _complain(text: str, status: int) -> int:
    line = " ".join(text.removeprefix("franka_rt: ").split())
    print(f"franka_rt: {line}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
