"""Rotations and placements: the small algebra that the recursions are written in.

A placement A_T_B = (R, p) maps coordinates in B to coordinates in A:

    x_A = R x_B + p,        (R1, p1) (R2, p2) = (R1 R2, R1 p2 + p1)

Products are written as multiply-and-sum instead of `jnp.matmul`: XLA fuses them over a batch, and no backend replaces
them by a reduced-precision matrix unit (TF32 on GPUs costs seven digits).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

Rotation = Float[Array, "3 3"]
Vector3 = Float[Array, "3"]


class Placement(NamedTuple):
    """A rigid placement A_T_B: `rotation` (3, 3) takes B's axes to A's, `translation` (3,) is B's origin in A, m."""

    rotation: Rotation
    translation: Vector3


def rotate(R: Rotation, v: Vector3) -> Vector3:
    """R v: from the inner frame's axes to the outer frame's."""
    return jnp.sum(R * v, axis=-1)


def rotate_back(R: Rotation, v: Vector3) -> Vector3:
    """R^T v: from the outer frame's axes to the inner frame's."""
    return jnp.sum(R * v[:, None], axis=0)


def product(A: Float[Array, "n k"], B: Float[Array, "k m"]) -> Float[Array, "n m"]:
    """A B for small matrices."""
    return jnp.sum(A[:, :, None] * B[None, :, :], axis=1)


def cross(a: Vector3, b: Vector3) -> Vector3:
    """a x b."""
    return jnp.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: Vector3) -> Rotation:
    """The matrix S(a) with S(a) b = a x b."""
    zero = jnp.zeros_like(a[0])
    return jnp.stack(
        [jnp.stack([zero, -a[2], a[1]]), jnp.stack([a[2], zero, -a[0]]), jnp.stack([-a[1], a[0], zero])],
    )


def rotation_z(angle: Float[Array, ""]) -> Rotation:
    """Rotation by `angle` (rad) about z."""
    c, s = jnp.cos(angle), jnp.sin(angle)
    zero, one = jnp.zeros_like(c), jnp.ones_like(c)
    return jnp.stack([jnp.stack([c, -s, zero]), jnp.stack([s, c, zero]), jnp.stack([zero, zero, one])])


def compose(outer: Placement, inner: Placement) -> Placement:
    """A_T_C from A_T_B and B_T_C."""
    return Placement(
        product(outer.rotation, inner.rotation),
        rotate(outer.rotation, inner.translation) + outer.translation,
    )


def to_matrix(placement: Placement) -> Float[Array, "4 4"]:
    """The homogeneous 4x4 matrix of a placement."""
    top = jnp.concatenate([placement.rotation, placement.translation[:, None]], axis=1)
    bottom = jnp.zeros((1, 4), top.dtype).at[0, 3].set(1)
    return jnp.concatenate([top, bottom])


def from_matrix(T: Float[Array, "4 4"]) -> Placement:
    """The rotation block and the translation of a homogeneous matrix, as they are: nothing is re-orthonormalised."""
    return Placement(T[:3, :3], T[:3, 3])
