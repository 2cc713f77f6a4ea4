"""How physical: the barrier method on known optima, the certificate, the twin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import fer
from identification import barrier, reachable, sampling, twin

from .identification_setup import identification, limits

_SYMMETRIC = [np.eye(4)[[i]].T @ np.eye(4)[[j]] for i in range(4) for j in range(i, 4)]
BASIS = np.array([E if np.allclose(E, E.T) else E + E.T for E in _SYMMETRIC])


def _matrix(seed):
    A = np.random.default_rng(seed).normal(size=(4, 4))
    return A + A.T


@pytest.mark.parametrize("seed", range(3))
def test_barrier_finds_the_nearest_positive_matrix(seed):
    """min |X - X0|_F over X >= 0 is X0 with its negative eigenvalues at zero."""
    X0 = _matrix(seed)
    weight = np.array([np.linalg.norm(E) for E in BASIS])
    coordinates = np.array([np.vdot(E, X0) / np.vdot(E, E) for E in BASIS])
    problem = barrier.Problem(
        jnp.zeros(10),
        jnp.asarray(np.diag(weight)),
        jnp.asarray(weight * coordinates),
        jnp.zeros((1, 4, 4)),
        jnp.asarray(BASIS)[None],
        jnp.zeros(0),
        jnp.zeros((0, 10)),
    )
    start = jnp.asarray([np.vdot(E, 5 * np.eye(4)) / np.vdot(E, E) for E in BASIS])
    found = barrier.solve(problem, start, 1e-8)
    values, vectors = np.linalg.eigh(X0)
    clipped = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
    X = np.einsum("k,kab->ab", np.asarray(found.z), BASIS)
    optimum = 0.5 * np.linalg.norm(clipped - X0) ** 2
    assert 0 <= float(problem.objective(found.z)) - optimum <= 1e-8
    np.testing.assert_allclose(X, clipped, rtol=0, atol=3e-4)
    # The dual variable is the part that was cut off.
    np.testing.assert_allclose(found.Z[0], clipped - X0, rtol=0, atol=3e-4)


def test_barrier_finds_an_eigenvalue_and_respects_linear_limits():
    """max s with X - s 1 >= 0 is the smallest eigenvalue; with s <= 0.5 below it, 0.5."""
    X = 10 * np.eye(4) + _matrix(7)
    lowest = np.linalg.eigvalsh(X)[0]
    for limit in (100.0, 0.5):
        problem = barrier.Problem(
            jnp.array([-1.0]),
            jnp.zeros((0, 1)),
            jnp.zeros(0),
            jnp.asarray(X)[None],
            jnp.asarray(-np.eye(4))[None, None],
            jnp.array([limit]),
            jnp.array([[-1.0]]),
        )
        found = barrier.solve(problem, jnp.array([-1.0]), 1e-9)
        best = min(lowest, limit)
        assert 0 <= best - float(found.z[0]) <= 1e-9
        assert float(problem.nu / found.t) <= 1.0001e-9


def test_best_exact_fit_is_certified():
    found = identification().reachable
    assert found.eigenvalue == pytest.approx(-7.767e-3, abs=1e-5)
    assert 0 <= found.gap <= 1e-6
    assert found.as_fitted == pytest.approx(-2.75e-2, abs=1e-4)
    assert found.eigenvalue > -1.496e-2  # what alternating projections had reached


def test_best_exact_fit_is_an_exact_fit():
    fit, found = identification().fit, identification().reachable
    change = (found.phi - fit.phi).ravel()
    assert np.abs(fit.triangle @ change).max() <= 1e-11 * np.linalg.norm(change)
    assert np.linalg.eigvalsh(reachable.pseudo_inertias(found.phi)).min() == pytest.approx(found.eigenvalue)


def test_certificate_holds_by_itself():
    """Weak duality, recomputed from the dual point and another basis of the null space."""
    fit, found = identification().fit, identification().reachable
    Z, w, T = found.Z, found.w, reachable.TRACE_BOUND
    directions = np.linalg.svd(fit.triangle / fit.scale)[2][45:].T / fit.scale[:, None]
    blocks = np.array([reachable.pseudo_inertias(d.reshape(7, 10)) for d in directions.T])
    assert w >= 0
    assert np.linalg.eigvalsh(Z).min() >= -1e-15
    assert np.einsum("iaa->", Z) == pytest.approx(1.0, abs=1e-12)
    left = np.einsum("iab,jiab->j", Z, blocks) - w * np.einsum("jiaa->j", blocks)
    assert np.abs(left).max() <= 1e-11
    fitted = reachable.pseudo_inertias(fit.phi)
    bound = np.einsum("iab,iab->", Z, fitted) + w * (T - np.einsum("iaa->", fitted))
    assert bound == pytest.approx(found.bound, abs=1e-9)


def test_twin_is_physical():
    found = identification().twin
    assert found.eigenvalues.min() >= 1e-6
    assert found.total_mass <= 16.0
    assert (found.phi[:, 0] >= 0.1).all()
    assert found.gap <= 1e-6


def test_shipped_twin_is_physical_and_close():
    """Inverse dynamics of both shipped models over 500 random states, seed 20260905."""
    exact, physical = fer(), fer(physical=True)
    q, dq, ddq = sampling.random_states(limits(), 500, 20260905)
    assert twin.TEST_SEED == 20260905
    torques = [np.asarray(jax.vmap(model.inverse_dynamics)(q, dq, ddq)) for model in (exact, physical)]
    relative = np.linalg.norm(torques[1] - torques[0]) / np.linalg.norm(torques[0])
    assert relative <= 0.0030
    assert relative == pytest.approx(identification().twin.error.relative, rel=1e-5)
    assert physical.check_physical()
    assert reachable.smallest_eigenvalues(np.asarray(physical.phi)).min() >= 1e-6
    assert float(physical.link_masses.sum()) <= 16.0
    assert physical.payload_rule == "rigid"
    assert fer(physical=True, payload_rule="library").payload_rule == "library"
    assert not exact.check_physical()


def test_twin_is_better_than_the_prior():
    found = identification().twin
    assert found.prior_error.relative == pytest.approx(0.0082, abs=3e-4)
    assert found.error.relative < 0.4 * found.prior_error.relative
