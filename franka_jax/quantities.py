"""The model's quantities as functions of a model and arrays; `Model` checks the arguments and calls these.

They stand at module level so that each is traced and compiled once, whichever `Model` object makes the call.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jaxtyping import Array

from . import dynamics
from .dynamics import Chain, Placement, spatial
from .frames import Frame
from .payload import Payload, in_joint_frame, library_term

if TYPE_CHECKING:
    from .model import Model


def _frame(model: Model, frame: Frame, links: Placement, F_T_EE: Array | None, EE_T_K: Array | None) -> Array:
    """O_T_X as plain 4x4 products."""
    if frame not in (Frame.FLANGE, Frame.END_EFFECTOR, Frame.STIFFNESS):
        return spatial.to_matrix(Placement(links.rotation[frame.link], links.translation[frame.link]))
    last = Placement(links.rotation[6], links.translation[6])
    T = spatial.to_matrix(spatial.compose(last, model.flange))
    if frame is not Frame.FLANGE and F_T_EE is not None:
        T = spatial.product(T, F_T_EE)
    if frame is Frame.STIFFNESS and EE_T_K is not None:
        T = spatial.product(T, EE_T_K)
    return T


@partial(jax.jit, static_argnames="frame")
def pose(model: Model, frame: Frame, q, F_T_EE, EE_T_K):
    """O_T_X (4, 4) of a frame, m."""
    return _frame(model, frame, dynamics.link_placements(model.chain, q), F_T_EE, EE_T_K)


@partial(jax.jit, static_argnames="frame")
def zero_jacobian(model: Model, frame: Frame, q, F_T_EE, EE_T_K):
    """Jacobian (6, 7) of the frame's origin, base axes."""
    links = dynamics.link_placements(model.chain, q)
    return dynamics.zero_jacobian(links, frame.link, _frame(model, frame, links, F_T_EE, EE_T_K)[:3, 3])


@partial(jax.jit, static_argnames="frame")
def body_jacobian(model: Model, frame: Frame, q, F_T_EE, EE_T_K):
    """Jacobian (6, 7) in the frame's own axes."""
    links = dynamics.link_placements(model.chain, q)
    T = _frame(model, frame, links, F_T_EE, EE_T_K)
    return dynamics.body_jacobian(dynamics.zero_jacobian(links, frame.link, T[:3, 3]), T[:3, :3])


@partial(jax.jit, static_argnames="frame")
def jacobian_dot(model: Model, frame: Frame, q, dq, F_T_EE, EE_T_K):
    """Rate (6, 7) of the zero Jacobian along dq."""
    return jax.jvp(lambda x: zero_jacobian(model, frame, x, F_T_EE, EE_T_K), (q,), (dq,))[1]


def _loaded(model: Model, payload: Payload | None) -> Chain:
    """The chain with the payload on its last link, by the model's payload rule."""
    if payload is None:
        return model.chain
    m, center, phi = in_joint_frame(model.flange, jax.tree.map(lambda x: jnp.asarray(x, model.dtype), payload))
    if model.payload_rule == "library":
        # The library's own mass of its last body is m7, while m7 c7x and m7 c7y are shared with the set.
        own = model.chain.phi[6]
        c7 = jnp.stack([own[1] / model.m7, own[2] / model.m7, model.c7z])
        phi = phi + library_term(m, center, model.m7, c7)
    return model.chain.add_to_last(phi)


@jax.jit
def mass(model: Model, q, payload):
    """Mass matrix (7, 7), kg m^2."""
    return dynamics.crba(_loaded(model, payload), q)


@jax.jit
def coriolis(model: Model, q, dq, payload):
    """C(q, dq) dq (7,), N m."""
    return dynamics.rnea(_loaded(model, payload), q, dq, jnp.zeros_like(q), jnp.zeros(3, q.dtype))


@jax.jit
def gravity(model: Model, q, payload, gravity):
    """Holding torques (7,), N m."""
    rest = jnp.zeros_like(q)
    return dynamics.rnea(_loaded(model, payload), q, rest, rest, gravity)


@jax.jit
def inverse_dynamics(model: Model, q, dq, ddq, payload, gravity):
    """M ddq + C dq + g (7,), N m."""
    # The library's gravity vector does not contain the rule's additional term; nor does a rotational inertia enter it.
    return dynamics.rnea(_loaded(model, payload), q, dq, ddq, gravity)


@jax.jit
def forward_dynamics(model: Model, q, dq, tau, payload, gravity):
    """Accelerations (7,), rad/s^2."""
    return dynamics.aba(_loaded(model, payload), q, dq, tau, gravity)


@jax.jit
def coriolis_matrix(model: Model, q, dq, payload):
    """C(q, dq) (7, 7), N m s/rad."""
    return dynamics.coriolis_matrix(_loaded(model, payload), q, dq)


@jax.jit
def regressor(model: Model, q, dq, ddq, gravity):
    """Y (7, 70) with Y phi.ravel() = inverse dynamics."""
    return dynamics.torque_regressor(model.chain, q, dq, ddq, gravity)


@jax.jit
def mass_regressor(model: Model, q):
    """(7, 7, 70) with mass_regressor phi.ravel() = mass."""
    return dynamics.mass_regressor(model.chain, q)
