"""Identities of rigid-body dynamics on random chains: no robot, no reference, only mechanics.

Each identity is a function of one random case that returns a residual; it is checked on 50 cases at once by `vmap`.
"""

from collections.abc import Callable
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import dynamics
from franka_jax.dynamics import Chain, Placement, inertia, rotation_exp, rotation_log

CASES = 50
sizes = pytest.mark.parametrize("n", [1, 5])


class Case(eqx.Module):
    """A random chain of bodies that can exist, with a random state."""

    chain: Chain
    q: jax.Array
    dq: jax.Array
    ddq: jax.Array
    gravity: jax.Array

    def rnea(self, dq=None, ddq=None, gravity=None) -> jax.Array:
        """Inverse dynamics at q; what is not given is zero."""
        rest = jnp.zeros_like(self.q)
        return dynamics.rnea(
            self.chain,
            self.q,
            rest if dq is None else dq,
            rest if ddq is None else ddq,
            jnp.zeros(3) if gravity is None else gravity,
        )


def solid_bodies(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Parameters (*shape, 10) of bodies that can exist: six point masses each."""
    p, m = rng.normal(0, 0.15, (*shape, 6, 3)), rng.uniform(0.1, 1.0, (*shape, 6))
    x, y, z = np.moveaxis(p, -1, 0)
    about_origin = [y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y]
    columns = [np.ones_like(m), x, y, z, *about_origin]
    return np.stack([(m * column).sum(-1) for column in columns], axis=-1)


@cache
def cases(n: int) -> Case:
    rng = np.random.default_rng(n)
    rotations = np.linalg.qr(rng.normal(size=(CASES, n, 3, 3)))[0]
    rotations *= np.linalg.det(rotations)[..., None, None]
    placement = Placement(jnp.asarray(rotations), jnp.asarray(rng.normal(0, 0.3, (CASES, n, 3))))
    chain = Chain(placement, jnp.asarray(solid_bodies(rng, (CASES, n))))
    q, dq, ddq = (jnp.asarray(rng.normal(0, s, (CASES, n))) for s in (2.0, 1.5, 3.0))
    return Case(chain, q, dq, ddq, jnp.asarray(rng.normal(0, 6, (CASES, 3))))


def largest(identity: Callable[[Case], jax.Array], n: int) -> float:
    """The largest residual over all cases."""
    return float(jnp.abs(jax.jit(jax.vmap(identity))(cases(n))).max())


def scale(x: jax.Array) -> jax.Array:
    """Residuals are relative to the largest entry where that is above one."""
    return jnp.maximum(1.0, jnp.abs(x).max())


@sizes
def test_inverse_dynamics_is_mass_coriolis_and_gravity(n):
    def identity(case: Case):
        tau = case.rnea(case.dq, case.ddq, case.gravity)
        parts = dynamics.crba(case.chain, case.q) @ case.ddq + case.rnea(case.dq) + case.rnea(gravity=case.gravity)
        return (tau - parts) / scale(tau)

    assert largest(identity, n) <= 1e-13


@sizes
def test_forward_dynamics_inverts_inverse_dynamics(n):
    def identity(case: Case):
        tau = case.rnea(case.dq, case.ddq, case.gravity)
        return dynamics.aba(case.chain, case.q, case.dq, tau, case.gravity) - case.ddq

    assert largest(identity, n) <= 1e-10


@sizes
def test_torque_regressor_times_parameters(n):
    def identity(case: Case):
        Y = dynamics.torque_regressor(case.chain, case.q, case.dq, case.ddq, case.gravity)
        assert Y.shape == (n, 10 * n)
        return Y @ case.chain.phi.ravel() - case.rnea(case.dq, case.ddq, case.gravity)

    assert largest(identity, n) <= 1e-11


@sizes
def test_mass_regressor_times_parameters(n):
    def identity(case: Case):
        return dynamics.mass_regressor(case.chain, case.q) @ case.chain.phi.ravel() - dynamics.crba(case.chain, case.q)

    assert largest(identity, n) <= 1e-11


@sizes
def test_mass_matrix_is_symmetric_and_positive(n):
    M = jax.jit(jax.vmap(lambda case: dynamics.crba(case.chain, case.q)))(cases(n))
    np.testing.assert_array_equal(M, jnp.swapaxes(M, 1, 2))
    assert jnp.linalg.eigvalsh(M).min() > 0


@sizes
def test_mass_matrix_is_kinetic_energy(n):
    """Against the sum over bodies, whose velocities come from differentiating the placements alone."""

    def body_energy(R, dR, dp, phi):
        S = R.T @ dR
        w, v = jnp.stack([S[2, 1], S[0, 2], S[1, 0]]), R.T @ dp
        linear, angular = inertia.momentum(phi, v, w)
        return (v @ linear + w @ angular) / 2

    def identity(case: Case):
        links, rates = jax.jvp(lambda q: dynamics.link_placements(case.chain, q), (case.q,), (case.dq,))
        energy = jax.vmap(body_energy)(links.rotation, rates.rotation, rates.translation, case.chain.phi).sum()
        return (case.dq @ dynamics.crba(case.chain, case.q) @ case.dq / 2 - energy) / scale(energy)

    assert largest(identity, n) <= 1e-13


@sizes
def test_coriolis_matrix(n):
    def times_velocity(case: Case):
        coriolis = case.rnea(case.dq)
        return (dynamics.coriolis_matrix(case.chain, case.q, case.dq) @ case.dq - coriolis) / scale(coriolis)

    def skew(case: Case):
        rate = jax.jvp(lambda q: dynamics.crba(case.chain, q), (case.q,), (case.dq,))[1]
        S = rate - 2 * dynamics.coriolis_matrix(case.chain, case.q, case.dq)
        return S + S.T

    assert largest(times_velocity, n) <= 1e-12
    assert largest(skew, n) <= 1e-12


@sizes
def test_gravity_is_the_gradient_of_potential_energy(n):
    def identity(case: Case):
        def potential(q):
            links = dynamics.link_placements(case.chain, q)
            moments = jax.vmap(lambda R, p, phi: R @ phi[1:4] + phi[0] * p)(*links, case.chain.phi)
            return -jnp.sum(moments @ case.gravity)

        held = case.rnea(gravity=case.gravity)
        return (jax.grad(potential)(case.q) - held) / scale(held)

    assert largest(identity, n) <= 1e-13


def test_power_balance():
    """d/dt (kinetic energy) = dq . (tau - gravity torque) along the motion that tau causes."""

    def identity(case: Case):
        tau = case.ddq
        ddq = dynamics.aba(case.chain, case.q, case.dq, tau, case.gravity)

        def energy(q, dq):
            return dq @ dynamics.crba(case.chain, q) @ dq / 2

        rate = jax.jvp(energy, (case.q, case.dq), (case.dq, ddq))[1]
        return (rate - case.dq @ (tau - case.rnea(gravity=case.gravity))) / scale(ddq)

    assert largest(identity, 5) <= 1e-11


def test_jacobians_are_derivatives_of_the_placements():
    """Pitfall J1: linear rows are the velocity of the frame's origin, base axes; not of the point at the base."""

    def identity(case: Case):
        point = jnp.array([0.1, -0.2, 0.3])

        def origin(q):
            links = dynamics.link_placements(case.chain, q)
            return links.translation[2] + links.rotation[2] @ point, links.rotation[2]

        (p, R), (dp, dR) = jax.jvp(origin, (case.q,), (case.dq,))
        S = dR @ R.T
        twist = jnp.stack([*dp, S[2, 1], S[0, 2], S[1, 0]])
        J = dynamics.zero_jacobian(dynamics.link_placements(case.chain, case.q), 2, p)
        body = dynamics.body_jacobian(J, R) @ case.dq
        rotated = jnp.concatenate([R @ body[:3], R @ body[3:]])
        return jnp.stack([J @ case.dq - twist, rotated - twist, jnp.concatenate([J[:, 3], jnp.zeros(0)])])

    assert largest(identity, 5) <= 1e-13


def test_inertia_forms_are_inverse_to_each_other():
    def identity(case: Case):
        phi = case.chain.phi[0]
        by_center = inertia.from_mass_center(*inertia.to_mass_center(phi)) - phi
        by_pseudo = inertia.from_pseudo_inertia(inertia.pseudo_inertia(phi)) - phi
        added = inertia.pseudo_inertia(case.chain.phi.sum(0)) - jax.vmap(inertia.pseudo_inertia)(case.chain.phi).sum(0)
        return jnp.concatenate([by_center, by_pseudo, added.ravel()])

    assert largest(identity, 5) <= 1e-14


def test_inertia_transform_moves_the_body():
    """Centre and tensor move like a body; the momentum of the moved body is the moved momentum."""

    def identity(case: Case):
        phi, (R, p) = case.chain.phi[0], jax.tree.map(lambda x: x[0], case.chain.placement)
        moved = inertia.transform(Placement(R, p), phi)
        m, c, I = inertia.to_mass_center(phi)
        M, C, T = inertia.to_mass_center(moved)
        v, w = case.dq[:3], case.ddq[:3]
        linear, angular = inertia.momentum(phi, v, w)
        l2, k2 = inertia.momentum(moved, R @ v - jnp.cross(R @ w, p), R @ w)
        matrix = inertia.spatial_inertia(phi) @ jnp.concatenate([v, w]) - jnp.concatenate([linear, angular])
        placed = [M - m, *(C - R @ c - p), *(T - R @ I @ R.T).ravel()]
        carried = [*(l2 - R @ linear), *(k2 - R @ angular - jnp.cross(p, R @ linear))]
        return jnp.stack([*placed, *carried, *matrix])

    assert largest(identity, 5) <= 1e-13


def test_massless_body_has_its_centre_at_the_origin():
    m, c, I = inertia.to_mass_center(jnp.zeros(10))
    assert m == 0
    assert (c == 0).all()
    assert (I == 0).all()


log_of_exp = jax.jit(lambda w: (rotation_exp(w), rotation_log(rotation_exp(w))))
gradients = jax.jit(lambda w: (jax.jacfwd(rotation_log)(rotation_exp(w)), jax.jacrev(rotation_exp)(w)))


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 1e-3, 1.0, np.pi - 1e-6, np.pi])
def test_rotation_logarithm(axis, angle):
    """Pitfall D8: right at the half turn too, where several libraries return zero."""
    w = jnp.asarray(axis, float) / np.linalg.norm(axis) * angle
    R, log = log_of_exp(w)
    assert abs(jnp.linalg.norm(log) - angle) <= 1e-9
    assert jnp.abs(rotation_exp(log) - R).max() <= 1e-9
    assert all(jnp.isfinite(gradient).all() for gradient in gradients(w))


def test_rotation_logarithm_inverts_the_exponential():
    def identity(case: Case):
        w = case.gravity / jnp.linalg.norm(case.gravity) * jnp.minimum(jnp.linalg.norm(case.gravity), 3.0)
        return rotation_log(rotation_exp(w)) - w, jax.jacfwd(lambda x: rotation_log(rotation_exp(x)))(w) - jnp.eye(3)

    values, derivatives = jax.jit(jax.vmap(identity))(cases(5))
    assert jnp.abs(values).max() <= 1e-12
    assert jnp.abs(derivatives).max() <= 1e-9
