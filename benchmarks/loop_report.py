"""What the cycles of a run say, and all runs side by side: table, JSON, figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, machine

SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
NAMES = {
    "model-five": "Cartesian impedance in numpy, five calls", "model-one": "Cartesian impedance in numpy, one call",
    "model-joint": "joint impedance in numpy, one call", "model-kernel": "Cartesian impedance as a kernel",
    "python": "franka_rt, numpy law", "active": "franka_rt, numpy law, active control",
    "kernel": "franka_rt, kernel law", "compiled": "franka_rt, compiled loop", "echo": "C echo, no law",
    "pylibfranka": "pylibfranka, numpy law", "pylibfranka-plain": "pylibfranka, numpy law, no model",
    "panda": "panda-python, numpy law", "franka-rs": "franka-rs, Rust loop",
}  # fmt: skip
YARDSTICK, YARDSTICK_US = "pylibfranka-plain", 33.0
"""What others' times inside a process are compared with, and what it took on the machine that the aims are from."""
TARGETS = (  # ours, theirs, quantity, largest ratio
    ("python 10", "pylibfranka 10", "p50", 1.0),
    ("compiled 10", "franka-rs 10", "p50", 1.0),
    ("compiled 10", "franka-rs 10", "p99", 1.2),
    ("compiled 5", "franka-rs 5", "p50", 1.0),
    ("compiled 5", "franka-rs 5", "p99", 1.2),
)

Run = dict[str, Any]


def label(case: str) -> str:
    """Name of "client version" for people."""
    client, version = case.rsplit(" ", 1)
    return f"{NAMES.get(client, client)}, v{version}"


def evaluate(cycles: Mapping[str, np.ndarray]) -> Run:
    """Quantiles of turnaround (us), lost cycles and the server's own lateness (us).

    A cycle is lost if its command was not at the server before the next state was sent; one that never came counts as
    infinite in the quantiles.
    """
    sent, turnaround, tick = (cycles[name].astype(float) for name in ("sent", "turnaround", "tick"))
    turnaround[turnaround < 0] = np.inf
    lost = np.count_nonzero(turnaround[:-1] > np.diff(sent)) + np.count_nonzero(np.isinf(turnaround[-1:]))
    run: Run = {name: _quantile(turnaround, share) for name, share in SHARES.items()}
    return run | {"lost": int(lost), "cycles": len(sent), "server late p99.9": _quantile(tick, 0.999)}


def _quantile(nanoseconds: np.ndarray, share: float) -> float:
    """us"""
    return float(np.quantile(nanoseconds, share, method="higher")) / 1e3


def medians(runs: Mapping[str, Sequence[Run]]) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Case -> quantity -> (median, least, largest) of its runs."""

    def spread(values: list[float]) -> tuple[float, float, float]:
        return float(np.median(values)), min(values), max(values)

    quantities = (*SHARES, "lost", "server late p99.9")
    return {case: {k: spread([run[k] for run in rs]) for k in quantities} for case, rs in runs.items()}


def table(runs: Mapping[str, Sequence[Run]]) -> str:
    """Medians of the runs with their spread."""
    rows = [
        f"{'':44}{'p50 / us':>20}{'p99 / us':>22}{'p99.9 / us':>24}{'lost / 10 000':>20}  runs  scheduling of the loop"
    ]
    for case, numbers in medians(runs).items():
        per = 1e4 / runs[case][0]["cycles"]
        cells = [_cell(numbers[name], 1.0) for name in SHARES] + [_cell(numbers["lost"], per)]
        widths = (20, 22, 24, 20)
        text = "".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        rows.append(f"{label(case):44}{text}  {len(runs[case]):4d}  {_policy(runs[case])}")
    late = max(number["server late p99.9"][0] for number in medians(runs).values())
    return "\n".join(
        [*rows, f"The server sent its states within {late:.0f} us of their time (p99.9, the worst client's median)."]
    )


def _cell(value: tuple[float, float, float], factor: float) -> str:
    middle, least, largest = (factor * x for x in value)
    return f"{middle:.1f} ({least:.0f}..{largest:.0f})"


def _policy(runs: Sequence[Run]) -> str:
    raised = sorted({p for run in runs for p in run["policies"] if p != "ordinary"})
    return ", ".join(raised) or "ordinary"


def ratios(runs: Mapping[str, Sequence[Run]]) -> str:
    """Ours to theirs where both ran, next to the aims; tail and losses next to the other's spread."""
    numbers, rows = medians(runs), ["", "ratios of the medians"]
    for ours, theirs, quantity, largest in TARGETS:
        if ours in numbers and theirs in numbers:
            ratio = numbers[ours][quantity][0] / numbers[theirs][quantity][0]
            verdict = "met" if ratio <= largest else "MISSED"
            if np.isinf(numbers[theirs][quantity][0]):
                verdict = "NOT COMPARABLE: theirs lost that many cycles"
            rows.append(f"  {quantity:6} {label(ours)} / {label(theirs)}: {ratio:.2f} (aim: <= {largest:g}, {verdict})")
    for ours, theirs in dict.fromkeys((ours, theirs) for ours, theirs, _, _ in TARGETS):
        for quantity in ("p99.9", "lost") if ours in numbers and theirs in numbers else ():
            median, limit = numbers[ours][quantity][0], numbers[theirs][quantity][2]
            verdict = "within the other's spread or better" if median <= limit else "WORSE THAN THE OTHER'S SPREAD"
            rows.append(f"  {quantity:6} {label(ours)}: {median:.1f}, {label(theirs)}: at most {limit:.1f}: {verdict}")
    return "\n".join(rows) if len(rows) > 2 else ""


