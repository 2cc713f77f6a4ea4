"""The arm as a body: forward dynamics, friction, and integration at 1 kHz.

With M, c, g from the model, B the reflected inertia of the drives, f the joint friction and F the wrench (6,) that
the surroundings apply at the end effector (base axes)::

    (M + B) ddq = tau_drive + J^T F - c - g - f(dq),      f = coulomb tanh(dq / 0.02) + viscous dq
    dq <- dq + ddq dt,   q <- q + dq dt                   (semi-implicit Euler)

The torque sensors sit between drive and link: tau_J = M ddq + c + g - J^T F.

F is the sum of all pushes and of what a horizontal table gives back, if there is one: max(0, k (h - z) - d dz/dt)
upwards, without friction, while the end effector (z) is below its surface (h).
"""

from __future__ import annotations

import numpy as np

from franka_rt.sim.model import ArmModel, Load
from franka_rt.sim.parameters import DT, ArmParameters

__all__ = ["Plant"]

_FASTEST = 50.0  # rad/s, far beyond what the drives reach; whatever pushes, the numbers stay finite
_SLIP = 0.02  # rad/s over which Coulomb friction builds up, so that standing still is stable
_TABLE = 10e3, 300.0  # N/m, N s/m
_FILTER = DT / (DT + 0.01)  # the external torque estimate is smoothed over 10 ms


class Plant:
    """State and motion of the body.

    Attributes:
        q, dq: joint positions and velocities.
        quantities: the model at (q, dq), see :class:`franka_rt.sim.model.Quantities`.
        tau_J, dtau_J: measured torque (gravity included) and its rate.
        tau_ext: filtered external torque by libfranka's sign: what the arm exerts on its surroundings is positive,
            tau_J - (M ddq + c + g) = -J^T F.
        table: height of the table in the base frame, m; None without one.
    """

    def __init__(self, parameters: ArmParameters, model: ArmModel, load: Load, F_T_EE: np.ndarray) -> None:
        self._model = model
        self._armature = np.diag(parameters.armature)
        self._coulomb, self._viscous = parameters.coulomb, parameters.viscous
        self._compensation = parameters.friction_compensation
        self._pushes: list[tuple[np.ndarray, int]] = []  # wrench, milliseconds left
        self.table: float | None = None
        self.place(parameters.start, load, F_T_EE)

    def place(self, q: np.ndarray, load: Load, F_T_EE: np.ndarray) -> None:
        """Put the arm at q, at rest."""
        self.q, self.dq = np.array(q, float), np.zeros(7)
        self.quantities = self._model.evaluate(self.q, self.dq, load, F_T_EE)
        self.tau_J, self.dtau_J = self.quantities.gravity, np.zeros(7)
        self.tau_ext = np.zeros(7)

    def push(self, wrench: np.ndarray, seconds: float) -> None:
        """Push the end effector with a wrench (6,) N, Nm in base axes for some time; pushes add up."""
        self._pushes.append((np.array(wrench, float), max(1, round(seconds / DT))))

    def release(self) -> None:
        """Nobody pushes any more."""
        self._pushes.clear()

    def _external(self) -> np.ndarray:
        """J^T F of the table and the present pushes; a millisecond of these is used up."""
        wrenches = [wrench for wrench, _ in self._pushes] + self._support()
        if not wrenches:
            return np.zeros(7)
        self._pushes = [(wrench, left - 1) for wrench, left in self._pushes if left > 1]
        return self.quantities.jacobian.T @ np.sum(wrenches, axis=0)

    def _support(self) -> list[np.ndarray]:
        """The wrench of the table, as a list of one, or of none without contact."""
        depth = 0.0 if self.table is None else self.table - self.quantities.pose[2, 3]
        if depth <= 0.0:
            return []
        stiffness, damping = _TABLE
        force = stiffness * depth - damping * self.quantities.jacobian[2] @ self.dq
        return [np.array([0.0, 0.0, max(0.0, force), 0.0, 0.0, 0.0])]

    def friction(self) -> np.ndarray:
        """Friction torque at the present velocity, Nm."""
        return self._coulomb * np.tanh(self.dq / _SLIP) + self._viscous * self.dq

    def inertia(self) -> np.ndarray:
        """(7,7) inertia that the drives feel, M + B."""
        return self.quantities.mass + self._armature

    def step(self, torque: np.ndarray, load: Load, F_T_EE: np.ndarray) -> None:
        """One millisecond under a torque (Nm) on top of the robot's own gravity and friction compensation."""
        now = self.quantities
        external = self._external()
        residual = (1.0 - self._compensation) * self.friction()
        ddq = np.linalg.solve(self.inertia(), torque + external - now.coriolis - residual)
        measured = now.mass @ ddq + now.coriolis + now.gravity - external
        self.dtau_J, self.tau_J = (measured - self.tau_J) / DT, measured
        self.tau_ext = self.tau_ext + _FILTER * (-external - self.tau_ext)
        self.dq = np.maximum(-_FASTEST, np.minimum(_FASTEST, self.dq + ddq * DT))
        self.q = self.q + self.dq * DT
        self.quantities = self._model.evaluate(self.q, self.dq, load, F_T_EE)
