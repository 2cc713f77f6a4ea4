"""External wrench from joint torques: recovered in the stiffness frame, refused near a singularity."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import Frame, estimate_wrench

from .reference import READY

STRETCHED = np.zeros(7)
F_T_EE = np.array([[0.7071, 0.7071, 0, 0], [-0.7071, 0.7071, 0, 0], [0, 0, 1, 0.1034], [0, 0, 0, 1]])
EE_T_K = np.array([[1.0, 0, 0, 0.02], [0, 0, -1, -0.03], [0, 1, 0, 0.05], [0, 0, 0, 1]])
WRENCH = np.array([12.0, -7.5, 30.0, 1.5, -0.8, 0.4])


@pytest.fixture
def model(fr3_model):
    return fr3_model


def stiffness_jacobian(model, q, kind="zero_jacobian"):
    return getattr(model, kind)(Frame.STIFFNESS, q, F_T_EE, EE_T_K)


@pytest.mark.parametrize("kind", ["zero_jacobian", "body_jacobian"])
def test_recovers_a_synthetic_wrench_in_the_stiffness_frame(model, kind):
    J = stiffness_jacobian(model, READY, kind)
    estimate = estimate_wrench(J, J.T @ WRENCH)
    assert bool(estimate.reliable)
    np.testing.assert_allclose(estimate.wrench, WRENCH, atol=1e-11)
    np.testing.assert_allclose(estimate.smallest_singular_value, np.linalg.svd(J)[1][-1], atol=1e-14)


def test_is_the_pseudo_inverse_for_any_torques(model):
    J = np.asarray(stiffness_jacobian(model, READY))
    tau = np.random.default_rng(3).normal(size=7)
    np.testing.assert_allclose(estimate_wrench(J, tau).wrench, np.linalg.pinv(J.T) @ tau, atol=1e-12)


def test_says_so_near_a_singularity_instead_of_returning_huge_numbers(model):
    J = stiffness_jacobian(model, STRETCHED)
    estimate = estimate_wrench(J, J.T @ WRENCH + 0.1)
    assert not bool(estimate.reliable)
    assert float(estimate.smallest_singular_value) < 0.08
    assert np.array_equal(estimate.wrench, np.zeros(6))


def test_threshold_is_an_argument(model):
    J = stiffness_jacobian(model, READY)
    sigma = float(estimate_wrench(J, np.ones(7)).smallest_singular_value)
    assert bool(estimate_wrench(J, np.ones(7), smallest=0.999 * sigma).reliable)
    assert not bool(estimate_wrench(J, np.ones(7), smallest=1.001 * sigma).reliable)


def test_batch_equals_loop_on_both_sides_of_the_threshold(model):
    Q = jnp.stack([READY, STRETCHED])
    J = jax.vmap(lambda q: stiffness_jacobian(model, q))(Q)
    tau = J.mT @ WRENCH
    batch = jax.vmap(estimate_wrench)(J, tau)
    assert batch.reliable.tolist() == [True, False]
    for k in range(2):
        np.testing.assert_allclose(batch.wrench[k], estimate_wrench(J[k], tau[k]).wrench, atol=1e-12)


@pytest.mark.parametrize("q", [READY, STRETCHED], ids=["ready", "singular"])
def test_derivatives_are_finite_and_equal_finite_differences(model, q):
    tau = np.array([1.0, -2, 3, -1, 0.5, 0.3, -0.2])

    def wrench(q):
        return estimate_wrench(stiffness_jacobian(model, q), tau).wrench

    forward, reverse = jax.jacfwd(wrench)(q), jax.jacrev(wrench)(q)
    h = 1e-6
    difference = np.stack([(wrench(q + h * e) - wrench(q - h * e)) / (2 * h) for e in np.eye(7)], axis=1)
    scale = 1 + np.abs(difference).max()
    np.testing.assert_allclose(forward, difference, atol=1e-7 * scale)
    np.testing.assert_allclose(reverse, forward, atol=1e-11 * scale)


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"jacobian has shape \(7, 6\)"):
        estimate_wrench(np.zeros((7, 6)), np.zeros(7))
    with pytest.raises(ValueError, match=r"tau_ext has shape \(6,\)"):
        estimate_wrench(np.zeros((6, 7)), np.zeros(6))
