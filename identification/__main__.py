"""Command line of identification: see `python -m identification --help`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from franka_jax.cli.input_error import InputError
from franka_jax.cli.parser import Parser, words

from .commands import CommandError, fer, sample


def build_parser() -> argparse.ArgumentParser:
    """The parser; each command carries its function in `run`."""
    parser = Parser(prog="python -m identification", description="Inertial parameters from data.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_fer(commands)
    _add_sample(commands)
    return parser


def _add_fer(commands) -> None:
    text = "identify a FER's parameters from its closed model's answers; print every figure, write a URDF and a report"
    command = commands.add_parser("fer", help=text, description=text)
    command.add_argument("--data", type=Path, metavar="FILE", help="dataset, .npz or .json (default: the package's)")
    command.add_argument("--out", type=Path, metavar="FILE.urdf", help="write this URDF, and .json beside it")
    command.add_argument("--physical", action="store_true", help="write the physical twin instead of the exact fit")
    command.add_argument("--urdf", type=Path, metavar="FILE", help="description whose inertials are replaced")
    command.add_argument("--report", type=Path, metavar="FOLDER", help="write a report (Markdown and figures)")
    command.add_argument("--compare", type=Path, metavar="FILE.urdf", help="print the difference from these parameters")
    command.add_argument("--solver", choices=("svd", "qr", "float32"), default="svd")
    command.add_argument("--quiet", action="store_true", help="no progress")
    _add_library(command)
    command.set_defaults(run=fer)


def _add_sample(commands) -> None:
    text = "ask a model for its answers at the 208 configurations of the published fit; write them as a dataset"
    command = commands.add_parser("sample", help=text, description=text)
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help="dataset to write, .npz or .json")
    command.add_argument(
        "--backend", default="fer", metavar="fer|fr3|FILE.urdf", help="the model to ask (default: fer)"
    )
    command.add_argument(
        "--payload",
        type=float,
        nargs=7,
        action="append",
        default=[],
        metavar=("M", "CX", "CY", "CZ", "IXX", "IYY", "IZZ"),
        help="ask with this payload too (flange axes; kg, m, kg m^2); may be repeated",
    )
    command.add_argument("--quiet", action="store_true", help="no progress")
    _add_library(command)
    command.set_defaults(run=sample)


def _add_library(command: argparse.ArgumentParser) -> None:
    command.add_argument("--library", type=Path, metavar="FILE.so", help="ask a robot's own model library")
    command.add_argument(
        "--execute-library",
        action="store_true",
        help="consent to --library: loading the file EXECUTES THE ROBOT'S CODE in this process",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0, or after one line on standard error 1 for bad data, 2 for a command line without a sense."""
    try:
        options = build_parser().parse_args(words(arguments))
        options.run(options)
    except (CommandError, InputError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, CommandError) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
