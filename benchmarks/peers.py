"""Other libraries that compute the same five quantities, where they are installed: Pinocchio (pin) and frax.

Every entry is a function without arguments that does the work of `CompiledModel.evaluate` for the same arm and states,
with the combination of calls that its documentation recommends. Install them into an environment of their own:
`pip install pin frax`. (franka-rs hands out its model only through a connected robot; MuJoCo's module and Pinocchio's
do not load into one process.)
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

URDF = Path(__file__).resolve().parent.parent / "tests" / "data" / "fr3_vendor.urdf"
Calls = dict[str, Callable[[], Any]]


def available() -> list[str]:
    """Names of the peers that can be imported."""
    return [name for name in ("pinocchio", "frax") if importlib.util.find_spec(name) is not None]


def _load(name: str) -> Any:
    return importlib.import_module(name) if name in available() else None


def _pinocchio() -> tuple[Any, Any, Any, int] | None:
    pin = _load("pinocchio")
    if pin is None:
        return None
    model = pin.buildModelFromUrdf(str(URDF))
    return pin, model, model.createData(), model.getFrameId("link8")


def _pinocchio_evaluate(pin: Any, model: Any, data: Any, frame: int, q: np.ndarray, dq: np.ndarray) -> tuple:
    pin.crba(model, data, q)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacement(model, data, frame)
    jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
    gravity = pin.computeGeneralizedGravity(model, data, q).copy()
    coriolis = pin.nonLinearEffects(model, data, q, dq) - gravity
    return data.oMf[frame].homogeneous, jacobian, data.M, coriolis, gravity


def _frax() -> tuple[Any, Any] | None:
    if _load("frax") is None:
        return None
    import jax

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arm = importlib.import_module("frax").Manipulator(str(URDF))

    def evaluate(q: Any, dq: Any) -> tuple:
        pose, jacobian = arm.ee_transform(q), arm.ee_jacobian(q)
        return pose, jacobian, arm.mass_matrix(q), arm.centrifugal_coriolis_vector(q, dq), arm.gravity_vector(q)

    return jax, evaluate


def single(q: np.ndarray, dq: np.ndarray) -> Calls:
    """One state, from Python."""
    calls: Calls = {}
    if (pinocchio := _pinocchio()) is not None:
        calls["pinocchio"] = lambda: _pinocchio_evaluate(*pinocchio, q, dq)
    if (frax := _frax()) is not None:
        jax, evaluate = frax
        jitted = jax.jit(evaluate)
        calls["frax (jit)"] = lambda: jax.block_until_ready(jitted(q, dq))
    return calls


def batch(Q: np.ndarray, dQ: np.ndarray) -> Calls:
    """Many states."""
    calls: Calls = {}
    if (pinocchio := _pinocchio()) is not None:
        calls["pinocchio, loop"] = lambda: [_pinocchio_evaluate(*pinocchio, q, dq) for q, dq in zip(Q, dQ, strict=True)]
    if (frax := _frax()) is not None:
        jax, evaluate = frax
        jitted = jax.jit(jax.vmap(evaluate))
        calls["frax (jit, vmap)"] = lambda: jax.block_until_ready(jitted(Q, dQ))
    return calls


def derivatives(q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> Calls:
    """Partial derivatives of inverse and forward dynamics."""
    if (pinocchio := _pinocchio()) is None:
        return {}
    pin, model, data, _ = pinocchio
    return {
        "pinocchio, computeRNEADerivatives": lambda: pin.computeRNEADerivatives(model, data, q, dq, ddq),
        "pinocchio, computeABADerivatives": lambda: pin.computeABADerivatives(model, data, q, dq, ddq),
    }
