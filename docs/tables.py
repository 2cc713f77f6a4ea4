"""Tables generated at build time: limits from the dialects, and what was measured from `docs/measurements/*.json`.

The measurements are files that `python -m benchmarks.loop` writes (benchmarks/results/loop.json and so on), copied here
when they are to be shown.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from franka_rt.v5 import V5
from franka_rt.v10 import V10

MEASURED = {
    "loop": "Side by side on loopback, with the same law (Coriolis torques and an impedance) against the same server. "
    "Turnaround is from a state sent by the server to its command received there. `python -m benchmarks.loop`",
    "loop_hostile": "The same while another thread of the client's process keeps the interpreter busy with allocation "
    "and printing. `python -m benchmarks.loop --hostile`",
    "loop_in_process": "State received to command sent, with the model in the loop, as the loops measure themselves. "
    "`python -m benchmarks.loop --in-process`",
}
"""File in `docs/measurements` -> what it shows, in the order of the page."""

CLIENTS = {
    "python": "Python loop, numpy law",
    "active": "active control, numpy law",
    "kernel": "Python loop, kernel law",
    "compiled": "compiled loop",
    "pylibfranka": "pylibfranka, numpy law",
    "panda": "panda-python, numpy law",
    "franka-rs": "franka-rs (Rust)",
    "echo": "C program, no law",
    "model-five": "Cartesian impedance in numpy, five model calls",
    "model-one": "Cartesian impedance in numpy, one model call",
    "model-joint": "joint impedance in numpy, one model call",
    "model-kernel": "Cartesian impedance as a kernel, with its model",
    "pylibfranka-plain": "pylibfranka, joint impedance in numpy, no model",
}


_JOINT_LIMITS = {
    "torque_rate": "N m/s",
    "joint_velocity": "rad/s",
    "joint_acceleration": "rad/s²",
    "joint_jerk": "rad/s³",
}


def write_tables(measurements: Path, folder: Path) -> None:
    """`limits.md` and `loops.md`, to be included by pages."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "limits.md").write_text(_limits(), encoding="utf-8")
    found = [(text, measurements / f"{name}.json") for name, text in MEASURED.items()]
    parts = [_measured(text, json.loads(path.read_text(encoding="utf-8"))) for text, path in found if path.exists()]
    head = ["## Both loops beside other clients\n"] if parts else []
    (folder / "loops.md").write_text("\n".join([*head, *parts]), encoding="utf-8")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _limits() -> str:
    rows = []
    for name, unit in _JOINT_LIMITS.items():
        rows.append([f"{name.replace('_', ' ')}, {unit}", *(_joints(getattr(d.limits, name)) for d in (V5, V10))])
    for name, unit in (("translational", "m"), ("rotational", "rad"), ("elbow", "rad")):
        limits = [getattr(d.limits, name) for d in (V5, V10)]
        rows.append([f"{name} velocity / acceleration / jerk, {unit}", *(_numbers(x[::-1], " / ") for x in limits)])
    return _table(["", "FER", "FR3"], rows)


def _joints(limits: np.ndarray | None) -> str:
    if limits is None:
        return "depends on q"
    return f"{limits[0]:.6g}" if np.ptp(limits) == 0.0 else _numbers(limits, ", ")


def _numbers(values: Iterable[float], separator: str) -> str:
    return separator.join(f"{value:.6g}" for value in values)


def _measured(text: str, result: Mapping[str, Any]) -> str:
    """One measurement: what, where, and a row for each client and version."""
    runs = result["runs"]
    most = max(len(series) for series in runs.values())
    spread = (
        "one run" if most == 1 else f"up to {most} runs in turn, medians of the runs, least and largest in brackets"
    )
    machines = f"server {result['server']}, clients {result['client']}"
    where = f"({result['machine']}; {machines}; {result['seconds']:g} s, {spread}.)"
    rows = [_row(case, series) for case, series in runs.items()]
    head = ["", "version", "p50 / µs", "p99 / µs", "p99.9 / µs", "cycles lost, of 10 000"]
    note = "∞: so many commands came after the next state, or never.\n" if any("∞" in "".join(r) for r in rows) else ""
    return f"{text}\n{where}\n\n{_table(head, rows)}\n{note}"


def _row(case: str, series: Sequence[Mapping[str, Any]]) -> list[str]:
    client, version = case.rsplit(" ", 1)
    inside = client.startswith("model-") or client.endswith("-plain")  # what the loop measured of itself, s
    quantities = [[1e6 * run["statistics"][q] if inside else run[q] for run in series] for q in ("p50", "p99", "p99.9")]
    lost = [1e4 * run["lost"] / run["cycles"] for run in series]
    return [CLIENTS.get(client, client), version, *(_spread(x) for x in [*quantities, lost])]


def _spread(values: Sequence[float]) -> str:
    middle, least, largest = (_number(f(values)) for f in (np.median, min, max))
    return middle if len(values) == 1 else f"{middle} ({least} to {largest})"


def _number(value: float) -> str:
    return "∞" if np.isinf(value) else f"{value:.0f}" if value >= 100 else f"{value:.1f}"
