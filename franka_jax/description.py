"""What a robot description says besides geometry and inertia: names, limits, joint properties. Static, hashable."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class JointDescription:
    """One revolute joint as its URDF describes it.

    `rpy`: the placement's angles (rad), kept so that writing gives the same text. `lower`, `upper` rad; `velocity`
    rad/s; `effort` N m. `velocity_offset` (rad/s), `deceleration_limit` (rad/s^2) define the FR3's position-dependent
    velocity envelope, None where the description has none. `properties`: the attributes of `<dynamics>` (friction,
    damping, ...), readable here and used by nothing.
    """

    name: str
    parent: str
    child: str
    rpy: tuple[float, float, float]
    lower: float
    upper: float
    velocity: float
    effort: float
    velocity_offset: float | None = None
    deceleration_limit: float | None = None
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ArmDescription:
    """Names and limits of a seven-axis arm; `flange_rpy` as `JointDescription.rpy`."""

    name: str
    joints: tuple[JointDescription, ...]
    flange: str
    flange_joint: str
    flange_rpy: tuple[float, float, float]
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self):
        # A model is a jit argument: its static part is hashed at every call.
        object.__setattr__(
            self, "_hash", hash((self.name, self.joints, self.flange, self.flange_joint, self.flange_rpy))
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self):
        # Hashes of strings differ between processes: a copy computes its own.
        return ArmDescription, (self.name, self.joints, self.flange, self.flange_joint, self.flange_rpy)


@dataclass(frozen=True)
class Limits:
    """Joint limits: `lower`, `upper` (7,) rad, `velocity` (7,) rad/s, `effort` (7,) N m."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray

    @classmethod
    def of(cls, description: ArmDescription) -> "Limits":
        """The limits in a description."""
        columns = zip(*((j.lower, j.upper, j.velocity, j.effort) for j in description.joints), strict=True)
        return cls(*(np.array(column) for column in columns))


@dataclass(frozen=True)
class VelocityEnvelope:
    """Position-dependent velocity limits: `velocity_offset` rad/s, `deceleration_limit` rad/s^2, (7,) each."""

    velocity_offset: np.ndarray
    deceleration_limit: np.ndarray

    @classmethod
    def of(cls, description: ArmDescription) -> "VelocityEnvelope":
        """The envelope in a description. ValueError if a joint has none (the FER's never has)."""
        missing = [j.name for j in description.joints if j.velocity_offset is None or j.deceleration_limit is None]
        if missing:
            raise ValueError(
                f"the description of {description.name!r} has no <position_based_velocity_limits> for "
                f"{', '.join(missing)}; only the FR3's descriptions carry them"
            )
        return cls(
            np.array([j.velocity_offset for j in description.joints], dtype=float),
            np.array([j.deceleration_limit for j in description.joints], dtype=float),
        )
