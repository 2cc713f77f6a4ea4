"""A state as a dictionary, as the text that libfranka prints (FCI protocol 15.5), and as a summary of a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from franka_rt.dialect import RobotMode
from franka_rt.error_flags import Errors

if TYPE_CHECKING:
    from franka_rt.state import RobotState

__all__ = ["public_fields", "summary", "vendor_text"]

# fmt: off
_PUBLIC = (
    "O_T_EE", "O_T_EE_d", "F_T_NE", "NE_T_EE", "F_T_EE", "EE_T_K", "m_ee", "F_x_Cee", "I_ee", "m_load", "F_x_Cload",
    "I_load", "m_total", "F_x_Ctotal", "I_total", "elbow", "elbow_d", "elbow_c", "delbow_c", "ddelbow_c", "tau_J",
    "tau_J_d", "dtau_J", "q", "dq", "q_d", "dq_d", "ddq_d", "joint_contact", "cartesian_contact", "joint_collision",
    "cartesian_collision", "tau_ext_hat_filtered", "O_F_ext_hat_K", "K_F_ext_hat_K", "O_dP_EE_d", "O_ddP_O",
    "O_T_EE_c", "O_dP_EE_c", "O_ddP_EE_c", "theta", "dtheta", "accelerometer_top", "accelerometer_bottom",
    "current_errors", "last_motion_errors", "control_command_success_rate", "robot_mode", "time")
# fmt: on

_MODES = {
    "other": "Other",
    "idle": "Idle",
    "move": "Move",
    "guiding": "Guiding",
    "reflex": "Reflex",
    "user_stopped": "User stopped",
    "automatic_error_recovery": "Automatic error recovery",
}


def _numbers(values: np.ndarray) -> str:
    return "[" + ",".join(f"{value:g}" for value in values) + "]"


def _value(name: str, value: Any) -> str:
    if name == "robot_mode":
        return f'"{_MODES[value]}"'
    if name == "time":
        return f"{round(value * 1000):d}"
    if name.startswith("accelerometer"):
        return "[" + ", ".join(_numbers(row) for row in value) + "]"
    if isinstance(value, np.ndarray):
        return _numbers(value.T.ravel() if value.ndim == 2 else value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def public_fields(state: RobotState) -> dict[str, Any]:
    """Name -> value of all public fields that the state's version has, in libfranka's order, nothing shared."""
    names = (name for name in _PUBLIC if not name.startswith("accelerometer") or name in state.layout.slices)
    return {name: _plain(getattr(state, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Errors):
        return list(value)
    return value.name.lower() if isinstance(value, RobotMode) else value


def vendor_text(state: RobotState) -> str:
    """libfranka's text: one JSON-like object; matrices column-major, numbers with six digits, time in ms."""
    errors = {"current_errors": state.current_errors, "last_motion_errors": state.last_motion_errors}
    fields = {**public_fields(state), **errors}
    return "{" + ", ".join(f'"{name}": {_value(name, value)}' for name, value in fields.items()) + "}"


def summary(state: RobotState) -> str:
    """What ``repr`` shows."""
    with np.printoptions(precision=4, suppress=True, linewidth=110):
        return (
            f"<RobotState {state.dialect.label}, t = {state.time:.3f} s, mode {state.robot_mode.name}, "
            f"current errors {state.current_errors}, last motion errors {state.last_motion_errors}\n"
            f"  q      {state.q} rad\n  dq     {state.dq} rad/s\n  tau_J  {state.tau_J} Nm\n"
            f"  success rate {state.control_command_success_rate:.2f}>"
        )
