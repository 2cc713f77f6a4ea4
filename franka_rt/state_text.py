"""The text of a state as libfranka prints it: one JSON-like object (FCI protocol 15.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["state_text"]

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


def state_text(fields: Mapping[str, Any]) -> str:
    """Text of the fields of ``RobotState.to_dict()``; matrices column-major, numbers with six digits, time in ms."""
    return "{" + ", ".join(f'"{name}": {_value(name, value)}' for name, value in fields.items()) + "}"
