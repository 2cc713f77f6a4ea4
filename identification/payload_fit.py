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
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from franka_jax import Model, Payload
from franka_jax.dynamics import Placement
from franka_jax.payload import in_joint_frame, library_term

from . import least_squares, regression
from .dataset import Dataset, DatasetError
from .least_squares import Spectrum
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
    mass, _, _, moment = found.prior[6, :4]
    x = np.append(found.theta, (mass, moment / mass) if start is None else start)
    x, spectrum, steps = _iterate(found, rows, loaded, jnp.asarray(x))
    if int(spectrum.rank) != found.rank + 2 or not 0 < float(x[70]) < 100:
        raise DatasetError("the loaded rows do not determine m7 and c7z (configurations or payloads too few?)")
    model = with_parameters(found.model, x)
    return PayloadFit(
        np.asarray(x[:70]).reshape(7, 10),
        float(x[70]),
        float(x[71]),
        int(spectrum.rank),
        np.asarray(spectrum.values),
        steps,
        _differences(model, loaded, "library"),
        _differences(model, loaded, "rigid"),
        model,
    )


def _iterate(found: LibraryFit, rows: Mapping[str, Rows], loaded: "_Loaded", x: Array) -> tuple[Array, Spectrum, int]:
    """Gauss-Newton from x until a step changes nothing more; x, the last spectrum, the number of steps."""
    A, y = regression.stack(rows)
    Q, corner = np.linalg.qr(A)
    reduced = Q.T @ y  # the unloaded rows as seventy
    scale = np.append(found.scale, [1.0, 1.0])
    for steps in range(1, STEPS):
        change, spectrum = _step(found.model.flange, x, loaded, corner, reduced, scale)
        size = float(jnp.max(jnp.abs(change)))
        x = x + _shorten(x, change)
        if size <= CONVERGED * float(jnp.max(jnp.abs(x))) or not np.isfinite(size):
            return x, spectrum, steps
    return x, _step(found.model.flange, x, loaded, corner, reduced, scale)[1], STEPS


def with_parameters(model: Model, x: Float[Array, "72"]) -> Model:
    """The model with theta, m7, c7z from one vector and the library's payload rule."""
    changed = model.with_phi(x[:70].reshape(7, 10))
    return replace_rule(eqx.tree_at(lambda m: (m.m7, m.c7z), changed, (x[70], x[71])), "library")


def replace_rule(model: Model, rule: str) -> Model:
    """The same model with another payload rule."""
    return Model(model.chain, model.flange, model.m7, model.c7z, model.description, rule)


def _shorten(x: Array, change: Array) -> Array:
    """The step, halved while it would make m7 less than half of what it is."""
    limit = 0.5 * x[70] / jnp.maximum(-change[70], 1e-300)
    return change * jnp.where(change[70] < 0, jnp.minimum(1.0, limit), 1.0)


class _Loaded(NamedTuple):
    """Loaded rows per quantity: matrix (P, k, 70) and observations (P, k); payloads (leading axis P)."""

    rows: dict[str, tuple[ArrayLike, ArrayLike]]
    payload: Payload


def _loaded_rows(model: Model, data: Dataset) -> _Loaded:
    rows = regression.build_rows(model, data, regression.available(data), loaded=True)
    payloads = [Payload(*row) for row in zip(data.m_total, data.F_x_Ctotal, data.I_total, strict=True)]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *payloads)
    return _Loaded({name: (part.matrix, part.observations) for name, part in rows.items()}, stacked)


@partial(jax.jit, static_argnames="rule")
def _misfits(flange: Placement, x: Array, loaded: _Loaded, rule: str = "library") -> dict[str, Array]:
    """Model minus answer on the loaded rows."""
    added = jax.vmap(lambda payload: _added(flange, payload, x, rule))(loaded.payload)
    theta = jnp.tile(x[:70], (len(added), 1)).at[:, 60:].add(added)
    return {name: jnp.einsum("pkj,pj->pk", A, theta) - y for name, (A, y) in loaded.rows.items()}


def _differences(model: Model, loaded: _Loaded, rule: str) -> dict[str, Residual]:
    x = jnp.concatenate([model.phi.ravel(), jnp.stack([model.m7, model.c7z])])
    found = _misfits(model.flange, x, loaded, rule)
    return {name: Residual.of(value, regression.QUANTITIES[name]) for name, value in found.items()}


def _added(flange: Placement, payload: Payload, x: Array, rule: str) -> Array:
    """p: the change of link 7's parameters that a payload makes by a rule."""
    m, center, phi = in_joint_frame(flange, payload)
    m7 = x[70]
    if rule == "rigid":
        return phi
    return phi + library_term(m, center, m7, jnp.stack([x[61] / m7, x[62] / m7, x[71]]))


@jax.jit
def _step(flange: Placement, x: Array, loaded: _Loaded, corner: Array, reduced: Array, scale: Array):
    """One full Gauss-Newton step and the spectrum of its matrix."""

    def loaded_misfit(v):
        return jnp.concatenate([misfit.ravel() for misfit in _misfits(flange, v, loaded).values()])

    unloaded = jnp.concatenate([corner, jnp.zeros((len(corner), 2))], axis=1)
    J = jnp.concatenate([unloaded, jax.jacfwd(loaded_misfit)(x)]) / scale
    misfit = jnp.concatenate([corner @ x[:70] - reduced, loaded_misfit(x)])
    return least_squares.minimum_norm(J, -misfit) / scale, least_squares.spectrum(J)
