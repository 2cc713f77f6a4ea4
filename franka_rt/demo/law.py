"""The law of the demonstration, compiled with an arm's model to one kernel, and what a call costs."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

import numpy as np

from franka_rt.kernel_law import KernelLaw
from franka_rt.model import Model
from franka_rt.state import RobotState

__all__ = ["make_law", "model_call", "target"]

TRANSLATION, ROTATION = 600.0, 30.0  # N/m, N m/rad
_CALLS = 2000


def make_law(robot: str) -> KernelLaw:
    """``franka_jax.laws.cartesian_impedance`` for the "fer" or the "fr3"; without a C compiler it runs on XLA.

    Compiling takes some seconds the first time.
    """
    import jax

    import franka_jax
    from franka_jax import aot, laws

    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a missing compiler: `law.kernel.backend` says it
        model = getattr(franka_jax, robot)()
        function = partial(laws.cartesian_impedance, model)
        kernel: Any = aot.compile_function(function, *laws.example_arguments(), name="cartesian_impedance")
        gains = laws.ImpedanceGains.critically_damped(TRANSLATION, ROTATION)
        return KernelLaw(kernel, robot, target=laws.example_arguments()[2], gains=gains)


def target(state: RobotState, away: np.ndarray) -> dict[str, np.ndarray]:
    """The law's target: a state's pose moved by (3,) m, its posture and its end effector frame."""
    pose = state.O_T_EE.copy()
    pose[:3, 3] += away
    return {"O_T_EE": pose, "q_nullspace": state.q, "F_T_EE": state.F_T_EE}


def model_call(law: KernelLaw, model: Model, state: RobotState) -> tuple[float, float]:
    """Median seconds of one call of the law, and of the five model calls at once, outside of any loop."""
    result = model.evaluate(state)
    return _median(lambda: law(state, 1e-3)), _median(lambda: model.evaluate(state, out=result))


def _median(call: Any) -> float:
    times = np.empty(_CALLS)
    for i in range(_CALLS):
        start = time.perf_counter_ns()
        call()
        times[i] = time.perf_counter_ns() - start
    return float(np.median(times)) * 1e-9
