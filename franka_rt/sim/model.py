"""The rigid-body model under the simulation: franka_jax's compiled model, evaluated once per millisecond.

With ``library.py`` the only module of the simulation that imports franka_jax, and inside functions only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from franka_rt.errors import InvalidArgumentException

__all__ = ["GRAVITY", "ArmModel", "Kinematics", "Load", "Quantities", "load_model"]

GRAVITY = np.array([0.0, 0.0, -9.81])
"""Base axes, m/s^2."""

_REST = np.zeros(7)


@dataclass(frozen=True, eq=False)
class Load:
    """End effector and load as one body: kg; (3,) m from the flange, flange axes; (3,3) kg m^2 about its centre."""

    m_total: float
    F_x_Ctotal: np.ndarray
    I_total: np.ndarray


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
        compiled: the same, compiled.
        lower, upper, velocity, effort: (7,) limits of its description, rad, rad/s, Nm.
        envelope: (offset rad/s, deceleration rad/s^2), (7,) each, of position-dependent velocity limits, or None.
    """

    model: Any
    compiled: Any
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    envelope: tuple[np.ndarray, np.ndarray] | None

    def evaluate(self, q: np.ndarray, dq: np.ndarray, load: Load, F_T_EE: np.ndarray) -> Quantities:
        """All quantities at (q, dq) rad, rad/s with a load and an end effector frame (4,4) in the flange."""
        return Quantities(*self.compiled.evaluate(q, dq, load, F_T_EE, None, GRAVITY))

    def kinematics(self, q: np.ndarray, F_T_EE: np.ndarray) -> Kinematics:
        """The end effector at q alone."""
        return Kinematics(*self.compiled.evaluate(q, _REST, None, F_T_EE)[:2])

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
        compiled = franka_jax.compile_model(model)
        limits, envelope = model.limits, _envelope(model)
    return ArmModel(model, compiled, limits.lower, limits.upper, limits.velocity, limits.effort, envelope)


def _envelope(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    try:
        envelope = model.velocity_envelope
    except ValueError:  # the FER has none
        return None
    return envelope.velocity_offset, envelope.deceleration_limit
