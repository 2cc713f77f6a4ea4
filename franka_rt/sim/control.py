"""The robot's internal controllers: joint and Cartesian impedance about the setpoint.

    joint:      tau = K (q_d - q) + D (dq_d - dq) + (M + B) ddq_d + c,               D = 2 zeta sqrt(K diag(M + B))
    Cartesian:  tau = J^T (K e + D (J_d dq_d - J dq)) + N^T (joint law) + (M + B) ddq_d + c,  D = 2 zeta sqrt(K diag(L))

with e the step from the measured to the desired pose, L = (J (M + B)^-1 J^T)^-1 and N the null space projector.
Gravity and friction are compensated elsewhere. The gains' damping is this simulation's own choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from franka_rt.dialect import ControllerMode, RobotMode
from franka_rt.sim import rotation
from franka_rt.sim.plant import Plant
from franka_rt.sim.setpoint import Setpoint

if TYPE_CHECKING:
    from franka_rt.sim.arm import Arm

__all__ = ["cartesian_impedance", "joint_impedance", "torque"]

_ZETA = 0.9
_HOLD_STIFFNESS = np.array([3000.0, 3000.0, 3000.0, 2500.0, 2500.0, 2000.0, 2000.0])
_GUIDING_DAMPING = 2.0  # Nm s/rad


def torque(arm: Arm) -> np.ndarray:
    """Torque (7,) of the next millisecond, Nm, without gravity, within the drives' range."""
    effort, gravity = arm.model.effort, arm.plant.quantities.gravity
    return np.clip(_wanted(arm), -effort - gravity, effort - gravity)


def _wanted(arm: Arm) -> np.ndarray:
    motion, setpoint = arm.motion, arm.setpoint
    if arm.mode is RobotMode.GUIDING:
        return -_GUIDING_DAMPING * arm.plant.dq
    if motion is not None and motion.holds:
        return joint_impedance(arm.plant, setpoint, _HOLD_STIFFNESS)
    if motion is None:
        setpoint.torque = joint_impedance(arm.plant, setpoint, _HOLD_STIFFNESS)
    elif not motion.external:
        setpoint.torque = _internal(arm, motion.controller)
    return setpoint.torque


def _internal(arm: Arm, controller: ControllerMode) -> np.ndarray:
    settings = arm.settings
    if controller is ControllerMode.CARTESIAN_IMPEDANCE:
        stiffness = settings.cartesian_stiffness
        return cartesian_impedance(arm.plant, arm.setpoint, stiffness, settings.joint_stiffness)
    return joint_impedance(arm.plant, arm.setpoint, settings.joint_stiffness)


def joint_impedance(plant: Plant, setpoint: Setpoint, stiffness: np.ndarray) -> np.ndarray:
    """Torque (7,) Nm without gravity; stiffness (7,) Nm/rad."""
    inertia = plant.inertia()
    return _spring(plant, setpoint, stiffness, np.diag(inertia)) + inertia @ setpoint.ddq + plant.quantities.coriolis


def cartesian_impedance(
    plant: Plant, setpoint: Setpoint, stiffness: np.ndarray, joint_stiffness: np.ndarray
) -> np.ndarray:
    """Torque (7,) Nm without gravity; stiffness (6,) N/m, Nm/rad about the base axes."""
    inertia, now = plant.inertia(), plant.quantities
    J = now.jacobian
    compliance = J @ np.linalg.solve(inertia, J.T)  # (J (M+B)^-1 J^T)
    apparent = np.linalg.inv(compliance + 1e-6 * np.eye(6))
    damping = 2.0 * _ZETA * np.sqrt(stiffness * np.diag(apparent))
    error = rotation.difference(setpoint.pose, now.pose)
    force = stiffness * error + damping * (setpoint.jacobian @ setpoint.dq - J @ plant.dq)
    posture = _spring(plant, setpoint, 0.02 * joint_stiffness, np.diag(inertia))
    projected = posture - J.T @ (apparent @ (J @ np.linalg.solve(inertia, posture)))
    return J.T @ force + projected + inertia @ setpoint.ddq + now.coriolis


def _spring(plant: Plant, setpoint: Setpoint, stiffness: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    damping = 2.0 * _ZETA * np.sqrt(stiffness * inertia)
    return stiffness * (setpoint.q - plant.q) + damping * (setpoint.dq - plant.dq)
