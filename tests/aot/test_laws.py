"""The example law as a kernel, and derivative kernels of the dynamics."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import Frame, aot
from franka_jax.laws import ImpedanceGains, ImpedanceTarget, cartesian_impedance, example_arguments, rotation_error

from ..reference import READY

RNG = np.random.default_rng(0)


def axis_angle(w):
    """Rotation matrix by Rodrigues' formula."""
    angle = np.linalg.norm(w)
    k = np.cross(np.eye(3), w / angle)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1), (-1, 2, 0.5)])
@pytest.mark.parametrize("angle", [1e-10, 1e-6, 0.3, 1.5, 3.0, np.pi - 1e-7, np.pi])
def test_rotation_error_is_the_logarithm(axis, angle):
    w = angle * np.array(axis) / np.linalg.norm(axis)
    R = axis_angle(np.array([0.3, -0.2, 0.9]))
    found = np.asarray(rotation_error(jnp.asarray(R), jnp.asarray(axis_angle(w) @ R)))
    sign = np.sign(found @ w) if angle == np.pi else 1.0  # half a turn: both directions lead there
    np.testing.assert_allclose(found * sign, w, atol=1e-9)


def test_rotation_error_of_equal_orientations_is_zero_and_differentiable():
    R = jnp.eye(3)
    assert rotation_error(R, R).tolist() == [0, 0, 0]
    assert np.isfinite(jax.jacfwd(rotation_error)(R, R)).all()


@pytest.fixture(scope="module")
def law(fr3_model):
    return aot.compile_function(
        partial(cartesian_impedance, fr3_model), *example_arguments(), name="cartesian_impedance"
    )


def state(i, fr3_model):
    q, dq = READY + RNG.normal(scale=0.2, size=7), RNG.normal(size=7)
    desired = np.asarray(fr3_model.pose(Frame.END_EFFECTOR, READY)).copy()
    desired[:3, :3] = axis_angle(RNG.normal(size=3)) @ desired[:3, :3]
    return q, dq, ImpedanceTarget(desired, READY, np.eye(4)), ImpedanceGains.critically_damped(rotation=10.0 + i)


def test_law_equals_jit(law, fr3_model, agrees):
    states = [state(i, fr3_model) for i in range(5)]
    pure = jax.jit(partial(cartesian_impedance, fr3_model))
    expected = np.stack([pure(*s) for s in states])
    agrees(np.stack([law(*s) for s in states]), expected, 1e-12)
    agrees(law.batch(*jax.tree.map(lambda *x: np.stack(x), *states)), expected, 1e-12)


def test_law_is_at_rest_at_its_target(law, fr3_model):
    target = ImpedanceTarget(fr3_model.pose(Frame.END_EFFECTOR, READY), READY, np.eye(4))
    np.testing.assert_allclose(law(READY, np.zeros(7), target, ImpedanceGains.critically_damped()), 0, atol=1e-11)


def test_law_pulls_towards_the_target_and_does_not_disturb_it(law, fr3_model):
    """A displaced target is pulled by K e; the posture task adds no force at the end effector for small lambda."""
    pose = np.asarray(fr3_model.pose(Frame.END_EFFECTOR, READY)).copy()
    J = np.asarray(fr3_model.zero_jacobian(Frame.END_EFFECTOR, READY))
    pose[0, 3] += 0.05
    gains = ImpedanceGains.critically_damped()._replace(pseudoinverse_damping=np.array(1e-6))
    tau = law(READY, np.zeros(7), ImpedanceTarget(pose, READY, np.eye(4)), gains)
    np.testing.assert_allclose(tau, J.T @ [10.0, 0, 0, 0, 0, 0], atol=1e-9)
    moved = law(READY, np.zeros(7), ImpedanceTarget(pose, READY + 0.3, np.eye(4)), gains) - tau
    assert np.abs(moved).max() > 0.1
    np.testing.assert_allclose(np.linalg.solve(J @ J.T, J @ moved), 0, atol=1e-6)


@pytest.mark.parametrize("call", ["inverse_dynamics", "forward_dynamics"])
def test_derivative_kernels_equal_jit(call, fr3_model):
    """147 partial derivatives of the dynamics as one kernel."""
    derivative = jax.jacfwd(getattr(fr3_model, call), argnums=(0, 1, 2))
    arguments = RNG.uniform(-1, 1, (3, 7))
    kernel = aot.compile_function(derivative, *arguments, name=f"{call}_derivatives")
    for found, expected in zip(kernel(*arguments), jax.jit(derivative)(*arguments), strict=True):
        assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()
