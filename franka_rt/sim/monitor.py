"""What the robot watches while it moves: measured limits, and the external forces against the collision thresholds."""

from __future__ import annotations

import numpy as np

from franka_rt.sim.model import ArmModel
from franka_rt.sim.parameters import ArmParameters
from franka_rt.sim.plant import Plant
from franka_rt.sim.setpoint import Setpoint
from franka_rt.sim.settings import Settings

__all__ = ["Monitor"]

_SINGULAR = 1e-4  # smallest singular value of the Jacobian below which no wrench is estimated (own choice)
_OVERSPEED = 1.1  # measured velocities may exceed a limit by this factor (own choice)


class Monitor:
    """Estimates and thresholds.

    Attributes:
        wrench_base, wrench_own: O_F_ext_hat_K and K_F_ext_hat_K, (6,); zero near a singularity, as documented.
        joint_contact, cartesian_contact: 1 where the lower threshold is exceeded, else 0.
        joint_collision, cartesian_collision: the same for the upper threshold, kept until :meth:`reset`.
    """

    def __init__(self, parameters: ArmParameters, model: ArmModel) -> None:
        self._model = model
        self._linear_speed = parameters.translational[2] * _OVERSPEED
        self.wrench_base, self.wrench_own = np.zeros(6), np.zeros(6)
        self.joint_contact, self.cartesian_contact = np.zeros(7), np.zeros(6)
        self.reset()

    def reset(self) -> None:
        """Forget collisions."""
        self.joint_collision, self.cartesian_collision = np.zeros(7), np.zeros(6)

    def estimate(self, plant: Plant, settings: Settings) -> None:
        """Wrench F at the stiffness frame with J_K^T F = tau_ext, in the least-squares sense."""
        if np.abs(plant.tau_ext).max() < 1e-12:
            self.wrench_base = self.wrench_own = np.zeros(6)
            return
        pose, J = plant.quantities.pose, plant.quantities.jacobian
        at_K = _shifted(J, pose[:3, :3] @ settings.EE_T_K[:3, 3])
        if np.linalg.svd(at_K, compute_uv=False)[-1] < _SINGULAR:
            self.wrench_base = self.wrench_own = np.zeros(6)
            return
        self.wrench_base = np.linalg.solve(at_K @ at_K.T, at_K @ plant.tau_ext)
        axes = pose[:3, :3] @ settings.EE_T_K[:3, :3]
        self.wrench_own = np.concatenate([axes.T @ self.wrench_base[:3], axes.T @ self.wrench_base[3:]])

    def collisions(self, plant: Plant, setpoint: Setpoint, settings: Settings) -> list[str]:
        """Update the contact levels; the reflexes that the upper thresholds raise."""
        phase = "acceleration" if np.abs(setpoint.ddq).max() > 1e-3 else "nominal"
        limit = settings.thresholds
        torque, force = np.abs(plant.tau_ext), np.abs(self.wrench_own)
        self.joint_contact = (torque > limit[f"lower_torque_thresholds_{phase}"]).astype(float)
        self.cartesian_contact = (force > limit[f"lower_force_thresholds_{phase}"]).astype(float)
        joint = torque > limit[f"upper_torque_thresholds_{phase}"]
        cartesian = force > limit[f"upper_force_thresholds_{phase}"]
        self.joint_collision = np.maximum(self.joint_collision, joint)
        self.cartesian_collision = np.maximum(self.cartesian_collision, cartesian)
        return ["joint_reflex"] * bool(joint.any()) + ["cartesian_reflex"] * bool(cartesian.any())

    def outside(self, q: np.ndarray) -> bool:
        """A joint position (7,) rad is beyond its limits."""
        return bool(((q < self._model.lower) | (q > self._model.upper)).any())

    def limits(self, plant: Plant) -> list[str]:
        """Measured position, velocity and torque against the arm's limits."""
        m, speed = self._model, np.abs(plant.dq)
        raised = {
            "joint_position_limits_violation": self.outside(plant.q),
            "joint_velocity_violation": (speed > m.velocity * _OVERSPEED).any(),
            "cartesian_velocity_violation": np.linalg.norm((plant.quantities.jacobian @ plant.dq)[:3])
            > self._linear_speed,
            "tau_j_range_violation": (np.abs(plant.tau_J) > m.effort * _OVERSPEED).any(),
        }
        return [name for name, flag in raised.items() if flag]


def _shifted(J: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Zero Jacobian of a point r (base axes) away from the one of J: v' = v + w x r."""
    moved = J.copy()
    moved[:3] += np.cross(J[3:].T, r).T
    return moved
