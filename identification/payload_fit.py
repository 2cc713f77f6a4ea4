"""The two further parameters of the FER library's payload rule, fitted together with the seventy.

The rule (see `franka_jax.payload`) changes link 7's rotational inertia by -m7 (m/(m + m7))^2 S(c - c7), with m7 c7x and
m7 c7y shared with theta. m7 and c7z show only under a payload, and not linearly. A payload is a change of link 7's ten
parameters, so the loaded rows are, with p(theta, m7, c7z; payload) that change and x = (theta, m7, c7z),

    f(x) = A (theta + E7 p(x))
    Gauss-Newton:  x <- x + W^-1 (J W^-1)+ (y - f(x)),     W = diag(D, 1, 1),   J = df/dx

The null space of A does not touch what the rule uses, so every step stays in the row space of J W^-1 and the result is
again the exact fit nearest to the prior: rank 45 + 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from franka_jax import Model, Payload
from franka_jax.dynamics import Placement
from franka_jax.payload import in_joint_frame, library_term

from . import least_squares, regression
from .dataset import Dataset, DatasetError
from .library_fit import LibraryFit, Residual
from .regression import Rows

STEPS = 40
CONVERGED = 1e-15
"""Relative size of a step that changes nothing more."""


@dataclass(frozen=True, eq=False)
class PayloadFit:
    """m7 (kg), c7z (m) and theta with their evidence.

    `phi` (7, 10) fitted jointly; `rank` of the joint problem; `singular_values` (72,); `steps` of Gauss-Newton;
    `library` and `rigid`: differences per quantity on the loaded rows with the library's rule and with the rigid one.
    """

    phi: Float[np.ndarray, "7 10"]
    m7: float
    c7z: float
    rank: int
    singular_values: Float[np.ndarray, "72"]
    steps: int
    library: dict[str, Residual]
    rigid: dict[str, Residual]
    model: Model

    @property
    def c7(self) -> Float[np.ndarray, "3"]:
        """The library's own centre of mass of body 7, joint-7 frame, m."""
        return np.array([self.phi[6, 1] / self.m7, self.phi[6, 2] / self.m7, self.c7z])

    def __repr__(self) -> str:
        return f"PayloadFit(m7 = {self.m7:.16g} kg, c7z = {self.c7z:.16g} m, rank {self.rank})"


def fit_payload(
    found: LibraryFit, rows: Mapping[str, Rows], data: Dataset, start: tuple[float, float] | None = None
) -> PayloadFit:
    """Fit theta, m7 and c7z to the unloaded `rows` and the loaded rows of `data`, from the fit without payload.

    `start`: m7 (kg) and c7z (m); default: link 7's mass and centre in the prior. DatasetError if no row carries a
    payload or the rows do not determine both parameters.
    """
    if not data.m_total.any():
        raise DatasetError("no row carries a payload; m7 and c7z need at least one that does")
    loaded = _loaded_rows(found.model, data.loaded)
    corner, reduced = _reduce(*regression.stack(rows))
    prior7 = found.prior[6]
    m7, c7z = (prior7[0], prior7[3] / prior7[0]) if start is None else start
    x = jnp.concatenate([jnp.asarray(found.theta), jnp.array([m7, c7z])])
    scale = jnp.concatenate([jnp.asarray(found.scale), jnp.ones(2)])
    steps = 0
    while steps < STEPS:
        steps += 1
        change, spectrum = _step(found.model.flange, x, loaded, corner, reduced, scale)
        size = float(jnp.max(jnp.abs(change)))
        x = x + _shorten(x, change)
        if size <= CONVERGED * float(jnp.max(jnp.abs(x))) or not np.isfinite(size):
            break
    if int(spectrum.rank) != found.rank + 2 or not 0 < float(x[70]) < 100:
        raise DatasetError("the loaded rows do not determine m7 and c7z (configurations or payloads too few?)")
    model = with_parameters(found.model, x)
    rigid = replace_rule(model, "rigid")
    return PayloadFit(
        np.asarray(x[:70]).reshape(7, 10),
        float(x[70]),
        float(x[71]),
        int(spectrum.rank),
        np.asarray(spectrum.values),
        steps,
        loaded_differences(model, data),
        loaded_differences(rigid, data),
        model,
    )


