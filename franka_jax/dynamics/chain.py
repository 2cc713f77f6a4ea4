"""A serial chain of revolute joints: what the recursions run over.

Joint i turns link i about the z axis of its own frame; its placement on link i-1 at q_i = 0 is (R_i, p_i):

    (i-1)_T_i(q_i) = (R_i Rz(q_i), p_i)

An axis in another direction is the same chain with link frames turned so that z is the axis, so nothing is lost.
Placements and inertial parameters are array leaves (differentiable, batchable); only the number of joints is static.
"""

import equinox as eqx
import jax
from jaxtyping import Array, Float

from .spatial import Placement, product, rotation_z


class Chain(eqx.Module):
    """A serial chain of n revolute joints about local z.

    `placement`: rotations (n, 3, 3) and translations (n, 3), m, of joint i on link i-1 (the first on the base).
    `phi`: (n, 10), the inertial parameters of link i about the origin of its joint frame (see `inertia`).
    """

    placement: Placement
    phi: Float[Array, "n 10"]

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.phi.shape[0]

    def with_phi(self, phi: Float[Array, "n 10"]) -> "Chain":
        """The same chain with other inertial parameters."""
        return Chain(self.placement, phi)

    def add_to_last(self, phi: Float[Array, "10"]) -> "Chain":
        """The same chain with a body (parameters in the last joint's frame) fixed to its last link."""
        return Chain(self.placement, self.phi.at[-1].add(phi))


def joint_placements(chain: Chain, q: Float[Array, "n"]) -> Placement:
    """(i-1)_T_i(q_i) of every joint: rotations (n, 3, 3), translations (n, 3)."""
    rotation = jax.vmap(lambda R, angle: product(R, rotation_z(angle)))(chain.placement.rotation, q)
    return Placement(rotation, chain.placement.translation)
