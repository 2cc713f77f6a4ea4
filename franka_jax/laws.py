"""Control laws in JAX, to be compiled together with the model to one kernel.

A law is a pure function of arrays: state, target and gains in, torques out. Write it with the model's calls and
`jax.numpy`, then compile it once for the shapes of its arguments:

    law = partial(cartesian_impedance, model)
    kernel = aot.compile_function(law, *example_arguments())
    tau = kernel(q, dq, target, gains)         # NumPy in and out, about two microseconds

docs/kernels.md shows the loop around it and what a law may contain.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from franka_jax.frames import Frame
from franka_jax.model import Model


class ImpedanceTarget(NamedTuple):
    """Where the arm is to be.

    `O_T_EE` (4, 4): desired pose of the end effector, m; `q_nullspace` (7,) rad: posture that the arm approaches as far
    as the pose allows; `F_T_EE` (4, 4): the end effector in flange axes, m.
    """

    O_T_EE: Float[ArrayLike, "4 4"]
    q_nullspace: Float[ArrayLike, 7]
    F_T_EE: Float[ArrayLike, "4 4"]


class ImpedanceGains(NamedTuple):
    """How hard it is pulled there.

    `stiffness` (6,): N/m for x, y, z of the base, then N m/rad; `damping` (6,): N s/m and N m s/rad;
    `nullspace_stiffness` N m/rad and `nullspace_damping` N m s/rad: scalars; `pseudoinverse_damping`: the lambda of
    the damped inverse, in the units of the Jacobian.
    """

    stiffness: Float[ArrayLike, 6]
    damping: Float[ArrayLike, 6]
    nullspace_stiffness: Float[ArrayLike, ""]
    nullspace_damping: Float[ArrayLike, ""]
    pseudoinverse_damping: Float[ArrayLike, ""]

    @classmethod
    def critically_damped(
        cls,
        translation: float = 200.0,
        rotation: float = 20.0,
        nullspace: float = 5.0,
        pseudoinverse_damping: float = 0.1,
    ) -> ImpedanceGains:
        """Stiffness in N/m and N m/rad, with the damping 2 sqrt(k) of a unit inertia."""
        stiffness = np.repeat([translation, rotation], 3)
        damping = 2.0 * np.sqrt(stiffness)
        return cls(
            stiffness, damping, np.array(nullspace), np.array(2.0 * np.sqrt(nullspace)), np.array(pseudoinverse_damping)
        )


def rotation_error(R: Float[Array, "3 3"], R_desired: Float[Array, "3 3"]) -> Float[Array, 3]:
    """Rotation vector in base axes that turns R into R_desired, rad, smooth up to an angle of pi.

    With D = R_desired R^T = exp([w]): the unit quaternion of D by Shepperd's method (the largest of the four components
    first, so that nothing is divided by a small number), w = 2 atan2(|v|, s) v / |v|.
    """
    D = R_desired @ R.T
    trace = jnp.trace(D)
    squares = jnp.stack([trace, D[0, 0], D[1, 1], D[2, 2]])  # 4 s^2 - 1 and 2 x^2 + ... order by the largest component
    off = jnp.stack([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]])
    both = D + D.T
    rows = jnp.stack(
        [
            jnp.concatenate([jnp.stack([1 + trace]), off]),
            jnp.stack([off[0], 1 + 2 * D[0, 0] - trace, both[0, 1], both[0, 2]]),
            jnp.stack([off[1], both[0, 1], 1 + 2 * D[1, 1] - trace, both[1, 2]]),
            jnp.stack([off[2], both[0, 2], both[1, 2], 1 + 2 * D[2, 2] - trace]),
        ]
    )
    quaternion = rows[jnp.argmax(squares)]
    quaternion = quaternion / jnp.linalg.norm(quaternion)
    quaternion = jnp.where(quaternion[0] < 0, -quaternion, quaternion)
    vector = quaternion[1:]
    length = jnp.sqrt(jnp.dot(vector, vector) + 1e-300)
    return jnp.where(length < 1e-8, 2.0, 2.0 * jnp.arctan2(length, quaternion[0]) / length) * vector


def cartesian_impedance(
    model: Model, q: Float[ArrayLike, 7], dq: Float[ArrayLike, 7], target: ImpedanceTarget, gains: ImpedanceGains
) -> Float[Array, 7]:
    """Torques, N m, of a Cartesian spring and damper with a posture task in its null space.

        tau = c + J^T (K e - D J dq) + (1 - J^T J^+T) (k_n (q_n - q) - d_n dq),      J^+T = (J J^T + lambda^2 1)^-1 J

    e is the position error (m) and the rotation vector to the desired orientation (rad), both in base axes. The arm's
    gravity is compensated by the robot's own controller, as libfranka's torque interface expects; c is the Coriolis
    torque. (Hogan, 1985; Ott, Cartesian Impedance Control of Redundant and Flexible-Joint Robots, 2008.)
    """
    q, dq = jnp.asarray(q), jnp.asarray(dq)
    pose = model.pose(Frame.END_EFFECTOR, q, target.F_T_EE)
    J = model.zero_jacobian(Frame.END_EFFECTOR, q, target.F_T_EE)
    desired = jnp.asarray(target.O_T_EE)
    error = jnp.concatenate([desired[:3, 3] - pose[:3, 3], rotation_error(pose[:3, :3], desired[:3, :3])])
    wrench = gains.stiffness * error - gains.damping * (J @ dq)
    posture = gains.nullspace_stiffness * (jnp.asarray(target.q_nullspace) - q) - gains.nullspace_damping * dq
    damped = J @ J.T + gains.pseudoinverse_damping**2 * jnp.eye(6)
    projected = posture - J.T @ jnp.linalg.solve(damped, J @ posture)
    return model.coriolis(q, dq) + J.T @ wrench + projected


def example_arguments() -> tuple[np.ndarray, np.ndarray, ImpedanceTarget, ImpedanceGains]:
    """Arguments of the right shapes (values: the zero configuration, a critically damped spring)."""
    return (
        np.zeros(7),
        np.zeros(7),
        ImpedanceTarget(np.eye(4), np.zeros(7), np.eye(4)),
        ImpedanceGains.critically_damped(),
    )
