"""Geometric Jacobians of a point fixed to a link; rows 0-2 linear, 3-5 angular.

With joint axes z_j and joint origins o_j in base axes, and the frame X = [R, p] fixed to link k:

    zero Jacobian:  J_O(:, j) = [ z_j x (p - o_j) ; z_j ]  for j <= k, else 0      (velocity of X's origin, base axes)
    body Jacobian:  J_B = blkdiag(R^T, R^T) J_O                                    (the same motion in X's own axes)

Pinocchio calls these LOCAL_WORLD_ALIGNED and LOCAL; neither is its WORLD Jacobian.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .spatial import Placement, Rotation, Vector3, cross, product


def zero_jacobian(links: Placement, link: int, point: Vector3) -> Float[Array, "6 n"]:
    """Zero Jacobian of `point` (base axes, m) fixed to link number `link` (from 0), given all link placements."""
    axes = links.rotation[:, :, 2]
    linear = jax.vmap(cross)(axes, point - links.translation)
    columns = jnp.concatenate([linear, axes], axis=1)
    moves = jnp.arange(axes.shape[0]) <= link
    return jnp.where(moves[:, None], columns, 0.0).T


def body_jacobian(zero: Float[Array, "6 n"], R: Rotation) -> Float[Array, "6 n"]:
    """The zero Jacobian `zero` expressed in the axes of a frame with orientation R in the base."""
    return jnp.concatenate([product(R.T, zero[:3]), product(R.T, zero[3:])])
