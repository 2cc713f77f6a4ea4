"""The ten frames of a model, by name (the same names as ``franka_jax.Frame``)."""

from __future__ import annotations

from typing import Any

from franka_rt.errors import InvalidArgumentException

__all__ = ["FRAMES", "frame_name"]

FRAMES = (*(f"joint{i}" for i in range(1, 8)), "flange", "end_effector", "stiffness")


def frame_name(frame: Any) -> str:
    """Name of a frame given as a string or a ``franka_jax.Frame``; InvalidArgumentException lists the ten names."""
    name = getattr(frame, "value", frame)
    if name not in FRAMES:
        raise InvalidArgumentException(
            "Invalid frame given.", f"{frame!r} is none of the ten frames: {', '.join(FRAMES)}."
        )
    return name
