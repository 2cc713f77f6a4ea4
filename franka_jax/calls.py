"""The model's calls as pure functions of arrays alone, ready to be compiled: every option is an argument.

Without a payload its arrays are zero, without a transform it is the identity; both give the numbers of the model's own
defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from franka_jax.frames import Frame
from franka_jax.model import GRAVITY_EARTH, Model
from franka_jax.payload import Payload

VECTOR, TRANSFORM, PAYLOAD, GRAVITY = "vector", "transform", "payload", "gravity"

#: Shapes of the arrays behind an argument of each kind.
SHAPES = {VECTOR: ((7,),), TRANSFORM: ((4, 4),), PAYLOAD: ((), (3,), (3, 3)), GRAVITY: ((3,),)}
#: Their values where the argument is left out; a configuration cannot be.
DEFAULTS: dict[str, tuple[np.ndarray, ...]] = {
    TRANSFORM: (np.eye(4),),
    PAYLOAD: (np.zeros(()), np.zeros(3), np.zeros((3, 3))),
    GRAVITY: (np.array(GRAVITY_EARTH),),
}
KINDS = {
    "q": VECTOR,
    "dq": VECTOR,
    "ddq": VECTOR,
    "tau": VECTOR,
    "payload": PAYLOAD,
    "F_T_EE": TRANSFORM,
    "EE_T_K": TRANSFORM,
    "gravity_earth": GRAVITY,
}

#: Call of `Model` -> its arguments, the frame left out.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "pose": ("q", "F_T_EE", "EE_T_K"),
    "zero_jacobian": ("q", "F_T_EE", "EE_T_K"),
    "body_jacobian": ("q", "F_T_EE", "EE_T_K"),
    "jacobian_dot": ("q", "dq", "F_T_EE", "EE_T_K"),
    "mass": ("q", "payload"),
    "coriolis": ("q", "dq", "payload"),
    "gravity": ("q", "payload", "gravity_earth"),
    "inverse_dynamics": ("q", "dq", "ddq", "payload", "gravity_earth"),
    "forward_dynamics": ("q", "dq", "tau", "payload", "gravity_earth"),
    "coriolis_matrix": ("q", "dq", "payload"),
    "regressor": ("q", "dq", "ddq", "gravity_earth"),
    "mass_regressor": ("q",),
    "evaluate": ("q", "dq", "payload", "F_T_EE", "EE_T_K", "gravity_earth"),
}
NEEDS_FRAME = ("pose", "zero_jacobian", "body_jacobian", "jacobian_dot")


class Quantities(NamedTuple):
    """The five quantities of a controller, of the end-effector frame; see `Model` for units and axes."""

    O_T_EE: Any
    zero_jacobian: Any
    mass: Any
    coriolis: Any
    gravity: Any


def evaluate(model: Model, q: Any, dq: Any, payload: Any, F_T_EE: Any, EE_T_K: Any, gravity_earth: Any) -> Quantities:
    """All five quantities of one state."""
    return Quantities(
        model.pose(Frame.END_EFFECTOR, q, F_T_EE, EE_T_K),
        model.zero_jacobian(Frame.END_EFFECTOR, q, F_T_EE, EE_T_K),
        model.mass(q, payload),
        model.coriolis(q, dq, payload),
        model.gravity(q, payload, gravity_earth),
    )


def pure_call(model: Model, name: str, frame: Frame | None = None) -> Callable[..., Any]:
    """A call of the model as a function of its arrays: vectors, transforms (4, 4), payloads as `Payload`."""
    if name == "evaluate":

        def call(*arguments: Any) -> Any:
            return evaluate(model, *arguments)
    elif name in NEEDS_FRAME:

        def call(*arguments: Any) -> Any:
            return getattr(model, name)(frame, *arguments)
    else:

        def call(*arguments: Any) -> Any:
            return getattr(model, name)(*arguments)

    call.__name__ = name if frame is None else f"{name}_{frame.value}"
    return call


def example_arguments(name: str) -> tuple[Any, ...]:
    """Arguments of the right shapes to compile a call with."""
    examples = {VECTOR: np.zeros(7), PAYLOAD: Payload(*DEFAULTS[PAYLOAD])}
    return tuple(examples.get(kind, DEFAULTS.get(kind, (None,))[0]) for kind in kinds_of(name))


def kinds_of(name: str) -> Sequence[str]:
    """Kinds of the arguments of a call."""
    return [KINDS[argument] for argument in ARGUMENTS[name]]
