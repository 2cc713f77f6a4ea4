"""Fit of the seventy inertial parameters to a closed model's answers without payload.

    theta = theta_0 + D^-1 (A D^-1)+ (y - A theta_0)

the exact fit (or, with noise, the least-squares fit) nearest to the prior theta_0 in the norm |D (theta - theta_0)|.
The rows A, y and the scaling D are those of `regression`, the pseudo-inverse that of `least_squares`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from franka_jax import Model, fer

from . import least_squares, regression
from .base import BaseParameter, Regrouping, base_parameters, null_directions, regroup
from .dataset import UPPER, Dataset
from .least_squares import Solver
from .prior import gaz_2019
from .regression import Rows


@dataclass(frozen=True)
class Residual:
    """Largest and root-mean-square difference of one quantity, in `unit`."""

    max: float
    rms: float
    unit: str

    @classmethod
    def of(cls, difference: ArrayLike, unit: str) -> "Residual":
        """Of an array of differences of any shape."""
        values = np.asarray(difference)
        return cls(float(np.abs(values).max()), float(np.sqrt(np.mean(values**2))), unit)


@dataclass(frozen=True, eq=False)
class LibraryFit:
    """Parameters with their evidence.

    `phi` (7, 10) and `prior` (7, 10); `rank`, `singular_values` (70,) of A D^-1 and the `threshold` (relative) below
    which they count as zero; `scale` (70,), the diagonal of D; `triangle` (70, 70), the QR factor of A; `residuals` per
    quantity; `configurations` fitted; `solver`.
    """

    phi: Float[np.ndarray, "7 10"]
    prior: Float[np.ndarray, "7 10"]
    rank: int
    singular_values: Float[np.ndarray, "70"]
    threshold: float
    scale: Float[np.ndarray, "70"]
    triangle: Float[np.ndarray, "70 70"]
    residuals: dict[str, Residual]
    configurations: int
    solver: Solver
    model: Model

    @property
    def theta(self) -> Float[np.ndarray, "70"]:
        """phi as one vector."""
        return self.phi.ravel()

    @cached_property
    def _groups(self) -> Regrouping:
        return regroup(self.triangle)

    @cached_property
    def base(self) -> tuple[BaseParameter, ...]:
        """The identified combinations, one for each rank."""
        return base_parameters(self._groups, self.theta)

    @cached_property
    def null_space(self) -> Float[np.ndarray, "70 k"]:
        """Directions (SI units) that change no fitted quantity, k = 70 - rank; see `base.null_directions`."""
        return null_directions(self._groups)

    @property
    def worst_residual(self) -> float:
        """The largest residual of all fitted quantities, SI units."""
        return max(residual.max for residual in self.residuals.values())

    def predict(self, data: Dataset) -> dict[str, Residual]:
        """Differences of every linear quantity in `data` (rows without payload)."""
        return residuals(regression.build_rows(self.model, data.unloaded, regression.available(data)), self.theta)

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {r.max:.1e} {r.unit}" for name, r in self.residuals.items())
        return f"LibraryFit(rank {self.rank}, {self.configurations} configurations, worst residuals: {parts})"


def fit(
    data: Dataset,
    model: Model | None = None,
    prior: Float[ArrayLike, "7 10"] | None = None,
    scale: Float[ArrayLike, "70"] | None = None,
    solver: Solver = "svd",
    refinements: int = 1,
    quantities: Sequence[str] = ("mass", "gravity"),
) -> LibraryFit:
    """Fit the rows of `data` that carry no payload.

    `model` gives placements and limits (default: the FER), `prior` the point to stay near (default: Gaz 2019), `scale`
    the diagonal of D (default: that of the 208 configurations). `solver`: see `least_squares`. DatasetError if no row
    is without payload.
    """
    model = fer() if model is None else model
    rows = regression.build_rows(model, data.unloaded, quantities)
    return fit_rows(rows, model, prior, scale, solver, refinements)


def fit_rows(
    rows: Mapping[str, Rows],
    model: Model,
    prior: Float[ArrayLike, "7 10"] | None = None,
    scale: Float[ArrayLike, "70"] | None = None,
    solver: Solver = "svd",
    refinements: int = 1,
) -> LibraryFit:
    """`fit` for rows that are already built."""
    A, y = regression.stack(rows)
    start = np.ravel(gaz_2019() if prior is None else np.asarray(prior))
    D = regression.recipe_scale(model) if scale is None else np.asarray(scale)
    theta, values, rank = jax.tree.map(np.asarray, _solve(A, y, start, D, solver, refinements))
    phi = theta.reshape(7, 10)
    return LibraryFit(
        phi,
        start.reshape(7, 10),
        int(rank),
        values,
        least_squares.THRESHOLD_FLOAT32 if solver == "float32" else least_squares.THRESHOLD,
        D,
        np.linalg.qr(A)[1],
        residuals(rows, theta),
        len(next(iter(rows.values())).observations),
        solver,
        model.with_phi(phi),
    )


@partial(jax.jit, static_argnames=("solver", "refinements"))
def _solve(A: Array, y: Array, prior: Array, scale: Array, solver: Solver, refinements: int):
    found = least_squares.spectrum(A / scale, solver)
    return nearest_fit(A, y, prior, scale, solver, refinements), found.values, found.rank


def nearest_fit(
    A: Float[Array, "n 70"],
    y: Float[Array, "n"],
    prior: Float[Array, "70"],
    scale: Float[Array, "70"],
    solver: Solver = "svd",
    refinements: int = 1,
) -> Float[Array, "70"]:
    """theta of the equation above. Pure; works under `jit` and `grad` (in A, y and the prior)."""
    return prior + least_squares.minimum_norm(A / scale, y - A @ prior, solver, refinements) / scale


def fit_answers(
    model: Model,
    q: Float[Array, "N 7"],
    mass: Float[Array, "N 7 7"],
    gravity: Float[Array, "N G 7"],
    gravity_vectors: Float[Array, "N G 3"],
    prior: Float[Array, "70"],
    scale: Float[Array, "70"],
    solver: Solver = "svd",
) -> Float[Array, "70"]:
    """theta directly from a model's answers. Pure and differentiable end to end: in the answers, q and the arm."""
    regressors = regression.batched(model)
    matrices = regression.mass_matrix_rows(regressors, q), regression.gravity_rows(regressors, q, gravity_vectors)
    A = jnp.concatenate([matrix.reshape(-1, 70) for matrix in matrices])
    y = jnp.concatenate([mass[:, *UPPER].ravel(), gravity.ravel()])
    return nearest_fit(A, y, prior, scale, solver)


def residuals(rows: Mapping[str, Rows], theta: ArrayLike) -> dict[str, Residual]:
    """Differences of the regression at theta from the observations, per quantity."""
    vector = np.asarray(theta)
    return {name: Residual.of(part.residual(vector), regression.QUANTITIES[name]) for name, part in rows.items()}


def holdout(
    rows: Mapping[str, Rows], model: Model, every: int = 5, **options
) -> tuple[LibraryFit, dict[str, Residual]]:
    """Fit M and gravity without each `every`-th configuration; the fit, and its differences on those left out.

    `rows` may hold Coriolis torques: they are predicted, not fitted. `options` as `fit_rows`.
    """
    out = np.arange(len(rows["mass"].observations)) % every == every - 1
    found = fit_rows({name: rows[name].select(~out) for name in ("mass", "gravity")}, model, **options)
    return found, residuals({name: part.select(out) for name, part in rows.items()}, found.theta)
