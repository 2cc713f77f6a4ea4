"""The external wrench from external joint torques.

A wrench F = (f, n) at the origin of a frame acts on the joints through the frame's Jacobian; with J of full row rank
the wrench of least squares (pseudo-inverse of J^T) is

    tau = J^T F,        F = (J J^T)^(-1) J tau

Near a singularity of J some direction of F leaves the joints almost untouched and F is noise divided by a small
singular value. The robot itself then reports an all-zero wrench, from a smallest singular value of about 0.08 down
(observed in public reports, not documented by the vendor); so does this function, and it says so.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float

from . import arguments
from .dynamics.spatial import product, rotate

SMALLEST_SINGULAR_VALUE = 0.08
"""Below this smallest singular value of the Jacobian the robot reports a zero wrench (mixed units: m/rad and 1)."""


class WrenchEstimate(NamedTuple):
    """A wrench with its evidence.

    `wrench` (6,): force (N), then moment (N m) at the frame's origin, in the Jacobian's axes (base axes for a zero
    Jacobian, the frame's own for a body Jacobian); zero where not reliable. `smallest_singular_value` of the Jacobian;
    `reliable`: whether that value reaches the threshold.
    """

    wrench: Float[Array, "6"]
    smallest_singular_value: Float[Array, ""]
    reliable: Bool[Array, ""]


def estimate_wrench(
    jacobian: Float[ArrayLike, "6 7"], tau_ext: Float[ArrayLike, "7"], smallest: Any = SMALLEST_SINGULAR_VALUE
) -> WrenchEstimate:
    """The wrench that explains `tau_ext` (7,), N m, through `jacobian` (6, 7), linear rows first.

    The result has the sign of `tau_ext`: torques that an outside force exerts on the arm give that force. Torques that
    no wrench explains (a push on the elbow, friction) are left out by least squares. Below `smallest` the wrench is
    zero and `reliable` is False. Pure, differentiable on both sides of the threshold, one configuration per call
    (batches: `jax.vmap`). Raises ValueError for other shapes, TypeError for what is not real numbers.
    """
    J = jnp.asarray(arguments.host_array("jacobian", jacobian, (6, 7)))
    tau = arguments.array("tau_ext", tau_ext, (7,), J.dtype)
    return _estimate(J, tau, smallest)


@jax.jit
def _estimate(J: Float[Array, "6 7"], tau: Float[Array, "7"], smallest: Any) -> WrenchEstimate:
    sigma = jnp.linalg.svd(J, compute_uv=False)[-1]
    reliable = sigma >= smallest
    # The matrix is replaced where the answer is not used, so that its derivative stays finite there too.
    gram = jnp.where(reliable, product(J, J.T), jnp.eye(6, dtype=J.dtype))
    wrench = jnp.where(reliable, jnp.linalg.solve(gram, rotate(J, tau)), 0.0)
    return WrenchEstimate(wrench, sigma, reliable)
