"""Position-dependent joint velocity limits of the FR3, read from the robot's URDF (FCI protocol 9.6).

With v, d, o the joint's velocity, deceleration and offset, q+ and q- its position limits, t = 1e-3 rad/s::

    U(q) = min( v, max(0, -o + sqrt(max(0, 2 d (q+ - q))))) - t
    L(q) = max(-v, min(0,  o - sqrt(max(0, 2 d (q - q-))))) + t

Beyond a position limit and shortly before it, U is -t and L is +t; nothing is ever NaN for finite q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from xml.etree import ElementTree

import numpy as np

from franka_rt.errors import ModelException

__all__ = ["VelocityEnvelope", "robot_name"]

_TOLERANCE = 1e-3
_POSITION_BASED = ("position_based_velocity_limits", ("velocity_offset", "deceleration_limit"))
_LIMIT = ("limit", ("velocity", "upper", "lower"))


@dataclass(frozen=True)
class VelocityEnvelope:
    """The numbers of the seven joints, each (7,): rad/s, rad/s, rad/s^2, rad, rad."""

    velocity: np.ndarray
    offset: np.ndarray
    deceleration: np.ndarray
    upper_position: np.ndarray
    lower_position: np.ndarray

    @cached_property
    def _joints(self) -> list[tuple[float, ...]]:
        """(v, o, d, q+, q-) of each joint as plain floats, the fastest at this size."""
        columns = (self.velocity, self.offset, self.deceleration, self.upper_position, self.lower_position)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def bounds(self, q: Sequence[float]) -> tuple[list[float], list[float]]:
        """Largest and smallest velocities (7,) at q (7,), rad/s, as plain floats for a running loop."""
        upper, lower = [], []
        for (v, o, d, highest, lowest), x in zip(self._joints, q, strict=True):
            up, down = highest - x, x - lowest
            up = math.sqrt(2.0 * d * up) - o if up > 0.0 else 0.0
            down = math.sqrt(2.0 * d * down) - o if down > 0.0 else 0.0
            upper.append((v if up > v else up if up > 0.0 else 0.0) - _TOLERANCE)
            lower.append(_TOLERANCE - (v if down > v else down if down > 0.0 else 0.0))
        return upper, lower

    def upper(self, q: np.ndarray) -> np.ndarray:
        """(7,) largest velocity at q, rad/s."""
        return np.array(self.bounds(q.tolist())[0])

    def lower(self, q: np.ndarray) -> np.ndarray:
        """(7,) smallest velocity at q, rad/s."""
        return np.array(self.bounds(q.tolist())[1])

    @classmethod
    def from_urdf(cls, urdf: str) -> VelocityEnvelope:
        """Read the envelope; ModelException with libfranka's sentence if something is missing.

        A joint belongs to axis i if its name is or contains ``joint<i>``; later ones win.
        """
        axes: dict[int, list[float]] = {}
        for joint in _root(urdf).findall("joint"):
            axis = _axis(joint.get("name", ""))
            if axis is not None:
                axes[axis] = _attributes(joint, *_POSITION_BASED) + _attributes(joint, *_LIMIT)
        missing = [f"joint{axis} " for axis in range(1, 8) if axis not in axes]
        if missing:
            raise ModelException(f"Missing required joints: {''.join(missing)}")
        offset, deceleration, velocity, upper, lower = np.array([axes[axis] for axis in range(1, 8)]).T
        return cls(velocity, offset, deceleration, upper, lower)


def _root(urdf: str) -> ElementTree.Element:
    try:
        root = ElementTree.fromstring(urdf)
    except ElementTree.ParseError as error:
        raise ModelException("Failed to parse URDF for joint velocity limits", str(error)) from None
    if root.tag != "robot":
        raise ModelException("Failed to parse URDF: no <robot> element exists for joint velocity limits")
    return root


def robot_name(urdf: str) -> str:
    """Name of the robot that a URDF describes; mobile robots start with ``tmr``."""
    return _root(urdf).get("name", "")


def _axis(name: str) -> int | None:
    return next((i for i in range(1, 8) if f"joint{i}" in name), None)


def _attributes(joint: ElementTree.Element, tag: str, names: tuple[str, ...]) -> list[float]:
    element, label = joint.find(tag), joint.get("name")
    if element is None:
        raise ModelException(f"Missing <{tag}> element for joint: {label}")
    values = []
    for name in names:
        text = element.get(name)
        if text is None:
            raise ModelException(f"Missing '{name}' attribute in <{tag}> for joint: {label}")
        try:
            values.append(float(text))
        except ValueError:
            raise ModelException(f"franka_rt: '{name}' in <{tag}> of joint {label} is no number: {text!r}") from None
    return values
