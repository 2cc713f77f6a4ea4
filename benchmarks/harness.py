"""Timing side by side: all cases in turn, round after round, so that a busy moment of the machine hits all alike."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

RESULTS = Path(__file__).parent / "results"


class Case(NamedTuple):
    """One thing to time: `run` does `units` units of work (states) per call. What runs in another process has `timed`
    instead, which gives the seconds of a number of calls there.
    """

    run: Callable[[], object] = lambda: None
    units: int = 1
    timed: Callable[[int], float] | None = None

    def seconds(self, repetitions: int) -> float:
        """The time of so many calls."""
        if self.timed is not None:
            return self.timed(repetitions)
        start = time.perf_counter()
        for _ in range(repetitions):
            self.run()
        return time.perf_counter() - start


class Timing(NamedTuple):
    """Microseconds per unit: median of the rounds, their 10 % and 90 % quantiles."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:9.3f}   ({self.low:.3f} .. {self.high:.3f})"


def _repetitions(case: Case, seconds: float) -> int:
    """Calls that take about `seconds`, from the fastest of some calls: a disturbed one would leave caches cold."""
    case.seconds(1)
    return max(1, int(seconds / max(min(case.seconds(1) for _ in range(10)), 1e-7)))


def measure(cases: Mapping[str, Case], rounds: int = 40, seconds: float = 0.004) -> dict[str, Timing]:
    """Time all cases, `rounds` times about `seconds` each, in turn. Short calls are made once before the clock starts:
    what ran before them was another case, perhaps another process.
    """
    repetitions = {name: _repetitions(case, seconds) for name, case in cases.items()}
    samples: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            if repetitions[name] > 1:
                case.seconds(1)
            spent = case.seconds(repetitions[name])
            samples[name].append(1e6 * spent / (repetitions[name] * case.units))
    return {name: Timing(float(np.median(x)), *np.quantile(x, (0.1, 0.9)).tolist()) for name, x in samples.items()}


def machine() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def table(title: str, timings: Mapping[str, Timing], base: str) -> str:
    """Rows of name, microseconds and the ratio to `base`."""
    rows = [f"{title}: microseconds, median (10 % .. 90 %), and times {base!r}"]
    for name, timing in timings.items():
        rows.append(f"  {name:44s} {timing!s:36s} x {timing.median / timings[base].median:.2f}")
    return "\n".join(rows)


def save(name: str, sections: Mapping[str, Mapping[str, Timing]]) -> Path:
    """Write the timings as JSON."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {title: {key: timing._asdict() for key, timing in timings.items()} for title, timings in sections.items()}
    path.write_text(json.dumps({"machine": machine(), "microseconds": content}, indent=1) + "\n", encoding="utf-8")
    return path


def chart(name: str, sections: Mapping[str, Mapping[str, Timing]]) -> Path:
    """Draw the medians as bars on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(sections), 1, figsize=(8, 0.8 + 0.32 * sum(len(t) + 2 for t in sections.values())), layout="constrained",
        height_ratios=[len(t) + 1 for t in sections.values()], squeeze=False,
    )  # fmt: skip
    for axis, (title, timings) in zip(axes[:, 0], sections.items(), strict=True):
        names, values = list(timings), [t.median for t in timings.values()]
        errors = np.abs(np.array([(t.median - t.low, t.high - t.median) for t in timings.values()]).T)
        axis.barh(names, values, xerr=errors, color=["tab:blue" if "kernel" in n else "tab:gray" for n in names])
        axis.invert_yaxis()
        axis.set(xscale="log", xlabel="microseconds (median, 10-90 %)", title=title)
    path = RESULTS / f"{name}.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
