"""Exponential and logarithm of rotations, with finite derivatives everywhere.

    exp(w) = 1 + sin(t)/t S(w) + (1 - cos(t))/t^2 S(w)^2,      t = |w|
    log(R): via the unit quaternion (x, s) of R, largest component first (Shepperd 1978):
            w = 2 atan2(|x|, s) x/|x|

At the identity both use their Taylor series; at a half turn the quaternion is regular, so the logarithm has angle pi,
a unit axis (either sign is right there) and finite gradients.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .spatial import Rotation, Vector3, product, skew


def rotation_exp(w: Vector3) -> Rotation:
    """Rotation by the angle |w| (rad) about w."""
    t2 = jnp.sum(w * w)
    small = t2 < 1e-6
    t = jnp.sqrt(jnp.where(small, 1.0, t2))
    a = jnp.where(small, 1 - t2 / 6 * (1 - t2 / 20), jnp.sin(t) / t)
    b = jnp.where(small, 0.5 - t2 / 24 * (1 - t2 / 30), 2 * (jnp.sin(t / 2) / t) ** 2)
    S = skew(w)
    return jnp.eye(3, dtype=w.dtype) + a * S + b * product(S, S)


def rotation_log(R: Rotation) -> Vector3:
    """Rotation vector w, |w| <= pi rad, with exp(w) = R."""
    x, y, z, s = quaternion(R)
    vector = jnp.stack([x, y, z])
    vector, s = jnp.where(s < 0, -vector, vector), jnp.abs(s)
    n2 = jnp.sum(vector * vector)
    small = n2 < 1e-8
    n = jnp.sqrt(jnp.where(small, 1.0, n2))
    # 2 atan(n/s)/n = 2/s (1 - (n/s)^2/3 + (n/s)^4/5 ...)
    ratio2 = jnp.where(small, n2 / jnp.where(small, s, 1.0) ** 2, 0.0)
    series = 2 / jnp.where(small, s, 1.0) * (1 - ratio2 / 3 + ratio2 * ratio2 / 5)
    return vector * jnp.where(small, series, 2 * jnp.arctan2(n, s) / n)


def quaternion(R: Rotation) -> Float[Array, "4"]:
    """Unit quaternion (x, y, z, s) of R, the component largest in size positive."""
    d0, d1, d2 = R[0, 0], R[1, 1], R[2, 2]
    # Row k: 4 times the products of component k with all four; its own square is entry k.
    rows = jnp.stack(
        [
            jnp.stack([1 + d0 - d1 - d2, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]]),
            jnp.stack([R[0, 1] + R[1, 0], 1 - d0 + d1 - d2, R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]]),
            jnp.stack([R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 - d0 - d1 + d2, R[1, 0] - R[0, 1]]),
            jnp.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1 + d0 + d1 + d2]),
        ]
    )
    squares = jnp.diagonal(rows)
    best = jnp.max(squares)
    row = rows[3]
    for k in range(3):
        row = jnp.where(squares[k] == best, rows[k], row)
    return row / (2 * jnp.sqrt(best))
