"""Inverse dynamics and mass matrix as linear functions of the inertial parameters.

With a link's motion (w, al, a) as in `rnea`, S(x) y = x x y and L(x) vec(I) = I x:

    [f; n] = A phi,      A = [ a   S(al) + S(w) S(w)   0                 ]
                             [ 0   -S(a)               L(al) + S(w) L(w) ]        (6 x 10)

    Y: block j of the rows of joint i is z_i . n(A_j carried to frame i), j >= i;     tau = Y (phi_1, ..., phi_n)
    M_ij = row i of Y(q, 0, e_j; g = 0) (phi_1, ..., phi_n)
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .chain import Chain, joint_placements
from .rnea import Motion, link_motions
from .spatial import Placement, Vector3, cross, product, skew


def body_regressor(motion: Motion) -> Float[Array, "6 10"]:
    """A with [f; n] = A phi for one body moving along `motion`."""
    w, alpha, a = motion
    zero = jnp.zeros_like(a)
    force = jnp.concatenate([a[:, None], skew(alpha) + product(skew(w), skew(w)), jnp.zeros((3, 6), a.dtype)], axis=1)
    inertia_part = _tensor_times(alpha) + product(skew(w), _tensor_times(w))
    moment = jnp.concatenate([zero[:, None], -skew(a), inertia_part], axis=1)
    return jnp.concatenate([force, moment])


def _tensor_times(x: Vector3) -> Float[Array, "3 6"]:
    """L(x) with L(x) (Ixx, Ixy, Iyy, Ixz, Iyz, Izz) = I x."""
    zero = jnp.zeros_like(x[0])
    rows = [[x[0], x[1], zero, x[2], zero, zero], [zero, x[0], x[1], zero, x[2], zero], [zero, zero, zero, *x]]
    return jnp.stack([jnp.stack(row) for row in rows])


def torque_regressor(
    chain: Chain,
    q: Float[Array, "n"],
    dq: Float[Array, "n"],
    ddq: Float[Array, "n"],
    gravity: Vector3,
) -> Float[Array, "n p"]:
    """Y (n, 10 n) with Y phi.ravel() = rnea; uses the chain's placements only, not its phi."""
    n = chain.n
    joints = joint_placements(chain, q)
    own = jax.vmap(body_regressor)(link_motions(joints, dq, ddq, gravity))
    nothing = jnp.zeros((n, 10, 3), own.dtype), jnp.zeros((n, 10, 3), own.dtype)
    return jax.lax.scan(_collect, nothing, (joints, own, jnp.arange(n)), reverse=True)[1]


def _collect(below: tuple[Array, Array], link: tuple[Placement, Array, Array]):
    """Set link i's own block, read joint i's row, carry forces and moments (block, column, 3) to the parent's frame."""
    (R, p), own, i = link
    n = below[0].shape[0]
    mine = (jnp.arange(n) == i)[:, None, None]
    forces = jnp.where(mine, own[:3].T, below[0])
    moments = jnp.where(mine, own[3:].T, below[1])
    f = product(forces.reshape(-1, 3), R.T)
    m = product(moments.reshape(-1, 3), R.T) + jax.vmap(lambda force: cross(p, force))(f)
    return (f.reshape(forces.shape), m.reshape(forces.shape)), moments[:, :, 2].ravel()


def mass_regressor(chain: Chain, q: Float[Array, "n"]) -> Float[Array, "n n p"]:
    """(n, n, 10 n) with mass_regressor phi.ravel() = crba."""
    rest = jnp.zeros_like(q)
    gravity = jnp.zeros(3, q.dtype)
    column = jax.vmap(lambda e: torque_regressor(chain, q, rest, e, gravity))(jnp.eye(chain.n, dtype=q.dtype))
    return jnp.swapaxes(column, 0, 1)
