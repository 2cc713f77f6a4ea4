"""Figures of a report: each function draws one on a fresh matplotlib figure and returns it."""

import io

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from franka_jax import Frame, Model, Payload

from .base import NAMES
from .identify import Identification
from .payload_fit import replace_rule
from .reachable import pseudo_inertias
from .sampling import READY

_ROUND_OFF = 1e-17


def singular_values(found: Identification) -> Figure:
    """Singular values of the scaled regression matrix with the cut."""
    fit = found.fit
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    relative = np.maximum(fit.singular_values / fit.singular_values[0], _ROUND_OFF)
    index = np.arange(1, 71)
    axes.semilogy(index[: fit.rank], relative[: fit.rank], "o", ms=4, label=f"kept: {fit.rank}")
    axes.semilogy(index[fit.rank :], relative[fit.rank :], "x", ms=5, label=f"null space: {70 - fit.rank}")
    axes.axhline(fit.threshold, color="0.4", lw=1, ls="--", label=f"cut {fit.threshold:.0e}")
    axes.set(xlabel="number", ylabel="singular value / largest", title="Singular values of A D$^{-1}$")
    axes.legend()
    return figure


def residuals(found: Identification) -> Figure:
    """Largest residuals per quantity: fitted, held out, single precision, payload by both rules."""
    bars = {f"{name}, fit": r.max for name, r in found.fit.residuals.items()}
    bars |= {f"{name}, held out": r.max for name, r in found.heldout.items()}
    bars |= {f"{name}, float32": r.max for name, r in found.single.residuals.items()}
    if found.payload is not None:
        bars |= {f"{name}, payload, library rule": r.max for name, r in found.payload.library.items()}
        bars |= {f"{name}, payload, rigid rule": r.max for name, r in found.payload.rigid.items()}
    figure = Figure(figsize=(7, 0.28 * len(bars) + 1), layout="constrained")
    axes = figure.subplots()
    axes.barh(list(bars), np.maximum(list(bars.values()), _ROUND_OFF))
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.axvline(1e-13, color="0.4", ls="--", lw=1)
    axes.set(xlabel="largest difference, kg m$^2$ (mass) or N m", title="Residuals")
    return figure


def parameters(found: Identification) -> Figure:
    """The seventy parameters: prior, identified, physical twin."""
    figure = Figure(figsize=(9, 9), layout="constrained")
    groups = (("mass, kg", [0]), ("first moment, kg m", [1, 2, 3]), ("inertia, kg m$^2$", range(4, 10)))
    sets = (("prior", found.fit.prior), ("identified", found.phi), ("physical twin", found.twin.phi))
    for axes, (label, columns) in zip(figure.subplots(3), groups, strict=True):
        picked = [10 * link + k for link in range(7) for k in columns]
        place = np.arange(len(picked))
        for k, (name, phi) in enumerate(sets):
            axes.bar(place + 0.28 * (k - 1), phi.ravel()[picked], 0.28, label=name)
        axes.set_xticks(place, [NAMES[i] for i in picked], rotation=90 if len(picked) > 7 else 0, fontsize=7)
        axes.set_ylabel(label)
        axes.axhline(0, color="0.3", lw=0.6)
        axes.legend(fontsize=8)
    figure.suptitle("Inertial parameters (of the identified set only base combinations have a meaning)")
    return figure


def eigenvalues(found: Identification) -> Figure:
    """Smallest pseudo-inertia eigenvalue per link: as fitted, best exact fit, physical twin."""
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    sets = (("as fitted", found.fit.phi), ("best exact fit", found.reachable.phi), ("physical twin", found.twin.phi))
    for k, (name, phi) in enumerate(sets):
        lowest = np.linalg.eigvalsh(pseudo_inertias(phi))[:, 0]
        axes.bar(np.arange(1, 8) + 0.27 * (k - 1), lowest, 0.27, label=name)
    axes.axhline(found.reachable.bound, color="0.3", ls="--", lw=1, label="no exact fit has its smallest above")
    axes.set(xlabel="link", ylabel="smallest eigenvalue (mixed units)", title="How physical")
    axes.legend(fontsize=8)
    return figure


def ellipsoids(found: Identification, q: tuple[float, ...] = READY) -> Figure:
    """The arm at q with the twin's bodies as solid ellipsoids of uniform density and equal inertia."""
    figure = Figure(figsize=(6, 6.5), layout="constrained")
    axes = figure.add_subplot(projection="3d")
    model = found.physical_model
    poses = [np.asarray(model.pose(frame, q)) for frame in (*_joints(), Frame.FLANGE)]
    spine = np.array([np.zeros(3), *(pose[:3, 3] for pose in poses)])
    axes.plot(*spine.T, "k.-", lw=1)
    for link, (pose, J) in enumerate(zip(poses, pseudo_inertias(found.twin.phi), strict=False)):
        axes.plot_surface(*_surface(pose, J), color=f"C{link}", alpha=0.45, linewidth=0)
    axes.set(xlabel="x, m", ylabel="y, m", zlabel="z, m", title="Equivalent ellipsoids of the physical twin")
    reach = np.abs(spine).max() * 1.1
    axes.set(xlim=(-reach / 2, reach), ylim=(-0.75 * reach, 0.75 * reach), zlim=(0, 1.5 * reach))
    axes.set_box_aspect((1, 1, 1))
    return figure


def _joints() -> tuple[Frame, ...]:
    return tuple(Frame(f"joint{k}") for k in range(1, 8))


def _surface(pose: Float[np.ndarray, "4 4"], J: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "3 n m"]:
    """Points of the ellipsoid: a uniform solid with second moments sigma about its centre has semi-axes
    sqrt(5 eig(sigma) / m).
    """
    m, h = J[3, 3], J[:3, 3]
    moments, axes = np.linalg.eigh(J[:3, :3] - np.outer(h, h) / m)
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    sphere = np.array([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    half = np.sqrt(5 * np.maximum(moments, 0) / m)
    local = np.einsum("ij,jab->iab", axes * half, sphere) + (h / m)[:, None, None]
    return np.einsum("ij,jab->iab", pose[:3, :3], local) + pose[:3, 3, None, None]


def png(figure: Figure) -> bytes:
    """The figure as a PNG image."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def all_figures(found: Identification) -> dict[str, Figure]:
    """Every figure by the name of its file."""
    drawn = (singular_values, residuals, parameters, eigenvalues, ellipsoids)
    return {function.__name__: function(found) for function in drawn}


def payload_curve(model: Model, masses: Float[np.ndarray, "k"], q: tuple[float, ...] = READY) -> Figure:
    """What the library's payload rule changes in the mass matrix against the rigid rule, over the payload's mass."""
    rigid = replace_rule(model, "rigid")
    changes = []
    for m in masses:
        payload = Payload(float(m), [0.0, 0.0, 0.05], np.zeros((3, 3)))
        changes.append(np.abs(np.asarray(model.mass(q, payload) - rigid.mass(q, payload))).max())
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(masses, changes)
    axes.set(xlabel="payload, kg", ylabel="largest entry, kg m$^2$", title="Library rule minus rigid rule, ready pose")
    return figure
