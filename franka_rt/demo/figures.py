"""The demonstration's figures: where the arm was, what was commanded, and how long the cycles took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from franka_rt.demo.course import Course

__all__ = ["draw", "save"]

_BUDGET = 300.0  # us, the vendor's advice
_STYLES = {"Python": ("tab:blue", "-"), "compiled": ("tab:orange", "--")}


def draw(name: str, courses: Sequence[Course]) -> Any:
    """A matplotlib figure: "tracking", "torques" or "cycles"; one column for each robot."""
    from matplotlib.figure import Figure

    painter, rows = _PAINTERS[name]
    robots = list(dict.fromkeys(course.robot for course in courses))
    figure = Figure(figsize=(5.2 * len(robots), 2.0 + 1.6 * rows), layout="constrained")
    axes = figure.subplots(rows, len(robots), squeeze=False, sharex="col")
    for column, robot in zip(axes.T, robots, strict=True):
        own = [course for course in courses if course.robot == robot]
        column[0].set_title(f"simulated {robot}")
        painter(column, own)
    return figure


def save(folder: Path, courses: Sequence[Course]) -> list[Path]:
    """All three as PNG files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png" for name in _PAINTERS]
    for name, path in zip(_PAINTERS, paths, strict=True):
        draw(name, courses).savefig(path, dpi=110)
    return paths


def _mark(axis: Any, course: Course) -> None:
    axis.axvspan(*course.pushed, color="tab:red", alpha=0.12, label="pushed down")


def _tracking(axes: Any, courses: list[Course]) -> None:
    for axis, coordinate in zip(axes, "yz", strict=True):
        index, first = "xyz".index(coordinate), courses[0]
        origin = first.target[0, index]
        axis.plot(first.time, 1e3 * (first.target[:, index] - origin), "k:", lw=1.2, label="target")
        for course in courses:
            way = 1e3 * (course.position[:, index] - origin)
            color, style = _STYLES[course.loop]
            axis.plot(course.time, way, style, color=color, lw=1.4, label=f"end effector, {course.loop} loop")
        _mark(axis, first)
        axis.set_ylabel(f"{coordinate} / mm from the start")
    axes[0].legend(fontsize=7)
    axes[-1].set_xlabel("time / s")


def _torques(axes: Any, courses: list[Course]) -> None:
    for unused in axes[len(courses) :]:
        unused.set_visible(False)
    for axis, course in zip(axes, courses, strict=False):
        for joint, values in enumerate(course.torques.T, start=1):
            axis.plot(course.time, values, lw=1, label=f"joint {joint}")
        _mark(axis, course)
        axis.set_ylabel(f"commanded torque / N m\n({course.loop} loop)")
    axes[0].legend(fontsize=6, ncols=2, loc="upper left")
    axes[len(courses) - 1].set_xlabel("time / s")


def _cycles(axes: Any, courses: list[Course]) -> None:
    axis = axes[0]
    for course in courses:
        times = 1e6 * course.statistics.turnaround
        label = f"{course.loop} loop, median {np.median(times):.0f} us"
        bins = np.geomspace(2.0, 5000.0, 90)
        axis.hist(np.clip(times, 2.0, 5000.0), bins, color=_STYLES[course.loop][0], alpha=0.6, label=label)
    axis.axvline(_BUDGET, color="tab:red", lw=1, label="vendor's advice, 300 us")
    axis.set(xscale="log", yscale="log", xlabel="state received to command sent / us", ylabel="cycles")
    axis.legend(fontsize=7)


_PAINTERS: dict[str, tuple[Callable[[Any, list[Course]], None], int]] = {
    "tracking": (_tracking, 2),
    "torques": (_torques, 2),
    "cycles": (_cycles, 1),
}
