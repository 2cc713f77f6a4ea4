"""The closed model as a linear regression: the rows of A theta = y, and the scaling of the columns.

theta (70,) stacks phi of the seven links. With Y the torque regressor, Y(q, dq, ddq; g0) theta = tau,

    M_ij(q) = row i of Y(q, 0, e_j; 0) theta       28 rows a configuration (upper triangle)
    g(q; g0) = Y(q, 0, 0; g0) theta                7 rows for each gravity vector
    c(q, dq) = Y(q, dq, 0; 0) theta                7 rows, optional

Column scaling D = diag(|A_k|): a column whose norm is at most 1e-12 max |A_ij| counts as zero and gets 1. The test is
relative because a placement's cos(pi/2) = 6e-17 may leave round-off in a column that should vanish. D decides which of
the exact fits is "the nearest to the prior", so it is part of the definition of the result. Here it is always that of
the 208 configurations of `sampling.recipe` with gravity along three axes: then the result does not depend on which
configurations were measured, as long as they identify the same combinations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from franka_jax import Model

from . import sampling
from .dataset import UPPER, Dataset, DatasetError

QUANTITIES = {"mass": "kg m^2", "gravity": "N m", "coriolis": "N m"}
"""Quantities that are linear in theta, with their units."""
ZERO_COLUMN = 1e-12
CHUNK = 512


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one quantity: `matrix` (N, k, 70) and `observations` (N, k), N configurations with k numbers each."""

    matrix: Float[np.ndarray, "N k 70"]
    observations: Float[np.ndarray, "N k"]

    def select(self, picked: np.ndarray) -> "Rows":
        """The rows of some configurations."""
        return Rows(self.matrix[picked], self.observations[picked])

    def residual(self, theta: Float[np.ndarray, "70"]) -> Float[np.ndarray, "N k"]:
        """Prediction minus observation, in the quantity's unit."""
        return self.matrix @ theta - self.observations


Regressors = Callable[[Any, Any, Any, Any], Any]
"""Torque regressors (n, 7, 70) of n states q, dq, ddq (n, 7) and gravity vectors (n, 3)."""


def batched(model: Model) -> Regressors:
    """Regressors as one traceable batch, for `jit` and `grad`."""
    return jax.vmap(lambda q, dq, ddq, g: model.regressor(q, dq, ddq, gravity_earth=g))


def chunked(model: Model) -> Regressors:
    """Regressors as numpy arrays, in chunks of a fixed size: compiled once, whatever the number of states."""

    def evaluate(*states: np.ndarray) -> np.ndarray:
        n = len(states[0])
        padded = [np.resize(x, (-(-n // CHUNK) * CHUNK, x.shape[1])) for x in states]
        parts = [_chunk(model, *(x[k : k + CHUNK] for x in padded)) for k in range(0, len(padded[0]), CHUNK)]
        return np.concatenate(parts)[:n]

    return evaluate


@jax.jit
def _chunk(model: Model, q: Array, dq: Array, ddq: Array, g: Array) -> Array:
    return batched(model)(q, dq, ddq, g)


# The three below take numpy or (traced) JAX arrays, as `regressors` does.


def mass_matrix_rows(regressors: Regressors, q: Float[Any, "N 7"]) -> Float[Any, "N 28 70"]:
    """Rows of the upper triangle of M, row by row: column j is the torque for a unit acceleration of joint j."""
    n = len(q)
    unit = np.tile(np.eye(7), (n, 1))
    rest = np.zeros_like(unit)
    columns = regressors(q.repeat(7, axis=0), rest, unit, rest[:, :3]).reshape(n, 7, 7, 70)
    return columns[:, UPPER[1], UPPER[0]]


def gravity_rows(regressors: Regressors, q: Float[Any, "N 7"], vectors: Float[Any, "N G 3"]) -> Float[Any, "N k 70"]:
    """Rows of the gravity torques, 7 for each vector."""
    n, g, _ = vectors.shape
    rest = np.zeros((n * g, 7))
    return regressors(q.repeat(g, axis=0), rest, rest, vectors.reshape(-1, 3)).reshape(n, 7 * g, 70)


def coriolis_rows(regressors: Regressors, q: Float[Any, "N 7"], dq: Float[Any, "N 7"]) -> Float[Any, "N 7 70"]:
    """Rows of the Coriolis torques."""
    rest = np.zeros(q.shape)
    return regressors(q, dq, rest, rest[:, :3])


def available(data: Dataset) -> tuple[str, ...]:
    """The linear quantities a dataset has."""
    return tuple(name for name in QUANTITIES if name != "coriolis" or data.coriolis is not None)


def build_rows(
    model: Model, data: Dataset, quantities: Sequence[str] = ("mass", "gravity"), loaded: bool = False
) -> dict[str, Rows]:
    """Rows of the named quantities for a dataset without payload (`loaded`: the arm's own rows, whatever it carries).

    DatasetError if rows carry a payload or Coriolis torques are asked for and absent; ValueError for another name.
    """
    unknown = [name for name in quantities if name not in QUANTITIES]
    if unknown:
        raise ValueError(f"unknown quantities {unknown}; known are {list(QUANTITIES)}")
    if data.m_total.any() and not loaded:
        raise DatasetError("rows with a payload do not belong in the linear regression: use Dataset.unloaded")
    return {name: _quantity_rows(model, data, name) for name in quantities}


def _quantity_rows(model: Model, data: Dataset, name: str) -> Rows:
    regressors = chunked(model)
    if name == "mass":
        return Rows(mass_matrix_rows(regressors, data.q), data.mass[:, *UPPER])
    if name == "gravity":
        return Rows(gravity_rows(regressors, data.q, data.gravity_vectors), data.gravity.reshape(len(data), -1))
    if data.dq is None or data.coriolis is None:
        raise DatasetError("the dataset has no Coriolis torques")
    return Rows(coriolis_rows(regressors, data.q, data.dq), data.coriolis)


def stack(rows: Mapping[str, Rows]) -> tuple[Float[np.ndarray, "n 70"], Float[np.ndarray, "n"]]:
    """A and y of several quantities together."""
    matrix = np.concatenate([part.matrix.reshape(-1, part.matrix.shape[-1]) for part in rows.values()])
    return matrix, np.concatenate([part.observations.ravel() for part in rows.values()])


def column_scale(A: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "p"]:
    """The diagonal of D of a matrix."""
    norms = np.linalg.norm(A, axis=0)
    return np.where(norms > ZERO_COLUMN * np.abs(A).max(), norms, 1.0)


def recipe_scale(model: Model) -> Float[np.ndarray, "70"]:
    """D of the 208 configurations, M and gravity along three axes; depends on the arm's placements and limits only."""
    q = sampling.recipe(model.limits)[0]
    vectors = np.tile(sampling.GRAVITY, (len(q), 1, 1))
    parts = (mass_matrix_rows(chunked(model), q), gravity_rows(chunked(model), q, vectors))
    return column_scale(np.concatenate([part.reshape(-1, 70) for part in parts]))
