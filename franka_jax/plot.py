"""The arms as stick figures with their ten frames, drawn with matplotlib (an optional dependency)."""

from collections.abc import Sequence
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .cli.input_error import InputError
from .frames import Frame
from .model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".pdf", ".svg")

HAND = np.array([[0.5**0.5, 0.5**0.5, 0, 0], [-(0.5**0.5), 0.5**0.5, 0, 0], [0, 0, 1, 0.1034], [0, 0, 0, 1]])
"""F_T_EE of the vendor's hand: turned by -45 degrees about z, 0.1034 m along it."""

TOOL = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1.0]])
"""EE_T_K of the picture: far enough from the end effector to tell the two apart."""

AXES = (("x", "#d62728"), ("y", "#2ca02c"), ("z", "#1f77b4"))
ARM, INK, PALE = "#8a94a0", "#222b35", "#c9d0d7"
TRIAD = 0.09
"""Length of the drawn axes, m."""
COLUMN = 0.11
"""Distance of the names from the arm, as a fraction of a panel's width."""


def require_matplotlib() -> None:
    """InputError with the line to type if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError('drawing needs matplotlib: pip install "franka-jax[plot]"') from None


def figure(models: Sequence[tuple[str, Model]], q: Float[np.ndarray, "7"]) -> "Figure":
    """One panel per (title, model) at q (rad). Needs matplotlib."""
    from matplotlib.figure import Figure

    width = 6.2 * len(models)
    fig = Figure(figsize=(width, 6.6), facecolor="white")
    for index, (title, model) in enumerate(models):
        place = ((index + 0.04) / len(models), 0.07, 0.96 / len(models), 0.88)
        axes: Any = fig.add_axes(place, projection="3d", computed_zorder=False)
        _panel(axes, title, poses(model, q))
    _legend(fig, q)
    return fig


def poses(model: Model, q: Float[np.ndarray, "7"]) -> dict[str, Float[np.ndarray, "4 4"]]:
    """O_T_X of the ten frames by name, with a hand (`HAND`) and a stiffness frame 0.1 m in front of it (`TOOL`)."""
    all_frames = jax.jit(lambda q: jnp.stack([model.pose(frame, q, HAND, TOOL) for frame in Frame]))
    return dict(zip((frame.value for frame in Frame), np.asarray(all_frames(q)), strict=True))


def save(fig: "Figure", file: IO[bytes], suffix: str) -> None:
    """Write the figure in the format of `suffix` (".png", ".pdf", ".svg")."""
    fig.savefig(file, format=suffix.lower().lstrip("."), dpi=160)


def _panel(axes: Any, title: str, frames: dict[str, np.ndarray]) -> None:
    origins = np.array([[0.0, 0.0, 0.0], *(T[:3, 3] for T in frames.values())])
    _space(axes, title, origins)
    _draw_arm(axes, origins)
    groups = _coincident(frames)
    for names in groups:
        for rank, name in enumerate(names):
            _draw_triad(axes, frames[name], rank)
    _label(axes, {" · ".join(names): frames[names[0]][:3, 3] for names in groups})


def _space(axes: Any, title: str, origins: Float[np.ndarray, "n 3"]) -> None:
    """Limits of equal scale around the arm, a floor grid, units."""
    margin = np.array([0.3, 0.2, 0.15])
    low, high = origins.min(axis=0) - margin, origins.max(axis=0) + margin
    low[2] = min(0.0, low[2] + margin[2])
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low, zoom=0.98)
    axes.view_init(elev=16, azim=-114)
    axes.set_proj_type("persp", focal_length=1.6)
    axes.set_title(title, fontsize=15, color=INK, fontweight="bold", y=0.945)
    for axis, name in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", strict=True):
        axis.set_label_text(f"{name} (m)", fontsize=9.5, color=INK)
        axis.set_major_locator(_ticks())
        axis.set_pane_color((0.965, 0.972, 0.98, 1.0))
        axis.line.set_color(PALE)
        axis.set_tick_params(labelsize=8, labelcolor=ARM, color=PALE)
        axis._axinfo["grid"].update(color="#e3e8ed", linewidth=0.7)


def _ticks() -> Any:
    from matplotlib.ticker import MultipleLocator

    return MultipleLocator(0.2)


def _draw_arm(axes: Any, origins: Float[np.ndarray, "n 3"]) -> None:
    """Links as thick lines from origin to origin, their shadow on the floor, the base."""
    floor = axes.get_zlim()[0]
    turn = np.linspace(0, 2 * np.pi, 60)
    axes.plot(0.09 * np.cos(turn), 0.09 * np.sin(turn), 0 * turn, color=ARM, lw=1.6, zorder=2)
    axes.plot(origins[:, 0], origins[:, 1], floor, color="#dfe4e9", lw=7, solid_capstyle="round", zorder=1)
    style = {"solid_capstyle": "round", "solid_joinstyle": "round"}
    axes.plot(*origins[:9].T, color=ARM, lw=9, zorder=3, **style)
    axes.plot(*origins[:9].T, color="#dbe1e7", lw=6, zorder=4, **style)
    axes.plot(*origins[8:].T, color=ARM, lw=2, ls=(0, (1, 1.4)), zorder=3)
    axes.plot(*origins[1:].T, "o", color="white", mec=INK, mew=1.2, ms=6.5, zorder=6)


def _coincident(frames: dict[str, np.ndarray]) -> list[list[str]]:
    """Names of neighbouring frames grouped by common origin."""
    return [list(names) for _, names in groupby(frames, key=lambda name: tuple(frames[name][:3, 3].round(6)))]


def _draw_triad(axes: Any, T: Float[np.ndarray, "4 4"], rank: int) -> None:
    """x, y, z axes of a frame; the second frame at one origin gets longer and thinner lines."""
    length, width = (TRIAD, 2.6) if rank == 0 else (1.45 * TRIAD, 1.3)
    for column, (_, color) in enumerate(AXES):
        tip = T[:3, 3] + length * T[:3, column]
        axes.plot(*zip(T[:3, 3], tip, strict=True), color=color, lw=width, solid_capstyle="round", zorder=5)


def _label(axes: Any, places: dict[str, Float[np.ndarray, "3"]]) -> None:
    """Names in a column at either side of the arm, in the order of their height on the page, with leader lines."""
    from mpl_toolkits.mplot3d import proj3d

    axes.apply_aspect()
    to_axes = axes.transData + axes.transAxes.inverted()
    points = np.array([proj3d.proj_transform(x, y, z, axes.get_proj())[:2] for x, y, z in places.values()])
    page = to_axes.transform(points)
    left, right = page[:, 0].min() - COLUMN, page[:, 0].max() + COLUMN
    on_left = page[:, 0] < (left + right) / 2
    for side, x, align in ((on_left, left, "right"), (~on_left, right, "left")):
        order = np.flatnonzero(side)[np.argsort(page[side, 1], kind="stable")]
        for index, y in zip(order, spread(page[order, 1], 0.2, 0.85, 0.042), strict=True):
            axes.annotate(
                list(places)[index],
                xy=points[index],
                xytext=(x, y),
                textcoords="axes fraction",
                fontsize=10,
                color=INK,
                ha=align,
                va="center",
                arrowprops={"arrowstyle": "-", "color": "#9aa5b1", "lw": 0.8, "shrinkA": 1, "shrinkB": 5},
                zorder=8,
            )


def _legend(fig: "Figure", q: Float[np.ndarray, "7"]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, lw=2.6, label=f"{name} axis") for name, color in AXES]
    handles.append(Line2D([], [], color=ARM, lw=1.3, label="thin: second frame at the same origin"))
    fig.legend(handles=handles, loc="upper center", ncols=2 * len(fig.axes), frameon=False, fontsize=10, labelcolor=INK)
    angles = ", ".join(f"{angle:.4g}" for angle in q)
    note = "end effector: the hand, 0.1034 m from the flange, turned by -45°; stiffness frame: 0.1 m further"
    fig.text(0.5, 0.025, f"q = ({angles}) rad\n{note}", ha="center", fontsize=9, color=ARM, linespacing=1.5)


def spread(heights: Float[np.ndarray, "n"], low: float, high: float, gap: float) -> Float[np.ndarray, "n"]:
    """Ascending heights moved apart to at least `gap` by a pass up and a pass down, within low to high."""
    if not len(heights):
        return heights
    placed = heights.clip(low, high)
    for i in range(1, len(placed)):
        placed[i] = max(placed[i], placed[i - 1] + gap)
    placed[-1] = min(placed[-1], high)
    for i in range(len(placed) - 2, -1, -1):
        placed[i] = min(placed[i], placed[i + 1] - gap)
    return placed
