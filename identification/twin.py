"""The physical twin: the nearest set of bodies to an identified set, for simulation.

    minimise    |R (theta - theta_fit)|^2 / (tau_ref / 1000)^2 / 2  +  regulariser |D (theta - theta_0)|^2 / 2
    subject to  J_i(theta) >= 1e-6 (i = 1 ... 7),     m_i >= 0.1 kg,     sum_i m_i <= 16 kg,
                tr I_i / 2 <= m_i (0.3 m)^2

R is the QR factor of the torque regressor at random states, so |R (theta - theta_fit)| is the torque error there, here
in per mille of the torque |tau_ref|. The small second term holds what no torque shows near the prior and makes the
minimum unique. Solved by `barrier`; the gap reported is nu / t in per mille squared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from franka_jax import Model

from . import barrier, regression, sampling
from .library_fit import LibraryFit
from .reachable import derivative_blocks, smallest_eigenvalues

EIGENVALUE = 1e-6
"""Every pseudo-inertia keeps at least this smallest eigenvalue (with the solver's margin it is a little more)."""
TOTAL_MASS, LINK_MASS = 16.0, 0.1
"""Most mass of links 1-7 together, and least mass of each, kg."""
REACH = 0.3
"""Largest radius of gyration of a link about its joint frame's origin (the longest link of an FER is 0.4 m), m."""
_MASS = np.eye(10)[0]
_HALF_TRACE = np.array([0, 0, 0, 0, 1, 0, 1, 0, 0, 1]) / 2
REGULARISER = 1e-5
DESIGN_STATES, DESIGN_SEED = 2000, 20190731
TEST_STATES, TEST_SEED = 500, 20260905
GAP = 1e-6


@dataclass(frozen=True, eq=False)
class TorqueError:
    """||tau - tau_ref|| / ||tau_ref|| over all joints and `states` random states, and its parts.

    `relative` is a fraction, `rms` (7,) per joint and `gravity`, the largest gravity difference, in N m; `mass` the
    largest difference of the mass matrix, kg m^2; `seed` of the states.
    """

    relative: float
    rms: Float[np.ndarray, "7"]
    mass: float
    gravity: float
    states: int
    seed: int

    def __repr__(self) -> str:
        return f"TorqueError({100 * self.relative:.3f} % over {self.states} random states, seed {self.seed})"


@dataclass(frozen=True, eq=False)
class Twin:
    """Parameters `phi` (7, 10) of real bodies with their evidence.

    `eigenvalues` (7,): smallest pseudo-inertia eigenvalue per link; `total_mass` kg; `error` of its torques against the
    fit; `prior_error` the same of the prior; `gap` of the optimum (per mille squared); `steps` of Newton's method.
    """

    phi: Float[np.ndarray, "7 10"]
    eigenvalues: Float[np.ndarray, "7"]
    total_mass: float
    error: TorqueError
    prior_error: TorqueError
    gap: float
    steps: int

    def __repr__(self) -> str:
        return f"Twin({100 * self.error.relative:.3f} % torque error, {self.total_mass:.3f} kg)"


def physical_twin(fit: LibraryFit, gap: float = GAP) -> Twin:
    """The nearest physically consistent parameters to a fit, by the problem above."""
    problem = _problem(fit)
    # Seven equal balls of 2 kg, radius of gyration 0.2 m, are inside every constraint.
    body = np.array([2.0, 0, 0, 0, 0.05, 0, 0.05, 0, 0, 0.05])
    start = jnp.asarray(np.tile(body, 7) * fit.scale)
    found = barrier.solve(problem, start, gap)
    phi = (np.asarray(found.z) / fit.scale).reshape(7, 10)
    error, prior_error = _torque_errors(fit.model, (phi, fit.prior), TEST_STATES, TEST_SEED)
    return Twin(
        phi,
        smallest_eigenvalues(phi),
        float(phi[:, 0].sum()),
        error,
        prior_error,
        float(problem.nu / found.t),
        int(found.steps),
    )


def torque_error(
    reference: Model, phi: Float[np.ndarray, "7 10"], states: int = TEST_STATES, seed: int = TEST_SEED
) -> TorqueError:
    """Error of the inverse dynamics with `phi` at random states: q in the limits, |dq| to the limits, |ddq| <= 5."""
    return _torque_errors(reference, (phi,), states, seed)[0]


def _torque_errors(reference: Model, sets: Sequence[np.ndarray], states: int, seed: int) -> list[TorqueError]:
    theta = np.asarray(reference.phi).ravel()
    Y, M, G = _regressors(reference, states, seed)
    size = np.linalg.norm(Y @ theta)
    found = []
    for change in (phi.ravel() - theta for phi in sets):
        error = Y @ change
        rms, mass, gravity = np.sqrt(np.mean(error**2, axis=0)), np.abs(M @ change).max(), np.abs(G @ change).max()
        relative = float(np.linalg.norm(error) / size)
        found.append(TorqueError(relative, rms, float(mass), float(gravity), states, seed))
    return found


def _regressors(model: Model, states: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regressors of tau (n, 7, 70), M (n, 28, 70) and upright gravity (n, 7, 70) at random states."""
    q, dq, ddq = sampling.random_states(model.limits, states, seed)
    down = np.tile([0.0, 0.0, -9.81], (states, 1))
    evaluate = regression.chunked(model)
    gravity = regression.gravity_rows(evaluate, q, down[:, None])
    return evaluate(q, dq, ddq, down), regression.mass_matrix_rows(evaluate, q), gravity


def _problem(fit: LibraryFit) -> barrier.Problem:
    """In the scaled variable z = D theta."""
    q, dq, ddq = sampling.random_states(fit.model.limits, DESIGN_STATES, DESIGN_SEED)
    down = np.tile([0.0, 0.0, -9.81], (DESIGN_STATES, 1))
    Y = regression.chunked(fit.model)(q, dq, ddq, down).reshape(-1, 70)
    R = np.linalg.qr(Y)[1] / (1e-3 * np.linalg.norm(Y @ fit.theta))
    hold = np.sqrt(REGULARISER) * np.eye(70)
    W = np.concatenate([R / fit.scale, hold])
    b = np.concatenate([R @ fit.theta, hold @ (fit.scale * fit.prior.ravel())])
    masses, moments = np.kron(np.eye(7), _MASS), np.kron(np.eye(7), _HALF_TRACE)
    A = np.concatenate([masses, -masses.sum(axis=0, keepdims=True), REACH**2 * masses - moments]) / fit.scale
    return barrier.Problem(
        jnp.zeros(70),
        jnp.asarray(W),
        jnp.asarray(b),
        jnp.tile(-EIGENVALUE * jnp.eye(4), (7, 1, 1)),
        jnp.asarray(derivative_blocks(np.diag(1 / fit.scale))),
        jnp.concatenate([-LINK_MASS * jnp.ones(7), jnp.array([TOTAL_MASS]), jnp.zeros(7)]),
        jnp.asarray(A),
    )
