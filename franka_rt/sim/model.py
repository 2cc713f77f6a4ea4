"""The rigid-body model under the simulation: franka_jax's, evaluated once per millisecond.

The only module of the simulation that imports franka_jax, and inside functions only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from franka_rt.errors import InvalidArgumentException

__all__ = ["ArmModel", "Kinematics", "Load", "Quantities", "load_model"]

GRAVITY = np.array([0.0, 0.0, -9.81])
"""Base axes, m/s^2."""


class Load(NamedTuple):
    """End effector and load as one body: kg; (3,) m from the flange, flange axes; (3,3) kg m^2 about its centre."""

    mass: float
    center: np.ndarray
    inertia: np.ndarray


class Kinematics(NamedTuple):
    """Pose (4,4) of the end effector in the base and its Jacobian (6,7), linear rows first, base axes."""

    pose: np.ndarray
    jacobian: np.ndarray


class Quantities(NamedTuple):
    """What one evaluation gives: kinematics of the end effector, mass (7,7), coriolis (7,), gravity (7,)."""

    pose: np.ndarray
    jacobian: np.ndarray
    mass: np.ndarray
    coriolis: np.ndarray
    gravity: np.ndarray


@dataclass(frozen=True, eq=False)
class ArmModel:
    """An arm's model with numpy in and out.

    Attributes:
        model: the ``franka_jax.Model``.
        lower, upper, velocity, effort: (7,) limits of its description, rad, rad/s, Nm.
        envelope: (offset rad/s, deceleration rad/s^2), (7,) each, of position-dependent velocity limits, or None.
    """

    model: Any
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    envelope: tuple[np.ndarray, np.ndarray] | None
    _evaluate: Any
    _kinematics: Any

    def evaluate(self, q: np.ndarray, dq: np.ndarray, load: Load, F_T_EE: np.ndarray) -> Quantities:
        """All quantities at (q, dq) rad, rad/s with a load and an end effector frame (4,4) in the flange."""
        return Quantities(*self._evaluate(q, dq, *load, F_T_EE))

    def kinematics(self, q: np.ndarray, F_T_EE: np.ndarray) -> Kinematics:
        """The end effector at q alone."""
        return Kinematics(*self._kinematics(q, F_T_EE))

    def velocity_limits(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) joint velocity limits at q, rad/s (FCI protocol 9.6, without the client's margin)."""
        if self.envelope is None:
            return -self.velocity, self.velocity
        offset, deceleration = self.envelope
        rise = np.sqrt(np.maximum(0.0, 2.0 * deceleration * (self.upper - q))) - offset
        fall = offset - np.sqrt(np.maximum(0.0, 2.0 * deceleration * (q - self.lower)))
        return (
            np.maximum(-self.velocity, np.minimum(0.0, fall)),
            np.minimum(self.velocity, np.maximum(0.0, rise)),
        )

    def description(self) -> str:
        """The URDF text that GetRobotModel answers."""
        return self.model.to_urdf()


@lru_cache
def load_model(robot: str) -> ArmModel:
    """The model of "fer" or "fr3"; InvalidArgumentException for another name."""
    if robot not in ("fer", "fr3"):
        raise InvalidArgumentException(f'franka_rt: there is no robot {robot!r}; it is "fer" or "fr3".')
    import jax

    import franka_jax

    with jax.enable_x64(True):
        model = getattr(franka_jax, robot)()
        limits = model.limits
        evaluate, kinematics = _compile(model)
    try:
        envelope = model.velocity_envelope
        envelope = envelope.velocity_offset, envelope.deceleration_limit
    except ValueError:
        envelope = None
    return ArmModel(model, limits.lower, limits.upper, limits.velocity, limits.effort, envelope, evaluate, kinematics)


def _compile(model: Any) -> tuple[Any, Any]:
    """Both evaluations as kernels of numpy arrays (on XLA where there is no C compiler)."""
    from franka_jax import Payload, aot

    def kinematics(q, F_T_EE):
        return model.pose("end_effector", q, F_T_EE), model.zero_jacobian("end_effector", q, F_T_EE)

    def evaluate(q, dq, mass, center, inertia, F_T_EE):
        payload = Payload(mass, center, inertia)
        dynamics = model.mass(q, payload), model.coriolis(q, dq, payload), model.gravity(q, payload, GRAVITY)
        return *kinematics(q, F_T_EE), *dynamics

    q, T = np.zeros(7), np.eye(4)
    full = aot.compile_function(evaluate, q, q, np.zeros(()), np.zeros(3), np.zeros((3, 3)), T)
    return full, aot.compile_function(kinematics, q, T)
