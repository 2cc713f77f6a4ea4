"""What the setters set: end effector, load, frames, thresholds, impedances; validated as documented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from franka_rt.dialect import ArmDialect, CommandName
from franka_rt.sim import rotation
from franka_rt.sim.model import Load
from franka_rt.state import RobotState
from franka_rt.state_writer import StateWriter

__all__ = ["HAND", "Settings"]

# The vendor's default end effector, the Franka Hand: F_T_NE turned by -45 degrees about z, 0.1034 m out.
_C = np.sqrt(0.5)
HAND = {
    "m_ee": 0.73,
    "F_x_Cee": np.array([-0.01, 0.0, 0.03]),
    "I_ee": np.diag([0.001, 0.0025, 0.0017]),
    "F_T_NE": np.array([[_C, _C, 0, 0], [-_C, _C, 0, 0], [0, 0, 1, 0.1034], [0, 0, 0, 1.0]]),
}
NO_HAND = {"m_ee": 0.0, "F_x_Cee": np.zeros(3), "I_ee": np.zeros((3, 3)), "F_T_NE": np.eye(4)}

# Ranges of stiffness that the vendor documents: Nm/rad; N/m and Nm/rad.
_JOINT_STIFFNESS = (0.0, 14250.0)
_CARTESIAN_STIFFNESS = (np.array([10.0] * 3 + [1.0] * 3), np.array([3000.0] * 3 + [300.0] * 3))
_FILTER_RANGE = (1.0, 1000.0)


class Settings:
    """Configuration of one arm.

    Attributes:
        load: end effector and load together.
        F_T_EE, EE_T_K: (4,4) frames.
        joint_stiffness, cartesian_stiffness: of the internal controllers, (7,) and (6,).
        thresholds: collision thresholds by the field names of SetCollisionBehavior (own defaults).
    """

    def __init__(self, dialect: ArmDialect, hand: bool) -> None:
        self._dialect = dialect
        self.body: dict[str, Any] = {**(HAND if hand else NO_HAND)}
        self.body.update(m_load=0.0, F_x_Cload=np.zeros(3), I_load=np.zeros((3, 3)))
        self.NE_T_EE = self.EE_T_K = np.eye(4)
        self.joint_stiffness = np.array([3000.0, 3000.0, 3000.0, 2500.0, 2500.0, 2000.0, 2000.0])
        self.cartesian_stiffness = np.array([3000.0] * 3 + [300.0] * 3)
        self.thresholds = _default_thresholds()
        self._refresh()

    def apply(self, command: CommandName, arguments: Any) -> bool:
        """Take a setter's arguments; False if they are not valid (nothing changes then)."""
        fields = {name: np.array(arguments[name]) for name in arguments.dtype.names}
        if not all(np.isfinite(value).all() for value in fields.values()) or not _VALID[command](fields):
            return False
        setter = _SETTERS.get(command)
        if setter is not None:
            setter(self, fields)
            self._refresh()
        return True

    def report(self, writer: StateWriter) -> None:
        """Write what the state echoes."""
        writer.update(F_T_EE=self.F_T_EE, NE_T_EE=self.NE_T_EE, EE_T_K=self.EE_T_K, **self.body)

    def _refresh(self) -> None:
        self.F_T_EE = self.body["F_T_NE"] @ self.NE_T_EE
        writer = StateWriter(self._dialect)
        self.report(writer)
        state = RobotState(self._dialect, writer.datagram())
        self.load = Load(state.m_total, np.array(state.F_x_Ctotal), np.array(state.I_total))


def _default_thresholds() -> dict[str, np.ndarray]:
    """Own choice: contact from 20 Nm and 20 N on, collision at 40."""
    names = ("torque_thresholds_acceleration", "torque_thresholds_nominal")
    names += ("force_thresholds_acceleration", "force_thresholds_nominal")
    sizes = dict(zip(names, (7, 7, 6, 6), strict=True))
    levels = (("lower", 20.0), ("upper", 40.0))
    return {f"{bound}_{name}": np.full(n, level) for name, n in sizes.items() for bound, level in levels}


def _matrix(flat: np.ndarray, n: int) -> np.ndarray:
    return flat.reshape(n, n).T


def _set_load(settings: Settings, fields: dict[str, np.ndarray]) -> None:
    inertia = _matrix(fields["I_load"], 3)
    settings.body.update(m_load=float(fields["m_load"]), F_x_Cload=fields["F_x_Cload"], I_load=inertia)


def _valid_load(fields: dict[str, np.ndarray]) -> bool:
    inertia = _matrix(fields["I_load"], 3)
    return bool(fields["m_load"] >= 0 and np.allclose(inertia, inertia.T, atol=1e-9) and np.diag(inertia).min() >= 0)


def _within(low: Any, high: Any) -> Callable[[dict[str, np.ndarray]], bool]:
    return lambda fields: all(bool(((low <= v) & (v <= high)).all()) for v in fields.values())


def _transform(name: str) -> Callable[[dict[str, np.ndarray]], bool]:
    return lambda fields: rotation.is_transform(_matrix(fields[name], 4))


def _ordered(fields: dict[str, np.ndarray]) -> bool:
    """Thresholds are not negative, lower ones not above upper ones."""
    lower = {name: value for name, value in fields.items() if name.startswith("lower")}
    return all((v >= 0).all() and (v <= fields[name.replace("lower", "upper", 1)]).all() for name, v in lower.items())


_VALID: dict[CommandName, Callable[[dict[str, np.ndarray]], bool]] = {
    CommandName.SET_COLLISION_BEHAVIOR: _ordered,
    CommandName.SET_JOINT_IMPEDANCE: _within(*_JOINT_STIFFNESS),
    CommandName.SET_CARTESIAN_IMPEDANCE: _within(*_CARTESIAN_STIFFNESS),
    CommandName.SET_GUIDING_MODE: _within(0, 1),
    CommandName.SET_EE_TO_K: _transform("EE_T_K"),
    CommandName.SET_NE_TO_EE: _transform("NE_T_EE"),
    CommandName.SET_LOAD: _valid_load,
    CommandName.SET_FILTERS: _within(*_FILTER_RANGE),
}

# Guiding mode and the robot-side filters are validated and otherwise without effect here.
_SETTERS: dict[CommandName, Callable[[Settings, dict[str, np.ndarray]], None]] = {
    CommandName.SET_COLLISION_BEHAVIOR: lambda s, f: s.thresholds.update(f),
    CommandName.SET_JOINT_IMPEDANCE: lambda s, f: setattr(s, "joint_stiffness", f["K_theta"]),
    CommandName.SET_CARTESIAN_IMPEDANCE: lambda s, f: setattr(s, "cartesian_stiffness", f["K_x"]),
    CommandName.SET_EE_TO_K: lambda s, f: setattr(s, "EE_T_K", _matrix(f["EE_T_K"], 4)),
    CommandName.SET_NE_TO_EE: lambda s, f: setattr(s, "NE_T_EE", _matrix(f["NE_T_EE"], 4)),
    CommandName.SET_LOAD: _set_load,
}
SETTER_COMMANDS = frozenset(_VALID)
