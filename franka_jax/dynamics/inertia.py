"""The ten inertial parameters of a rigid body, and their other forms.

    phi = (m, h, I_o) = (m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz)        h = m c,  I_o about the FRAME ORIGIN

(the order of Pinocchio's `Inertia::toDynamicParameters`). In this form bodies that move together are added by adding
their phi, and a frame change B -> A with A_T_B = (R, p) is, with h' = R h,

    m_A = m,   h_A = h' + m p,   I_A = R I R^T + 2 (p.h') 1 - p h'^T - h' p^T + m ((p.p) 1 - p p^T)

The inertia about the centre of mass is I_c = I_o - m ((c.c) 1 - c c^T); the pseudo-inertia
(Wensing, Kim, Slotine 2018) is the symmetric 4x4 matrix

    J = [[ tr(I_o)/2 1 - I_o,  h ], [ h^T,  m ]]          a body is physically consistent <=> J >= 0
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .spatial import Placement, Vector3, cross, product, rotate

Phi = Float[Array, "10"]
Tensor = Float[Array, "3 3"]


def tensor(phi: Phi) -> Tensor:
    """Inertia tensor about the frame origin, kg m^2."""
    xx, xy, yy, xz, yz, zz = (phi[k] for k in range(4, 10))
    return jnp.stack([jnp.stack([xx, xy, xz]), jnp.stack([xy, yy, yz]), jnp.stack([xz, yz, zz])])


def pack(m: Float[Array, ""], h: Vector3, I: Tensor) -> Phi:
    """phi from mass (kg), first moment (kg m) and the tensor about the origin (kg m^2; its upper triangle is read)."""
    return jnp.stack([m, h[0], h[1], h[2], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def point_inertia(d: Vector3) -> Tensor:
    """(d.d) 1 - d d^T: the tensor of a unit mass at d, m^2."""
    return jnp.sum(d * d) * jnp.eye(3, dtype=d.dtype) - d[:, None] * d[None, :]


def from_mass_center(m: Float[Array, ""], c: Vector3, I_c: Tensor) -> Phi:
    """phi from mass (kg), centre of mass (m) and the tensor about the centre of mass (kg m^2)."""
    return pack(m, m * c, I_c + m * point_inertia(c))


def to_mass_center(phi: Phi) -> tuple[Float[Array, ""], Vector3, Tensor]:
    """Mass (kg), centre of mass (m), tensor about it (kg m^2); a massless body's centre is reported at the origin."""
    m = phi[0]
    massless = m == 0
    c = jnp.where(massless, 0.0, phi[1:4] / jnp.where(massless, 1.0, m))
    return m, c, tensor(phi) - m * point_inertia(c)


def transform(placement: Placement, phi: Phi) -> Phi:
    """The same body in frame A, from phi in frame B and the placement A_T_B."""
    R, p = placement
    m, h = phi[0], rotate(R, phi[1:4])
    ph = p[:, None] * h[None, :]
    shift = 2 * jnp.sum(p * h) * jnp.eye(3, dtype=phi.dtype) - ph - ph.T + m * point_inertia(p)
    return pack(m, h + m * p, product(product(R, tensor(phi)), R.T) + shift)


def pseudo_inertia(phi: Phi) -> Float[Array, "4 4"]:
    """The pseudo-inertia matrix J; upper-left block kg m^2, border kg m, corner kg."""
    I = tensor(phi)
    sigma = 0.5 * jnp.trace(I) * jnp.eye(3, dtype=phi.dtype) - I
    top = jnp.concatenate([sigma, phi[1:4, None]], axis=1)
    return jnp.concatenate([top, jnp.concatenate([phi[1:4], phi[:1]])[None]])


def from_pseudo_inertia(J: Float[Array, "4 4"]) -> Phi:
    """phi from the pseudo-inertia matrix; inverse of `pseudo_inertia`."""
    sigma = J[:3, :3]
    return pack(J[3, 3], J[:3, 3], jnp.trace(sigma) * jnp.eye(3, dtype=J.dtype) - sigma)


def spatial_inertia(phi: Phi) -> Float[Array, "6 6"]:
    """The 6x6 matrix that maps a twist (v, w) at the origin to the momentum (l, k); linear rows first."""
    m, h = phi[0], phi[1:4]
    zero = jnp.zeros_like(m)
    s = jnp.stack([jnp.stack([zero, -h[2], h[1]]), jnp.stack([h[2], zero, -h[0]]), jnp.stack([-h[1], h[0], zero])])
    return jnp.block([[m * jnp.eye(3, dtype=phi.dtype), -s], [s, tensor(phi)]])


def momentum(phi: Phi, v: Vector3, w: Vector3) -> tuple[Vector3, Vector3]:
    """Momenta about the origin of a body that moves with twist (v, w): l = m v + w x h, k = h x v + I w."""
    h = phi[1:4]
    return phi[0] * v + cross(w, h), cross(h, v) + rotate(tensor(phi), w)