def same_law(runs: Mapping[str, Sequence[Run]]) -> str:
    """How far the torques of the clients are apart, per version."""
    lines = []
    for version in ("5", "10"):
        torques = {case: rs[0]["torques"] for case, rs in runs.items() if case.endswith(f" {version}")}
        if len(torques) > 1:
            spread = np.ptp(np.array(list(torques.values())), axis=0).max()
            lines.append(f"v{version}: the clients' torques for the same state differ by at most {spread:.1e} Nm.")
    return "\n".join(lines)


def in_process(runs: Mapping[str, Sequence[Run]], aims: Mapping[str, float]) -> str:
    """What the loops measured of themselves: state received to command sent; also in units of the yardstick's median.

    The aims are from a machine on which the yardstick took YARDSTICK_US.
    """
    rows = [f"{'state received to command sent':44}{'p50 / us':>20}{'p99 / us':>22}{'aim p50 / us':>14}"]
    middles = {case: float(np.median([1e6 * run["statistics"]["p50"] for run in rs])) for case, rs in runs.items()}
    unit = next((p50 for case, p50 in middles.items() if case.split()[0] == YARDSTICK), None)
    for case, rs in runs.items():
        p50, p99 = ([1e6 * run["statistics"][name] for run in rs] for name in ("p50", "p99"))
        cells = [_cell((float(np.median(x)), min(x), max(x)), 1.0) for x in (p50, p99)]
        row = f"{label(case):44}{cells[0]:>20}{cells[1]:>22}"
        aim = aims.get(case.split()[0])
        if aim is not None:
            row += f"{aim:14.0f}  {'met' if middles[case] <= aim else 'MISSED'}"
            if unit is not None:
                row += f"; {middles[case] / unit:.2f} of pylibfranka's (aim {aim / YARDSTICK_US:.2f})"
        rows.append(row)
    return "\n".join(rows)


def save(name: str, setting: Mapping[str, Any], runs: Mapping[str, Sequence[Run]]) -> Path:
    """Everything as JSON."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {"machine": machine(), **setting, "medians": medians(runs), "runs": runs}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def chart(name: str, turnaround: Mapping[str, np.ndarray], title: str) -> Path:
    """Distribution of turnaround: share of cycles below a time, and share above it on a logarithmic axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for case, values in turnaround.items():
        times = np.sort(np.where(values < 0, np.inf, values / 1e3))
        share = np.arange(1, len(times) + 1) / len(times)
        ours = case.split()[0] in ("python", "active", "kernel", "compiled")
        style = {"label": label(case), "linestyle": "-" if ours else "--"}
        left.plot(times, share, **style)
        right.plot(times, 1.0 - share + 0.5 / len(times), **style)
    left.set(
        xscale="log", xlabel="state sent to command at the server / us", ylabel="share of cycles below", xlim=(20, 2000)
    )
    right.set(
        xscale="log", yscale="log", xlabel="state sent to command at the server / us", ylabel="share of cycles above"
    )
    right.set(xlim=(20, 2000))
    right.axvline(1000.0, color="black", linewidth=0.8)
    left.legend(fontsize="small")
    figure.suptitle(title)
    path = RESULTS / f"{name}.png"
    figure.savefig(path, dpi=120)
    return path