def loaded_differences(model: Model, data: Dataset) -> dict[str, Residual]:
    """Differences of a model's own answers from the loaded rows per quantity."""
    rows = {name: jnp.asarray(value) for name, value in data.loaded.arrays.items()}

    def one(row):
        payload = Payload(row["m_total"], row["F_x_Ctotal"], row["I_total"])
        gravity = jax.vmap(lambda g: model.gravity(row["q"], payload, g))(row["gravity_vectors"])
        found = {"mass": model.mass(row["q"], payload) - row["mass"], "gravity": gravity - row["gravity"]}
        if "coriolis" in row:
            found["coriolis"] = model.coriolis(row["q"], row["dq"], payload) - row["coriolis"]
        return found

    return {name: Residual.of(value, regression.QUANTITIES[name]) for name, value in jax.vmap(one)(rows).items()}


def with_parameters(model: Model, x: Float[Array, "72"]) -> Model:
    """The model with theta, m7, c7z from one vector and the library's payload rule."""
    changed = model.with_phi(x[:70].reshape(7, 10))
    return replace_rule(eqx.tree_at(lambda m: (m.m7, m.c7z), changed, (x[70], x[71])), "library")


def replace_rule(model: Model, rule: str) -> Model:
    """The same model with another payload rule."""
    return Model(model.chain, model.flange, model.m7, model.c7z, model.description, rule)


def _reduce(A: Array, y: Array) -> tuple[Array, Array]:
    """Q^T A and Q^T y of A = Q R: the unloaded rows as seventy."""
    Q, R = jnp.linalg.qr(A)
    return R, Q.T @ y


def _shorten(x: Array, change: Array) -> Array:
    """The step, halved while it would make m7 less than half of what it is."""
    limit = 0.5 * x[70] / jnp.maximum(-change[70], 1e-300)
    return change * jnp.where(change[70] < 0, jnp.minimum(1.0, limit), 1.0)


class _Loaded(NamedTuple):
    """Loaded rows: matrix (P, k, 70), observations (P, k), payloads (leading axis P)."""

    matrix: Array
    observations: Array
    payload: Payload


def _loaded_rows(model: Model, data: Dataset) -> _Loaded:
    rows = regression.build_rows(model, data, regression.available(data), loaded=True)
    matrix = jnp.concatenate([part.matrix for part in rows.values()], axis=1)
    observations = jnp.concatenate([part.observations for part in rows.values()], axis=1)
    payloads = [Payload(*row) for row in zip(data.m_total, data.F_x_Ctotal, data.I_total, strict=True)]
    return _Loaded(matrix, observations, jax.tree.map(lambda *leaves: jnp.stack(leaves), *payloads))


def _added(flange: Placement, payload: Payload, x: Array) -> Array:
    """p: the change of link 7's parameters that a payload makes by the library's rule."""
    m, center, phi = in_joint_frame(flange, payload)
    m7 = x[70]
    return phi + library_term(m, center, m7, jnp.stack([x[61] / m7, x[62] / m7, x[71]]))


@jax.jit
def _step(flange: Placement, x: Array, loaded: _Loaded, corner: Array, reduced: Array, scale: Array):
    """One full Gauss-Newton step and the spectrum of its matrix."""

    def loaded_misfit(v):
        added = jax.vmap(lambda payload: _added(flange, payload, v))(loaded.payload)
        theta = jnp.tile(v[:70], (len(added), 1)).at[:, 60:].add(added)
        return (jnp.einsum("pkj,pj->pk", loaded.matrix, theta) - loaded.observations).ravel()

    unloaded = jnp.concatenate([corner, jnp.zeros((len(corner), 2))], axis=1)
    J = jnp.concatenate([unloaded, jax.jacfwd(loaded_misfit)(x)]) / scale
    misfit = jnp.concatenate([corner @ x[:70] - reduced, loaded_misfit(x)])
    return least_squares.minimum_norm(J, -misfit) / scale, least_squares.spectrum(J)
