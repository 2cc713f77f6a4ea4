"""The payload: a rigid body fixed to the flange.

A payload of mass m, centre c (flange axes, from the flange origin) and tensor I (flange axes, about its own centre)
joins the last moving body. With P = (R_F, p_F) the placement of the flange on joint 7,

    phi_7 <- phi_7 + phi(m, R_F c + p_F, R_F I R_F^T)                    rigid rule (libfranka on v10)

The FER's own library leaves out one parallel-axis term of the merge (measured on its answers; NOTICE names them):
with m_7, c_7 the library's own mass and centre of its last body and d = R_F c + p_F - c_7,

    I_7 <- I_7 - m_7 (m / (m + m_7))^2 ((d.d) 1 - d d^T)                 additional term of the library rule
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from . import arguments
from .dynamics import inertia
from .dynamics.spatial import Placement, Vector3, product, rotate


class Payload(eqx.Module):
    """A payload as libfranka's `m_total`, `F_x_Ctotal`, `I_total` describe it: end effector plus load.

    Args:
        m_total: mass, kg.
        F_x_Ctotal: (3,) centre of mass in flange axes from the flange origin, m.
        I_total: (3, 3) or flat 9 column-major; inertia about the payload's own centre of mass, flange axes, kg m^2.
            Symmetric; added even when m_total is 0, as libfranka does.

    All three are array leaves: differentiable, and batched by `vmap`. Values are not judged here (they may be traced);
    `check()` judges them. Wrong shapes raise ValueError, what is not real numbers TypeError.

    Example: 0.73 kg at (0.01, 0, 0.03), I = diag(0.001, 0.0025, 0.0017) changes the FR3's gravity torque of joint 2 at
    q = 0 from -3.52387 to -4.22568 N m.
    """

    m_total: Float[Array, ""]
    F_x_Ctotal: Float[Array, "3"]
    I_total: Float[Array, "3 3"]

    def __init__(self, m_total: Any, F_x_Ctotal: Any, I_total: Any):
        self.m_total = arguments.host_array("m_total", m_total, ())
        self.F_x_Ctotal = arguments.host_array("F_x_Ctotal", F_x_Ctotal, (3,))
        self.I_total = arguments.tensor("I_total", I_total)

    def __repr__(self) -> str:
        return eqx.tree_pformat(self, short_arrays=False)

    @classmethod
    def none(cls) -> "Payload":
        """No payload: all zero."""
        return cls(0.0, np.zeros(3), np.zeros((3, 3)))

    def combine(self, other: "Payload") -> "Payload":
        """Both payloads as one body, as libfranka combines end effector and load (both in the same flange axes).

        m = m_1 + m_2, c = (m_1 c_1 + m_2 c_2)/m, tensors moved to c by the parallel-axis theorem. As in libfranka the
        tensor of a massless part does not count here, and two massless parts give all zero.
        """
        single(other)
        m1, m2 = jnp.asarray(self.m_total), jnp.asarray(other.m_total)
        total = m1 + m2
        some = total > 0
        safe = jnp.where(some, total, 1.0)
        center = jnp.where(some, (m1 * self.F_x_Ctotal + m2 * other.F_x_Ctotal) / safe, 0.0)
        d = jnp.asarray(other.F_x_Ctotal) - self.F_x_Ctotal
        shift = m1 * m2 / safe * inertia.point_inertia(d)
        own = jnp.where(m1 == 0, 0.0, self.I_total) + jnp.where(m2 == 0, 0.0, other.I_total)
        return Payload(total, center, jnp.where(some, own + shift, 0.0))

    def check(self) -> "Payload":
        """Return self if the numbers describe a body. ValueError if the mass is negative, anything is not finite, or
        the tensor is not symmetric (tolerance 1e-9 of its largest entry).
        """
        m, c, I = (np.asarray(x) for x in (self.m_total, self.F_x_Ctotal, self.I_total))
        if not (np.isfinite(m) and np.isfinite(c).all() and np.isfinite(I).all()):
            raise ValueError("the payload has numbers that are not finite")
        if m < 0:
            raise ValueError(f"the payload's mass must not be negative, it is {float(m)} kg")
        if np.abs(I - I.T).max() > 1e-9 * np.abs(I).max():
            raise ValueError("the payload's inertia tensor is not symmetric")
        return self


def single(payload: Any) -> Payload:
    """The argument, if it is one payload. TypeError for something else, ValueError for a batch."""
    if not isinstance(payload, Payload):
        raise TypeError(f"payload must be a Payload (or None for no payload), not {type(payload).__name__}")
    if np.shape(payload.m_total) != ():
        batch = np.shape(payload.m_total)
        raise ValueError(
            f"payload is a batch of shape {batch}, one is needed. For a batch use jax.vmap over the function."
        )
    return payload


def in_joint_frame(flange: Placement, payload: Payload) -> tuple[Array, Vector3, Float[Array, "10"]]:
    """Mass, centre in the last joint's frame, and phi there of a payload at the flange (rigid rule)."""
    R, p = flange
    center = rotate(R, payload.F_x_Ctotal) + p
    I = product(product(R, payload.I_total), R.T)
    return payload.m_total, center, inertia.from_mass_center(payload.m_total, center, I)


def library_term(m: Array, center: Vector3, m7: Array, c7: Vector3) -> Float[Array, "10"]:
    """The library rule's additional term, as parameters: a change of rotational inertia alone."""
    change = -m7 * (m / (m + m7)) ** 2 * inertia.point_inertia(center - c7)
    return inertia.pack(jnp.zeros_like(m), jnp.zeros_like(center), change)
