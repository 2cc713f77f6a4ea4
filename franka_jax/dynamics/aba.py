"""Forward dynamics by the articulated-body algorithm (Featherstone 2008, chapter 7).

Twists (v, w) and wrenches (f, n) of link i in its own axes about its joint origin, linear part first; X maps a twist
of the parent to the link, S = e_6, z = (0, 0, 1):

    V_i = X V_(i-1) + S dq,          c_i = V_i x S dq,        p_i = V_i x* (I_i V_i)
    backwards:  U = IA S,  D = S.U,  u = tau - S.pA
                Ia = IA - U U^T / D,   pa = pA + Ia c + U u / D
                IA_(i-1) += X^T Ia X,  pA_(i-1) += X^T pa
    forwards:   A' = X A_(i-1) + c,  ddq = (u - U.A') / D,  A_i = A' + S ddq,       A_0 = (-g, 0)
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from . import inertia
from .chain import Chain, joint_placements
from .spatial import Placement, Vector3, cross, product, rotate, skew


def aba(
    chain: Chain,
    q: Float[Array, "n"],
    dq: Float[Array, "n"],
    tau: Float[Array, "n"],
    gravity: Vector3,
) -> Float[Array, "n"]:
    """Joint accelerations, rad/s^2, under torques tau (N m) at (q, dq) with `gravity` (m/s^2, base axes)."""
    dtype = chain.phi.dtype
    X = jax.vmap(_twist_transform)(joint_placements(chain, q))
    inertias = jax.vmap(inertia.spatial_inertia)(chain.phi)
    rest = jnp.zeros(6, dtype)
    bias_acceleration, bias_force = jax.lax.scan(_bias, rest, (X, chain.phi, dq))[1]
    nothing = jnp.zeros((6, 6), dtype), rest
    articulated = jax.lax.scan(_articulate, nothing, (X, inertias, bias_force, bias_acceleration, tau), reverse=True)[1]
    base = jnp.concatenate([-gravity, jnp.zeros(3, dtype)])
    return jax.lax.scan(_accelerate, base, (X, bias_acceleration, *articulated))[1]


def _twist_transform(joint: Placement) -> Float[Array, "6 6"]:
    Rt = joint.rotation.T
    return jnp.block([[Rt, -product(Rt, skew(joint.translation))], [jnp.zeros_like(Rt), Rt]])


def _bias(parent: Array, link: tuple[Array, Array, Array]):
    """Velocity of a link; its velocity-dependent acceleration and force."""
    X, phi, dq = link
    twist = rotate(X, parent).at[5].add(dq)
    v, w = twist[:3], twist[3:]
    spin = jnp.zeros_like(w).at[2].set(dq)
    linear, angular = inertia.momentum(phi, v, w)
    acceleration = jnp.concatenate([cross(v, spin), cross(w, spin)])
    force = jnp.concatenate([cross(w, linear), cross(w, angular) + cross(v, linear)])
    return twist, (acceleration, force)


def _articulate(below: tuple[Array, Array], link: tuple[Array, ...]):
    """Add a link to the articulated body below it and look at both through the link's joint."""
    X, I, force, acceleration, tau = link
    IA, pA = below[0] + I, below[1] + force
    U, D = IA[5], IA[5, 5]
    u = tau - pA[5]
    Ia = IA - U[:, None] * (U / D)[None, :]
    pa = pA + rotate(Ia, acceleration) + U * (u / D)
    return (product(product(X.T, Ia), X), rotate(X.T, pa)), (U, D, u)


def _accelerate(parent: Array, link: tuple[Array, ...]):
    X, bias, U, D, u = link
    acceleration = rotate(X, parent) + bias
    ddq = (u - jnp.sum(U * acceleration)) / D
    return acceleration.at[5].add(ddq), ddq
