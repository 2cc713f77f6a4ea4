"""How physical can an exact fit be? The largest smallest pseudo-inertia eigenvalue, with a certificate.

    maximise s    subject to   J_i(theta + N x) >= s 1 (i = 1 ... 7),     sum_i tr J_i <= T

N spans the null space of the fit (25 columns), J_i is link i's pseudo-inertia (see `franka_jax.dynamics.inertia`). The
trace bound T = 1000 (kg and kg m^2 added; the arm has about 20) is far from any arm and makes the set bounded: link 1's
mass, for one, could grow for ever without a torque showing it.

Certificate (weak duality). For symmetric Z_i and w >= 0 with  sum_i tr Z_i = 1  and
sum_i <Z_i, dJ_i/dx_j> = w sum_i tr dJ_i/dx_j  for all j, and with Z_i >= -delta 1, every feasible s obeys

    s <= sum_i <Z_i, J_i(theta)> + w (T - sum_i tr J_i(theta)) + delta (T - 28 s)

The barrier's dual variables are projected onto the two equalities (least squares), delta is what that may cost.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from franka_jax.dynamics import inertia

from . import barrier
from .library_fit import LibraryFit

TRACE_BOUND = 1000.0
GAP = 1e-7


@dataclass(frozen=True, eq=False)
class Reachable:
    """The best eigenvalue over all exact fits and the proof that none is better.

    `eigenvalue` reached by the parameters `phi` (7, 10), which are an exact fit; `bound`: no exact fit exceeds it;
    `gap` = bound - eigenvalue; `stationarity` and `delta`: what the dual point lacks of the equalities and of being
    positive semidefinite (both are paid for in `bound`); `as_fitted`: the smallest eigenvalue of the fit itself;
    `steps`: Newton steps; `Z` and `w`: the dual point.
    """

    eigenvalue: float
    bound: float
    gap: float
    stationarity: float
    delta: float
    as_fitted: float
    phi: Float[np.ndarray, "7 10"]
    steps: int
    Z: Float[np.ndarray, "7 4 4"]
    w: float

    def __repr__(self) -> str:
        return f"Reachable(eigenvalue {self.eigenvalue:.6e}, certified bound {self.bound:.6e}, gap {self.gap:.1e})"


def pseudo_inertias(phi: Float[np.ndarray, "7 10"]) -> Float[np.ndarray, "7 4 4"]:
    """J of every link."""
    return np.asarray(jax.vmap(inertia.pseudo_inertia)(jnp.asarray(phi)))


def smallest_eigenvalues(phi: Float[np.ndarray, "7 10"]) -> Float[np.ndarray, "7"]:
    """Smallest pseudo-inertia eigenvalue per link (mixed units: its sign is the statement)."""
    return np.linalg.eigvalsh(pseudo_inertias(phi))[:, 0]


def derivative_blocks(directions: Float[np.ndarray, "70 k"]) -> Float[np.ndarray, "7 k 4 4"]:
    """dJ_i/dx_j for theta moving along the columns of `directions`."""
    unit = pseudo_inertias_of_units()
    return np.einsum("uab,iuj->ijab", unit, np.asarray(directions).reshape(7, 10, -1))


def pseudo_inertias_of_units() -> Float[np.ndarray, "10 4 4"]:
    """The ten constant matrices B_k with J(phi) = sum_k phi_k B_k."""
    return np.asarray(jax.vmap(inertia.pseudo_inertia)(jnp.eye(10)))


def best_exact_fit(fit: LibraryFit, gap: float = GAP, trace_bound: float = TRACE_BOUND) -> Reachable:
    """Solve the problem above to a duality gap of about `gap`."""
    J, N = pseudo_inertias(fit.phi), fit.null_space
    dJ = derivative_blocks(N)
    lowest = float(np.linalg.eigvalsh(J).min())
    start = jnp.zeros(N.shape[1] + 1).at[-1].set(lowest - 1.0)
    found = barrier.solve(_problem(J, dJ, trace_bound), start, gap)
    phi = (fit.theta + N @ np.asarray(found.z[:-1])).reshape(7, 10)
    eigenvalue = float(smallest_eigenvalues(phi).min())
    w = float(found.u[0])
    Z, stationarity = _project(np.asarray(found.Z), w, dJ)
    delta = max(0.0, -float(np.linalg.eigvalsh(Z).min()))
    slack = delta * (trace_bound - 28 * eigenvalue)
    bound = float(np.einsum("iab,iab->", Z, J) + w * (trace_bound - np.einsum("iaa->", J)) + slack)
    gap = bound - eigenvalue
    return Reachable(eigenvalue, bound, gap, stationarity, delta, lowest, phi, int(found.steps), Z, w)


def _problem(J: np.ndarray, dJ: np.ndarray, trace_bound: float) -> barrier.Problem:
    """In the variables (x, s)."""
    n = dJ.shape[1] + 1
    minus_s = np.broadcast_to(-np.eye(4), (len(J), 1, 4, 4))
    slopes = np.append(np.einsum("ijaa->j", dJ), 0.0)
    return barrier.Problem(
        jnp.zeros(n).at[-1].set(-1.0),
        jnp.zeros((0, n)),
        jnp.zeros(0),
        jnp.asarray(J),
        jnp.asarray(np.concatenate([dJ, minus_s], axis=1)),
        jnp.array([trace_bound - np.einsum("iaa->", J)]),
        jnp.asarray(-slopes)[None],
    )


def _project(Z: np.ndarray, w: float, dJ: np.ndarray) -> tuple[np.ndarray, float]:
    """The nearest Z that obeys the equalities, and what is still off there."""
    n, k = dJ.shape[:2]
    equalities = np.concatenate([np.swapaxes(dJ, 0, 1).reshape(k, -1), np.tile(np.eye(4).ravel(), n)[None]])
    goal = np.append(w * np.einsum("ijaa->j", dJ), 1.0)
    off = goal - equalities @ Z.ravel()
    Z = (Z.ravel() + np.linalg.lstsq(equalities, off, rcond=None)[0]).reshape(Z.shape)
    return Z, float(np.abs(goal - equalities @ Z.ravel()).max())
