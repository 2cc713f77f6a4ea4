"""The arm's model with the calls of libfranka's `franka::Model`: poses, Jacobians, mass, Coriolis, gravity.

Conventions: q (7,) rad, dq rad/s, ddq rad/s^2, tau N m; poses A_T_B 4x4 in ordinary row order; Jacobians with linear
rows first; gravity is a vector in base axes, (0, 0, -9.81) for an upright arm, and `gravity` returns the torque that
holds the arm against it: M ddq + c + g = tau.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from . import arguments, quantities, urdf
from .description import ArmDescription, Limits, VelocityEnvelope
from .dynamics import Chain, Placement
from .frames import Frame
from .payload import Payload, single
from .physical import PhysicalReport, check_links

GRAVITY_EARTH = (0.0, 0.0, -9.81)
"""libfranka's default gravity vector, m/s^2, base axes."""

Transform = Float[ArrayLike, "4 4"] | Float[ArrayLike, "16"] | Sequence[Any] | None
Vector7 = Float[ArrayLike, "7"] | Sequence[float]
Gravity = Float[ArrayLike, "3"] | Sequence[float]


class Model(eqx.Module):
    """A seven-axis arm. Pure functions of arrays: use them under `jit`, `vmap`, `grad`, with the model as an argument.

    Array leaves (differentiable): the joints' placements and the ten inertial parameters of each link, the flange's
    placement, and the two parameters of the library payload rule. Static: names, limits, the payload rule.

    One configuration per call: q of shape (7,). Other shapes raise ValueError, what is not real numbers TypeError; a
    float64 model refuses to run (RuntimeError with the line to add) while JAX has 64-bit numbers switched off.
    Transforms `F_T_EE`, `EE_T_K` are (4, 4) or libfranka's flat 16 column-major numbers, None is the identity; they
    are used as they are, never re-orthonormalised. Frames are a `Frame` or its string, anything else raises ValueError.
    """

    chain: Chain
    flange: Placement
    m7: Float[Array, ""]
    c7z: Float[Array, ""]
    description: ArmDescription = eqx.field(static=True)
    payload_rule: str = eqx.field(static=True)

    @classmethod
    def from_urdf(cls, text_or_path: str | bytes | Path, dtype: Any = np.float64) -> "Model":
        """The model of a robot description (text, bytes or path) with the rigid payload rule.

        `dtype`: float64, or float32 for GPUs and learning (errors are then a few 1e-7 of the largest entry).
        Raises `UrdfError` (a ValueError) if the text is not a seven-axis arm that ends in `link8`.
        """
        return cls.from_arm(urdf.read_arm(text_or_path), dtype=dtype)

    @classmethod
    def from_arm(
        cls, arm: urdf.Arm, payload_rule: str = "rigid", m7: float = 0.0, c7z: float = 0.0, dtype: Any = np.float64
    ) -> "Model":
        """The model of a parsed arm. `payload_rule`: "rigid", or "library", which needs m7 > 0 (kg) and c7z (m)."""
        if payload_rule not in ("rigid", "library"):
            raise ValueError(f'payload_rule must be "rigid" or "library", not {payload_rule!r}')
        if payload_rule == "library" and not m7 > 0:
            raise ValueError(f"the library rule needs m7 > 0, the mass of its last body in kg, not {m7}")
        if jnp.dtype(dtype) not in (np.float32, np.float64):
            raise TypeError(f"dtype must be float64 or float32, not {jnp.dtype(dtype)}")
        arguments.require_precision(dtype)
        leaf = partial(jnp.asarray, dtype=dtype)
        return cls(
            Chain(Placement(leaf(arm.rotation), leaf(arm.translation)), leaf(arm.phi)),
            Placement(leaf(arm.flange_rotation), leaf(arm.flange_translation)),
            leaf(m7),
            leaf(c7z),
            arm.description,
            payload_rule,
        )

    # --- kinematics -------------------------------------------------------------------------------------------------

    def pose(
        self, frame: Frame | str, q: Vector7, F_T_EE: Transform = None, EE_T_K: Transform = None
    ) -> Float[Array, "4 4"]:
        """O_T_X, the pose of a frame in the base, m. `F_T_EE` and `EE_T_K` matter for the last two frames only."""
        return quantities.pose(self, Frame.of(frame), self._vector("q", q), *self._transforms(F_T_EE, EE_T_K))

    def zero_jacobian(
        self, frame: Frame | str, q: Vector7, F_T_EE: Transform = None, EE_T_K: Transform = None
    ) -> Float[Array, "6 7"]:
        """Jacobian of the frame's origin in base axes: rows 0-2 its velocity (m/rad), 3-5 the angular velocity."""
        return quantities.zero_jacobian(self, Frame.of(frame), self._vector("q", q), *self._transforms(F_T_EE, EE_T_K))

    def body_jacobian(
        self, frame: Frame | str, q: Vector7, F_T_EE: Transform = None, EE_T_K: Transform = None
    ) -> Float[Array, "6 7"]:
        """The same motion in the frame's own axes: blkdiag(R^T, R^T) times the zero Jacobian."""
        return quantities.body_jacobian(self, Frame.of(frame), self._vector("q", q), *self._transforms(F_T_EE, EE_T_K))

    def jacobian_dot(
        self, frame: Frame | str, q: Vector7, dq: Vector7, F_T_EE: Transform = None, EE_T_K: Transform = None
    ) -> Float[Array, "6 7"]:
        """Time derivative of the zero Jacobian along dq: the frame's acceleration is J ddq + jacobian_dot dq."""
        velocity = self._vector("dq", dq)
        return quantities.jacobian_dot(
            self, Frame.of(frame), self._vector("q", q), velocity, *self._transforms(F_T_EE, EE_T_K)
        )

    # --- dynamics ---------------------------------------------------------------------------------------------------

    def mass(self, q: Vector7, payload: Payload | None = None) -> Float[Array, "7 7"]:
        """Mass matrix, kg m^2, exactly symmetric."""
        return quantities.mass(self, self._vector("q", q), self._payload(payload))

    def coriolis(self, q: Vector7, dq: Vector7, payload: Payload | None = None) -> Float[Array, "7"]:
        """Coriolis and centrifugal torques C(q, dq) dq, N m."""
        return quantities.coriolis(self, self._vector("q", q), self._vector("dq", dq), self._payload(payload))

    def gravity(
        self, q: Vector7, payload: Payload | None = None, gravity_earth: Gravity = GRAVITY_EARTH
    ) -> Float[Array, "7"]:
        """Torques that hold the arm against `gravity_earth` (m/s^2, base axes), N m."""
        return quantities.gravity(
            self, self._vector("q", q), self._payload(payload), self._vector("gravity_earth", gravity_earth, 3)
        )

    def inverse_dynamics(
        self,
        q: Vector7,
        dq: Vector7,
        ddq: Vector7,
        payload: Payload | None = None,
        gravity_earth: Gravity = GRAVITY_EARTH,
    ) -> Float[Array, "7"]:
        """Torques M ddq + C dq + g, N m."""
        state = self._vector("q", q), self._vector("dq", dq), self._vector("ddq", ddq)
        return quantities.inverse_dynamics(
            self, *state, self._payload(payload), self._vector("gravity_earth", gravity_earth, 3)
        )

    def forward_dynamics(
        self,
        q: Vector7,
        dq: Vector7,
        tau: Vector7,
        payload: Payload | None = None,
        gravity_earth: Gravity = GRAVITY_EARTH,
    ) -> Float[Array, "7"]:
        """Accelerations, rad/s^2, that torques tau (N m, gravity not compensated) produce."""
        state = self._vector("q", q), self._vector("dq", dq), self._vector("tau", tau)
        return quantities.forward_dynamics(
            self, *state, self._payload(payload), self._vector("gravity_earth", gravity_earth, 3)
        )

    def coriolis_matrix(self, q: Vector7, dq: Vector7, payload: Payload | None = None) -> Float[Array, "7 7"]:
        """C(q, dq) from Christoffel symbols: C dq is `coriolis`, dM/dt - 2 C is skew-symmetric."""
        return quantities.coriolis_matrix(self, self._vector("q", q), self._vector("dq", dq), self._payload(payload))

    # --- parameters -------------------------------------------------------------------------------------------------

    @property
    def phi(self) -> Float[Array, "7 10"]:
        """Inertial parameters per link: m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the link-frame origin."""
        return self.chain.phi

    def with_phi(self, phi: Float[ArrayLike, "7 10"]) -> "Model":
        """The same arm with other inertial parameters; m7 and c7z of the library rule are kept."""
        arguments.require_precision(self.dtype)
        chain = self.chain.with_phi(arguments.array("phi", phi, (7, 10), self.dtype))
        return Model(chain, self.flange, self.m7, self.c7z, self.description, self.payload_rule)

    def regressor(
        self, q: Vector7, dq: Vector7, ddq: Vector7, gravity_earth: Gravity = GRAVITY_EARTH
    ) -> Float[Array, "7 70"]:
        """Y with Y @ phi.ravel() = inverse_dynamics (without payload); does not depend on phi."""
        state = self._vector("q", q), self._vector("dq", dq), self._vector("ddq", ddq)
        return quantities.regressor(self, *state, self._vector("gravity_earth", gravity_earth, 3))

    def mass_regressor(self, q: Vector7) -> Float[Array, "7 7 70"]:
        """mass_regressor @ phi.ravel() = mass (without payload); does not depend on phi."""
        return quantities.mass_regressor(self, self._vector("q", q))

    def to_urdf(self) -> str:
        """The arm as URDF text; `Model.from_urdf` of it gives the same numbers, bit for bit.

        The payload rule is not part of a URDF. Raises UrdfError if a link has a first moment but no mass.
        """
        numbers = (self.chain.placement, self.chain.phi, self.flange)
        (R, p), phi, (flange_R, flange_p) = jax.tree.map(lambda x: np.asarray(x, np.float64), numbers)
        return urdf.write_arm(urdf.Arm(R, p, phi, flange_R, flange_p, self.description))

    def check_physical(self) -> PhysicalReport:
        """Per link: mass, smallest pseudo-inertia eigenvalue, triangle inequality. Judges only, changes nothing."""
        return check_links([joint.child for joint in self.description.joints], np.asarray(self.phi, np.float64))

    @property
    def link_masses(self) -> Float[Array, "7"]:
        """Masses of links 1-7, kg (of an identified set only their base-parameter combinations mean something)."""
        return self.chain.phi[:, 0]

    @property
    def limits(self) -> Limits:
        """Position, velocity and torque limits of the joints."""
        return Limits.of(self.description)

    @property
    def velocity_envelope(self) -> VelocityEnvelope:
        """Data of the FR3's position-dependent velocity limits. ValueError if the description carries none."""
        return VelocityEnvelope.of(self.description)

    @property
    def dtype(self) -> np.dtype:
        """Element type of all numbers: float64, or float32 where asked for."""
        return np.dtype(self.chain.phi.dtype)

    def __repr__(self) -> str:
        return f"Model({self.description.name!r}, payload_rule={self.payload_rule!r}, dtype={self.dtype.name})"

    # --- arguments --------------------------------------------------------------------------------------------------

    def _vector(self, name: str, value: Any, n: int = 7) -> Array:
        arguments.require_precision(self.dtype)
        return arguments.array(name, value, (n,), self.dtype)

    @staticmethod
    def _payload(payload: Payload | None) -> Payload | None:
        return None if payload is None else single(payload)

    def _transforms(self, F_T_EE: Transform, EE_T_K: Transform) -> tuple[Array | None, Array | None]:
        """None stays None, so that the identity costs nothing."""
        F = None if F_T_EE is None else arguments.transform("F_T_EE", F_T_EE, self.dtype)
        K = None if EE_T_K is None else arguments.transform("EE_T_K", EE_T_K, self.dtype)
        return F, K
