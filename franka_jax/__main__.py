"""`python -m franka_jax`: conformance, evaluate, plot. Each command has --help."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from .cli.input_error import InputError
from .cli.output import check_target, replacing
from .cli.parser import Parser, words
from .cli.states import combine
from .cli.typed_states import COUNTS, typed_fields
from .frames import Frame
from .model import Model
from .robots import fer, fr3
from .urdf import UrdfError

READY = (0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status: 0, 1 if a tolerance is exceeded, 2 for input that cannot be used."""
    # The process is the command's own: it decides the precision.
    jax.config.update("jax_enable_x64", True)
    try:
        options = _parser().parse_args(words(arguments))
        return options.run(options)
    except (InputError, UrdfError) as error:
        print(f"franka_jax: {error}", file=sys.stderr)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        print(f"franka_jax: {error.strerror or error}{where}", file=sys.stderr)
    except KeyboardInterrupt:
        print("franka_jax: interrupted", file=sys.stderr)
        return 130
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m franka_jax", description="Models of the Franka FR3 and FER.")
    commands = parser.add_subparsers(required=True, metavar="{conformance,evaluate,plot}")
    _add_conformance(commands)
    _add_evaluate(commands)
    _add_plot(commands)
    return parser


def _add_conformance(commands) -> None:
    parser = commands.add_parser(
        "conformance",
        help="compare the models with the reference values",
        description="Compare both models with the reference values, print the largest differences; "
        "exit status 1 if one exceeds its tolerance.",
    )
    parser.add_argument("--data", metavar="DIR", help="directory of the reference values (default: tests/data)")
    parser.add_argument("--gradients", action="store_true", help="check derivatives against central differences too")
    parser.add_argument("--throughput", action="store_true", help="measure batched calls too")
    parser.set_defaults(run=_conformance)


def _add_evaluate(commands) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="evaluate a model at states from the command line, a CSV or an npz",
        description="Pose and Jacobians of a frame, mass matrix, Coriolis and gravity torques at one or many states.",
        epilog="CSV columns (header line): q1..q7 dq1..dq7 m cx cy cz ixx iyy izz ixy ixz iyz F_T_EE1..16 EE_T_K1..16 "
        "gx gy gz. npz arrays: q (N, 7), dq, m_total, F_x_Ctotal, I_total, F_T_EE, EE_T_K, gravity_earth; one row, "
        "or one per configuration.",
    )
    robot = parser.add_mutually_exclusive_group(required=True)
    robot.add_argument("--robot", choices=("fr3", "fer"))
    robot.add_argument("--urdf", metavar="FILE", help="a robot description that ends in link8")
    parser.add_argument("--payload-rule", choices=("library", "rigid"), help="of --robot fer (default: library)")
    parser.add_argument("--frame", default="end_effector", help="%(default)s (default), flange, joint1 ... stiffness")
    parser.add_argument("--input", metavar="FILE", type=Path, help="states from a .csv or .npz")
    parser.add_argument("--q", type=float, nargs="+", metavar="RAD", help="seven joint angles")
    parser.add_argument("--dq", type=float, nargs="+", metavar="RAD/S", help="seven joint velocities (default: 0)")
    parser.add_argument(
        "--payload",
        type=float,
        nargs="+",
        metavar="NUMBER",
        help="m cx cy cz [ixx iyy izz [ixy ixz iyz]]: kg, m from the flange, kg m^2 about the centre of mass",
    )
    parser.add_argument(
        "--gravity_earth", type=float, nargs="+", metavar="M/S^2", help="vector in base axes (0 0 -9.81)"
    )
    for name in ("F_T_EE", "EE_T_K"):
        parser.add_argument(f"--{name}", type=float, nargs="+", metavar="NUMBER", help="16 numbers, column-major")
    parser.add_argument("--out", metavar="FILE", type=Path, help=".npz or .json (default: JSON to standard output)")
    parser.set_defaults(run=_evaluate)


def _add_plot(commands) -> None:
    parser = commands.add_parser(
        "plot", help="draw the arms with their ten frames", description="Draw the arms with their ten frames."
    )
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help=".png, .pdf or .svg")
    parser.add_argument("--robot", choices=("fr3", "fer", "both"), default="both")
    parser.add_argument("--q", type=float, nargs="+", metavar="RAD", help="seven joint angles (default: ready pose)")
    parser.set_defaults(run=_plot)


def _conformance(options: argparse.Namespace) -> int:
    from . import reference
    from .cli import report

    data = reference.find_data(options.data)
    checks = [*report.conformance(data), *report.non_affinity()]
    if options.gradients:
        for name, model in (("FR3", fr3()), ("FER", fer())):
            checks += report.gradients(name, model)
    if options.throughput:
        report.speed("FR3", fr3())
    return report.verdict(checks)


def _evaluate(options: argparse.Namespace) -> int:
    from . import evaluate

    frame = _frame(options.frame)
    if options.out is not None:
        check_target(options.out, evaluate.SUFFIXES)
    typed = {name: getattr(options, name) for name in COUNTS}
    sources = [typed_fields(typed)]
    if options.input is not None:
        sources.append(evaluate.read_states(options.input))
    answers = evaluate.results(_model(options), frame, combine(*sources))
    if sources[-1].ignored:
        print(f"franka_jax: not used: {', '.join(sources[-1].ignored)}", file=sys.stderr)
    if options.out is None:
        evaluate.write_json(answers, sys.stdout.buffer)
    else:
        evaluate.write(answers, options.out)
    return 0


def _plot(options: argparse.Namespace) -> int:
    from . import plot

    plot.require_matplotlib()
    check_target(options.out, plot.SUFFIXES)
    q = np.array(READY) if options.q is None else combine(typed_fields({"q": options.q})).q[0]
    robots = {"fr3": ("FR3", fr3), "fer": ("FER (Panda)", fer)}
    chosen = robots if options.robot == "both" else (options.robot,)
    figure = plot.figure([(robots[name][0], robots[name][1]()) for name in chosen], q)
    with replacing(options.out) as file:
        plot.save(figure, file, options.out.suffix)
    print(f"{options.out}: the ten frames of {' and '.join(robots[name][0] for name in chosen)}")
    return 0


def _frame(name: str) -> Frame:
    try:
        return Frame.of(name)
    except ValueError as error:
        raise InputError(f"--frame: {error}") from None


def _model(options: argparse.Namespace) -> Model:
    if options.payload_rule is not None and options.robot != "fer":
        raise InputError("--payload-rule belongs to --robot fer; other models add payloads as rigid bodies")
    if options.urdf is not None:
        return Model.from_urdf(options.urdf)
    return fr3() if options.robot == "fr3" else fer(options.payload_rule or "library")


if __name__ == "__main__":
    sys.exit(main())
