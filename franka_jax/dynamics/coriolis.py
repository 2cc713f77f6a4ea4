"""Coriolis matrix from Christoffel symbols of the first kind.

    C_ij = sum_k 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) dq_k

so that C(q, dq) dq is the velocity torque of `rnea` and dM/dt - 2 C is skew-symmetric. The derivatives of M are
forward-mode derivatives of `crba`.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .chain import Chain
from .crba import crba


def coriolis_matrix(chain: Chain, q: Float[Array, "n"], dq: Float[Array, "n"]) -> Float[Array, "n n"]:
    """C(q, dq), N m s/rad."""
    dM = jax.jacfwd(lambda x: crba(chain, x))(q)
    along = jnp.sum(dM * dq, axis=2)
    across = jnp.sum(dM * dq[None, :, None], axis=1)
    return 0.5 * (along + across - across.T)
