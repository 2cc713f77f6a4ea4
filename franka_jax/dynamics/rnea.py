"""Inverse dynamics by the recursive Newton-Euler algorithm (Luh, Walker, Paul 1980; Featherstone 2008, chapter 5).

All quantities of link i in its own axes, about its joint origin, so that forces are linear in phi = (m, h, I):

    w_i  = R^T w_(i-1) + z dq                               angular velocity
    al_i = R^T al_(i-1) + z ddq + w_i x z dq                angular acceleration
    a_i  = R^T (a_(i-1) + al_(i-1) x p + w_(i-1) x (w_(i-1) x p))      acceleration of the origin, a_0 = -g
    f_i  = m a + al x h + w x (w x h),     n_i = h x a + I al + w x (I w)
    backwards: f_(i-1) += R f_i,  n_(i-1) += R n_i + p x (R f_i),  tau_i = z . n_i

With a_0 = -g a resting base needs no gravity force on any link.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .chain import Chain, joint_placements
from .inertia import Phi, tensor
from .spatial import Placement, Vector3, cross, rotate, rotate_back


class Motion(NamedTuple):
    """Angular velocity w, angular acceleration alpha, acceleration a of a link's origin; the link's own axes."""

    w: Vector3
    alpha: Vector3
    a: Vector3


def rnea(
    chain: Chain,
    q: Float[Array, "n"],
    dq: Float[Array, "n"],
    ddq: Float[Array, "n"],
    gravity: Vector3,
) -> Float[Array, "n"]:
    """Joint torques, N m, that produce ddq at (q, dq) under `gravity` (m/s^2, base axes): M ddq + C dq + G."""
    joints = joint_placements(chain, q)
    motions = link_motions(joints, dq, ddq, gravity)
    forces = jax.vmap(body_force)(chain.phi, motions)
    return project_forces(joints, forces)


def link_motions(joints: Placement, dq: Float[Array, "n"], ddq: Float[Array, "n"], gravity: Vector3) -> Motion:
    """Velocities and accelerations of all links (leading axis n), gravity included as an upward base acceleration."""
    zero = jnp.zeros(3, joints.rotation.dtype)
    return jax.lax.scan(_move_link, Motion(zero, zero, -gravity), (joints, dq, ddq))[1]


def _move_link(parent: Motion, joint: tuple[Placement, Array, Array]) -> tuple[Motion, Motion]:
    (R, p), dq, ddq = joint
    spin = jnp.zeros_like(p).at[2].set(dq)
    w = rotate_back(R, parent.w) + spin
    alpha = rotate_back(R, parent.alpha) + cross(w, spin).at[2].add(ddq)
    a = rotate_back(R, parent.a + cross(parent.alpha, p) + cross(parent.w, cross(parent.w, p)))
    link = Motion(w, alpha, a)
    return link, link


def body_force(phi: Phi, motion: Motion) -> tuple[Vector3, Vector3]:
    """Force (N) and moment about the origin (N m) that move a body with parameters phi along `motion`."""
    h, I = phi[1:4], tensor(phi)
    w, alpha, a = motion
    f = phi[0] * a + cross(alpha, h) + cross(w, cross(w, h))
    n = cross(h, a) + rotate(I, alpha) + cross(w, rotate(I, w))
    return f, n


def project_forces(joints: Placement, forces: tuple[Array, Array]) -> Float[Array, "n"]:
    """Joint torques from the forces and moments (n, 3) on the links: sum what hangs below, take the z moment."""
    zero = jnp.zeros(3, joints.rotation.dtype)
    return jax.lax.scan(_collect_force, (zero, zero), (joints, forces), reverse=True)[1]


def _collect_force(below: tuple[Vector3, Vector3], link: tuple[Placement, tuple[Vector3, Vector3]]):
    (R, p), (own_f, own_n) = link
    f, n = below[0] + own_f, below[1] + own_n
    f_parent = rotate(R, f)
    return (f_parent, rotate(R, n) + cross(p, f_parent)), n[2]
