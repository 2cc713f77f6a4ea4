"""Draws the pictures of the documentation from the model itself.

python docs/figures.py            writes docs/figures/*.png
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from franka_jax import Frame, fr3

READY = np.array([0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4])
OUT = Path(__file__).resolve().parent / "figures"
AXES = "#d62728", "#2ca02c", "#1f77b4"
ARM, LOAD = "#9aa0a6", "#e67e22"


def turn(axis: int, degrees: float, translation=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Homogeneous rotation about a coordinate axis with a translation, m."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    T = np.eye(4)
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    T[:3, 3] = translation
    return T


F_T_EE = turn(2, -45, (0, 0, 0.1034))
EE_T_K = turn(0, 30, (0.03, 0, 0.06))


def draw_triad(ax, T, length, width=1.8):
    """x red, y green, z blue."""
    for k, color in enumerate(AXES):
        ends = np.stack([T[:3, 3], T[:3, 3] + length * T[:3, k]])
        ax.plot(*ends.T, color=color, lw=width, solid_capstyle="round", zorder=5)


def label(ax, point, text, offset):
    """Text next to a point, with a thin leader."""
    at = point + np.asarray(offset)
    ax.plot(*np.stack([point, at]).T, color="#555555", lw=0.6, zorder=1)
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
    ax.text(*at, text, fontsize=9.5, ha="center", va="center", bbox=box, zorder=20)


def draw_frames(path: Path) -> None:
    """The arm at the ready pose with the ten frames; enlarged, the last ones with a payload."""
    model = fr3()
    poses = {frame: np.asarray(model.pose(frame, READY, F_T_EE, EE_T_K)) for frame in Frame}
    figure = plt.figure(figsize=(11, 6.2))
    left = figure.add_subplot(1, 2, 1, projection="3d")
    right = figure.add_subplot(1, 2, 2, projection="3d")
    draw_arm(left, poses)
    draw_tool(right, poses)
    lines = [Line2D([], [], color=color, lw=2.4) for color in AXES]
    figure.legend(lines, ["x axis", "y axis", "z axis (joint axis)"], loc="lower center", ncols=3, frameon=False)
    figure.subplots_adjust(left=0, right=0.97, bottom=0.02, top=0.94, wspace=0.02)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_arm(ax, poses) -> None:
    """Base and joint frames on the stick figure."""
    origins = np.stack([np.zeros(3)] + [poses[frame][:3, 3] for frame in list(Frame)[:8]])
    ax.plot(*origins.T, color=ARM, lw=6, solid_capstyle="round", alpha=0.55)
    draw_triad(ax, np.eye(4), 0.16, 2.6)
    label(ax, np.zeros(3), "O (base)", (-0.18, 0, 0.03))
    offsets = {
        Frame.JOINT1: (-0.20, 0, -0.04),
        Frame.JOINT2: (0.24, 0, -0.04),
        Frame.JOINT3: (-0.12, 0, -0.10),
        Frame.JOINT4: (0.02, 0, 0.12),
        Frame.JOINT5: (-0.06, 0, 0.16),
        Frame.JOINT6: (0.12, 0, 0.16),
        Frame.JOINT7: (0.17, 0, 0.06),
        Frame.FLANGE: (-0.19, 0, -0.03),
    }
    for frame, offset in offsets.items():
        draw_triad(ax, poses[frame], 0.085)
        label(ax, poses[frame][:3, 3], frame.value, offset)
    ax.quiver(0.5, 0, 0.36, 0, 0, -0.14, color="black", lw=1.2, arrow_length_ratio=0.25)
    ax.text(0.5, 0, 0.19, "gravity_earth\n(0, 0, −9.81) m/s²", fontsize=9.5, ha="center", va="top")
    title = (
        "FR3 at the ready pose: base, joint frames, flange\n(joint1 and joint2, joint5 and joint6 share their origins)"
    )
    finish(ax, ((-0.3, 0.6), (-0.25, 0.25), (0, 0.8)), title)


def draw_tool(ax, poses) -> None:
    """Flange, end effector, stiffness frame, and a payload in flange axes."""
    flange, ee, k = (poses[f] for f in (Frame.FLANGE, Frame.END_EFFECTOR, Frame.STIFFNESS))
    joint7 = poses[Frame.JOINT7]
    ax.plot(*np.stack([joint7[:3, 3], flange[:3, 3]]).T, color=ARM, lw=8, alpha=0.55, solid_capstyle="round")
    center = (flange @ np.array([0.05, -0.04, 0.03, 1]))[:3]
    for T, name, offset in (
        (joint7, "joint7", (-0.09, 0, 0.0)),
        (flange, "flange\n(link8)", (-0.1, 0, 0.0)),
        (ee, "end_effector\n= flange · F_T_EE", (-0.12, 0, -0.01)),
        (k, "stiffness\n= flange · F_T_EE · EE_T_K", (-0.04, 0, -0.07)),
    ):
        draw_triad(ax, T, 0.045, 2.4)
        label(ax, T[:3, 3], name, offset)
    for a, b in ((flange, ee), (ee, k)):
        ax.plot(*np.stack([a[:3, 3], b[:3, 3]]).T, color="black", lw=1, ls=":")
    ax.plot(*np.stack([flange[:3, 3], center]).T, color=LOAD, lw=1.5, ls="--")
    ax.scatter(*center, s=140, color=LOAD, zorder=6)
    label(ax, center, "payload: m_total at\nF_x_Ctotal (flange axes);\nI_total about this point", (0.065, 0, 0.085))
    middle = flange[:3, 3] + np.array([0.03, 0, -0.085])
    half = np.array([0.19, 0.11, 0.17])
    limits = list(zip(middle - half, middle + half, strict=True))
    finish(ax, limits, "Enlarged: tool frames and payload\n(example F_T_EE, EE_T_K)", ticks=0.1)


def finish(ax, limits, title, ticks=0.25) -> None:
    """Equal scales, axis labels with units."""
    for axis, (low, high), name in zip("xyz", limits, ("x", "y", "z"), strict=True):
        getattr(ax, f"set_{axis}lim")(low, high)
        getattr(ax, f"set_{axis}label")(f"{name} / m")
        getattr(ax, f"{axis}axis").set_major_locator(MultipleLocator(ticks))
    ax.set_box_aspect([high - low for low, high in limits], zoom=1.0)
    ax.set_proj_type("ortho")
    ax.view_init(elev=14, azim=-72)
    ax.set_title(title, fontsize=11)


def main() -> None:
    """Write all pictures."""
    jax.config.update("jax_enable_x64", True)
    OUT.mkdir(exist_ok=True)
    draw_frames(OUT / "frames.png")


if __name__ == "__main__":
    main()
