"""LoadModelLibrary of the simulated FER."""

from __future__ import annotations

from typing import Any

from franka_rt.sim.model import ArmModel


def model_library(model: ArmModel, arguments: Any) -> bytes | None:
    """The shared object, or None where there is none for the client's architecture and system."""
    return None
