"""The conformance command on the terminal: each title appears when its work starts, its table when it is done."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import jax

from .. import conformance as compared
from .. import gradient_check, reference, throughput
from ..conformance import UNITS, Row
from ..model import Model
from ..reference import FRAME_QUANTITIES, Reference
from .progress import progress


def conformance(data: Path) -> list[bool]:
    """One table per reference: a line per quantity, a column per load. Returns what was within its tolerance."""
    checks = []
    # All files are read before the first table, so that a missing one is known at once.
    for one in [reference.load(name, data) for name in reference.NAMES]:
        _title(_describe(one))
        rows = compared.compare(one, compared.compute(one))
        header = ("quantity", "unit", "tolerance", *one.loads, "largest value")
        _table(header, map(_line, _by_quantity(rows)), right_from=2)
        checks += [row.ok for row in rows]
    return checks


def non_affinity() -> list[bool]:
    """The figure that tells the two payload rules apart."""
    _title("FER payload rules: largest entry of |dM(2 kg) - 2 dM(1 kg)|, point payload at the flange, q = 0, kg m^2")
    figures = compared.non_affinity()
    lines = [(x.name, f"{x.value:.3e}{_mark(x.ok)}", f"{x.expected:.3e}", f"{x.tolerance:.0e}") for x in figures]
    _table(("rule", "computed", "expected", "tolerance"), lines)
    return [figure.ok for figure in figures]


def gradients(robot: str, model: Model) -> list[bool]:
    """One line per derivative and batch of states."""
    _title(f"{robot}: automatic derivatives against central differences, 8 states each; largest absolute difference")
    derivatives = progress(gradient_check.DERIVATIVES, "derivatives")
    rows = [row for derivative in derivatives for row in gradient_check.check(model, [derivative])]
    lines = [
        (x.derivative, x.states, f"{x.difference:.1e}{_mark(x.ok)}", f"{x.tolerance:.0e}", f"{x.largest:.3g}")
        for x in rows
    ]
    _table(("derivative", "states", "difference", "tolerance", "largest value"), lines, right_from=2)
    return [row.ok for row in rows]


def speed(robot: str, model: Model) -> None:
    """States per second of batched calls."""
    device = jax.devices()[0].device_kind
    _title(f"{robot}: jit(vmap(...)) over {throughput.BATCH} states, float64, {device}; median of {throughput.REPEATS}")
    lines = [(x.call, f"{x.rate:,.0f}", f"{1e6 / x.rate:.2f}") for x in throughput.measure(model)]
    _table(("call", "states/s", "us/state"), lines)


def verdict(checks: Sequence[bool]) -> int:
    """The last line, and the exit status: 1 if anything exceeds its tolerance."""
    failed = list(checks).count(False)
    if failed:
        print(f"{failed} of {len(checks)} comparisons exceed their tolerance (marked !).")
        return 1
    print(f"All {len(checks)} comparisons are within their tolerances.")
    return 0


def align(header: Sequence[str], rows: Iterable[Sequence[str]], right_from: int = 1) -> str:
    """Columns two spaces apart; those from `right_from` on are right-aligned."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def cell(column: int, text: str) -> str:
        return text.rjust(widths[column]) if column >= right_from else text.ljust(widths[column])

    return "\n".join("  ".join(cell(i, text) for i, text in enumerate(line)).rstrip() for line in lines)


def _title(text: str) -> None:
    print(text, flush=True)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], right_from: int = 1) -> None:
    print(align(header, rows, right_from), end="\n\n", flush=True)


def _describe(one: Reference) -> str:
    frames = ", ten frames" if set(one.values) & set(FRAME_QUANTITIES) else ""
    robot = one.name.partition("_")[0].upper()
    size = f"{len(one.q)} configurations x {len(one.loads)} loads{frames}"
    return f"{robot} against {one.title}: {size}; largest absolute difference"


def _by_quantity(rows: tuple[Row, ...]) -> Iterable[list[Row]]:
    return (list(group) for _, group in groupby(compared.worst_frame(rows), key=lambda row: row.quantity))


def _line(loads: list[Row]) -> tuple[str, ...]:
    first = loads[0]
    cells = (f"{row.difference:.1e}{_mark(row.ok)}" for row in loads)
    largest = max(row.largest for row in loads)
    return first.quantity, UNITS.get(first.quantity, "N m"), f"{first.tolerance:.0e}", *cells, f"{largest:.3g}"


def _mark(ok: bool) -> str:
    return "" if ok else " !"
