"""What a model computes with and gives: the interface of its backends, loads, and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

__all__ = ["GRAVITY_EARTH", "JaxBackend", "ModelBackend", "Payload", "Quantities"]

GRAVITY_EARTH = (0.0, 0.0, -9.81)
"""Gravity vector in base axes, m/s^2, when no state and no vector is given."""


@dataclass(frozen=True, eq=False)
class Payload:
    """End effector and load as one body: kg; (3,) m in the flange frame; (3,3) kg m^2 about its centre, flange axes."""

    m_total: float
    F_x_Ctotal: np.ndarray
    I_total: np.ndarray


class Quantities(NamedTuple):
    """Everything a controller needs, of the end effector frame: (4,4), (6,7), (7,7), (7,), (7,)."""

    O_T_EE: np.ndarray
    zero_jacobian: np.ndarray
    mass: np.ndarray
    coriolis: np.ndarray
    gravity: np.ndarray


class ModelBackend(Protocol):
    """What a backend can do; payloads have the attributes m_total, F_x_Ctotal, I_total, or are None."""

    def pose(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(4,4) pose of a frame in the base."""
        ...

    def body_jacobian(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(6,7), the frame's own axes."""
        ...

    def zero_jacobian(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(6,7), base axes."""
        ...

    def mass(self, q: Any, payload: Any = None) -> np.ndarray:
        """(7,7) kg m^2."""
        ...

    def coriolis(self, q: Any, dq: Any, payload: Any = None) -> np.ndarray:
        """(7,) Nm."""
        ...

    def gravity(self, q: Any, payload: Any = None, gravity_earth: Any = GRAVITY_EARTH) -> np.ndarray:
        """(7,) Nm."""
        ...


class JaxBackend:
    """A ``franka_jax.Model`` behind numpy arrays, each call compiled by XLA when it is first used."""

    def __init__(self, model: Any) -> None:
        import jax

        self.model = model
        self._jax = jax

    def _call(self, name: str, *arguments: Any) -> np.ndarray:
        with self._jax.enable_x64(True):
            return np.array(getattr(self.model, name)(*arguments))

    def pose(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """See :class:`ModelBackend`."""
        return self._call("pose", frame, q, F_T_EE, EE_T_K)

    def body_jacobian(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """See :class:`ModelBackend`."""
        return self._call("body_jacobian", frame, q, F_T_EE, EE_T_K)

    def zero_jacobian(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """See :class:`ModelBackend`."""
        return self._call("zero_jacobian", frame, q, F_T_EE, EE_T_K)

    def mass(self, q: Any, payload: Any = None) -> np.ndarray:
        """See :class:`ModelBackend`."""
        return self._call("mass", q, self._payload(payload))

    def coriolis(self, q: Any, dq: Any, payload: Any = None) -> np.ndarray:
        """See :class:`ModelBackend`."""
        return self._call("coriolis", q, dq, self._payload(payload))

    def gravity(self, q: Any, payload: Any = None, gravity_earth: Any = GRAVITY_EARTH) -> np.ndarray:
        """See :class:`ModelBackend`."""
        return self._call("gravity", q, self._payload(payload), np.asarray(gravity_earth, dtype=np.float64))

    @staticmethod
    def _payload(payload: Any) -> Any:
        from franka_jax import Payload as JaxPayload

        none = payload is None
        return JaxPayload.none() if none else JaxPayload(payload.m_total, payload.F_x_Ctotal, payload.I_total)
