"""Joint-space mass matrix by the composite-rigid-body algorithm (Featherstone 2008, chapter 6).

From the last joint to the first, with Ic_i the parameters of everything that moves with joint i, in frame i:

    F_i = Ic_i S_i = [ z x h ; I z ]       momentum of that body for a unit velocity of joint i
    M_ij = z . n(F_j carried to frame i),  j >= i;      Ic_(i-1) = phi_(i-1) + transform(Ic_i)

The columns F_j of all joints below are carried along together, one row of M per step. The lower triangle is the
mirrored upper one, so M is exactly symmetric.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from . import inertia
from .chain import Chain, joint_placements
from .spatial import Placement, cross, product


def crba(chain: Chain, q: Float[Array, "n"]) -> Float[Array, "n n"]:
    """Mass matrix, kg m^2: tau = M(q) ddq for a chain at rest without gravity."""
    n = chain.n
    joints = joint_placements(chain, q)
    nothing = jnp.zeros(10, chain.phi.dtype), jnp.zeros((n, 3), chain.phi.dtype), jnp.zeros((n, 3), chain.phi.dtype)
    upper = jax.lax.scan(_add_link, nothing, (joints, chain.phi, jnp.arange(n)), reverse=True)[1]
    return jnp.where(jnp.tri(n, dtype=bool), upper.T, upper)


def _add_link(below: tuple[Array, Array, Array], link: tuple[Placement, Array, Array]):
    """Carry composite body, forces and moments (one row per joint) from link i's frame to its parent's; row i of M."""
    composite, forces, moments = below
    joint, phi, i = link
    composite = composite + phi
    own = (jnp.arange(forces.shape[0]) == i)[:, None]
    f = jnp.stack([-composite[2], composite[1], jnp.zeros_like(composite[0])])
    forces = jnp.where(own, f, forces)
    moments = jnp.where(own, inertia.tensor(composite)[2], moments)
    f_parent = product(forces, joint.rotation.T)
    n_parent = product(moments, joint.rotation.T) + jax.vmap(lambda f: cross(joint.translation, f))(f_parent)
    return (inertia.transform(joint, composite), f_parent, n_parent), moments[:, 2]
