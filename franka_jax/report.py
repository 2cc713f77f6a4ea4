"""Text of the conformance command: tables of rows that other modules computed."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from .conformance import FRAME_QUANTITIES, UNITS, Figure, Reference, Row, worst_frame
from .gradient_check import GradientRow
from .throughput import ThroughputRow


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right_from: int = 1) -> str:
    """Aligned columns, two spaces apart; columns from `right_from` on are right-aligned."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def align(column: int, cell: str) -> str:
        return cell.rjust(widths[column]) if column >= right_from else cell.ljust(widths[column])

    return "\n".join("  ".join(align(i, cell) for i, cell in enumerate(line)).rstrip() for line in lines)


def conformance(reference: Reference, rows: tuple[Row, ...]) -> str:
    """One line per quantity, one column per load: the largest absolute difference over configurations and frames."""
    frames = ", the ten frames" if any(row.quantity in FRAME_QUANTITIES for row in rows) else ""
    title = (
        f"{reference.name.partition('_')[0].upper()} against {reference.title}: {len(reference.q)} configurations x "
        f"{len(reference.loads)} loads{frames}; largest absolute difference"
    )
    header = ("quantity", "unit", "tolerance", *reference.loads, "largest value")
    return f"{title}\n{table(header, map(_line, _by_quantity(rows)), right_from=2)}"


def figures(title: str, numbers: Iterable[Figure]) -> str:
    """Single numbers with what they should be."""
    lines = [(x.name, f"{x.value:.3e}{_mark(x.ok)}", f"{x.expected:.3e}", f"{x.tolerance:.0e}") for x in numbers]
    return f"{title}\n{table(('', 'computed', 'expected', 'tolerance'), lines)}"


GRADIENT_HEADER = ("derivative", "states", "difference", "tolerance", "largest value")


def gradients(robot: str, rows: Iterable[GradientRow]) -> str:
    """One line per derivative and batch of states."""
    lines = [
        (x.derivative, x.states, f"{x.difference:.1e}{_mark(x.ok)}", f"{x.tolerance:.0e}", f"{x.largest:.3g}")
        for x in rows
    ]
    title = f"{robot} gradients, automatic against central differences (finite everywhere); largest absolute difference"
    return f"{title}\n{table(GRADIENT_HEADER, lines, right_from=2)}"


def throughput(title: str, rows: Iterable[ThroughputRow]) -> str:
    """One line per call."""
    lines = [(x.call, f"{x.rate:,.0f}", f"{1e6 / x.rate:.2f}") for x in rows]
    return f"{title}\n{table(('call', 'states/s', 'us/state'), lines)}"


def _by_quantity(rows: tuple[Row, ...]) -> Iterable[list[Row]]:
    return (list(group) for _, group in groupby(worst_frame(rows), key=lambda row: row.quantity))


def _line(loads: list[Row]) -> tuple[str, ...]:
    first = loads[0]
    cells = (f"{row.difference:.1e}{_mark(row.ok)}" for row in loads)
    largest = max(row.largest for row in loads)
    return first.quantity, UNITS.get(first.quantity, "N m"), f"{first.tolerance:.0e}", *cells, f"{largest:.3g}"


def _mark(ok: bool) -> str:
    return "" if ok else " !"
