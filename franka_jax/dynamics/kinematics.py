"""Forward kinematics: base_T_i = base_T_(i-1) (i-1)_T_i(q_i)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .chain import Chain, joint_placements
from .spatial import Placement, compose


def link_placements(chain: Chain, q: Float[Array, "n"]) -> Placement:
    """Joint frames (after their rotation) in the base: rotations (n, 3, 3), translations (n, 3), m."""
    first = Placement(jnp.eye(3, dtype=chain.phi.dtype), jnp.zeros(3, chain.phi.dtype))
    return jax.lax.scan(_descend, first, joint_placements(chain, q))[1]


def _descend(parent: Placement, joint: Placement) -> tuple[Placement, Placement]:
    link = compose(parent, joint)
    return link, link
