"""``python -m franka_rt COMMAND``: each command is a module with ``add_arguments(parser)`` and ``run(arguments)``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from franka_rt.errors import FrankaException

# command -> (module, what it does)
COMMANDS = {
    "communication-test": ("franka_rt.command_communication_test", "zero torques for 10 000 cycles, and a verdict"),
    "demo": ("franka_rt.demo.command", "both arms, simulated, under an impedance law while they are pushed"),
    "doctor": ("franka_rt.command_doctor", "whether this machine is fit for 1 kHz"),
    "read": ("franka_rt.command_read", "states of a robot, one after the other"),
    "record": ("franka_rt.command_record", "all traffic of a reading session to a file"),
    "sim": ("franka_rt.sim.command", "a simulated FER or FR3 on real sockets"),
}


def main(argv: list[str] | None = None) -> int:
    """Run a command; 0, or 1 after one line on standard error."""
    parser = argparse.ArgumentParser(prog="python -m franka_rt", description="Client and simulator of the FCI.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        command.set_defaults(run=importlib.import_module(module).run)
        importlib.import_module(module).add_arguments(command)
    arguments = parser.parse_args(argv)
    try:
        return arguments.run(arguments) or 0
    except BrokenPipeError:  # whoever read the output has enough; nothing is to be flushed at the end either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except FrankaException as error:
        print(f"python -m franka_rt {arguments.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
