"""A call of a compiled model with fixed buffers that states are written into: nothing is looked at twice in a loop.

End effector, load and their frames rarely change: they are written again only when their bytes in the state differ from
those of the state before. Results are fresh arrays, or are written into those of an earlier call by the kernel itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from franka_rt import checks
from franka_rt.buffers import pointers
from franka_rt.field_copies import FieldCopies
from franka_rt.state import RobotState

__all__ = ["StateCall", "write_into"]

_LEAVES = {"payload": 3}  # inputs that an argument takes, where it is not one
_ARGUMENTS = {
    "pose": ("q", "F_T_EE", "EE_T_K"),
    "body_jacobian": ("q", "F_T_EE", "EE_T_K"),
    "zero_jacobian": ("q", "F_T_EE", "EE_T_K"),
    "mass": ("q", "payload"),
    "coriolis": ("q", "dq", "payload"),
    "gravity": ("q", "payload", "gravity_earth"),
    "evaluate": ("q", "dq", "payload", "F_T_EE", "EE_T_K", "gravity_earth"),
}


class StateCall:
    """For one thread.

    Args:
        name: of the call.
        kernel: of that call, with the arguments of franka_jax's model in their order.
        payload: gives the load of a state: (kg, (3,) m, (3,3) kg m^2).
    """

    def __init__(self, name: str, kernel: Any, payload: Callable[[RobotState], tuple[Any, Any, Any]]) -> None:
        self._kernel, self._bound = kernel, kernel.bind()
        bound = self._bound
        self._out: Sequence[np.ndarray] | None = None  # of the newest call that was given one
        self._run_into: Callable[[], Any] | None = None
        self._payload = payload
        inputs, found = iter(bound.inputs), {}
        for argument in _ARGUMENTS[name]:
            found[argument] = [next(inputs) for _ in range(_LEAVES.get(argument, 1))]
        names = {"q": "q", "dq": "dq", "gravity_earth": "O_ddP_O"}
        self._fields = FieldCopies([(names[key], targets[0]) for key, targets in found.items() if key in names])
        self._gravity = found.get("gravity_earth", [None])[0]
        self._load = found.get("payload")
        self._tool = [found[key][0] for key in ("F_T_EE", "EE_T_K")] if "F_T_EE" in found else None
        self._setup: bytes | None = None

    def run(self, state: RobotState, gravity: Any = None) -> None:
        """Compute; ``gravity`` (3,) m/s^2 for the calls that take it, without it the state's.

        InvalidArgumentException for a gravity that is not 3 finite numbers.
        """
        self._fill(state, gravity)
        self._bound.run()

    def _fill(self, state: RobotState, gravity: Any) -> None:
        self._fields(state)
        key = state.setup_bytes
        if key is None or key != self._setup:
            self._write_setup(state)
            self._setup = key
        if gravity is not None:
            self._gravity[...] = checks.vector("gravity_earth", gravity, 3)

    def _write_setup(self, state: RobotState) -> None:
        if self._load is not None:
            write_into(self._load, self._payload(state))
        if self._tool is not None:
            write_into(self._tool, (state.F_T_EE, state.EE_T_K))

    def one(self, state: RobotState, gravity: Any = None) -> np.ndarray:
        """The only result."""
        self.run(state, gravity)
        return self._bound.outputs[0].copy()

    def all(self, state: RobotState, gravity: Any, out: Sequence[np.ndarray] | None) -> Sequence[np.ndarray]:
        """All results, in ``out`` if that is given."""
        if out is None:
            self.run(state, gravity)
            return self._bound.fresh()
        if out is not self._out:
            self._out, self._run_into = out, self._runner(out)
        if self._run_into is None:
            self.run(state, gravity)
            write_into(out, self._bound.outputs)
        else:
            self._fill(state, gravity)
            self._run_into()
        return out

    def _runner(self, out: Sequence[np.ndarray]) -> Callable[[], Any] | None:
        """Runs the kernel with these arrays as its outputs; None if they are not ones that it can write."""
        bound, kernel = self._bound, self._kernel
        if kernel.backend != "c" or not isinstance(out, tuple) or len(out) != len(bound.outputs):
            return None
        if not all(_like(array, output) for array, output in zip(out, bound.outputs, strict=True)):
            return None
        return partial(kernel.entry_point, pointers((*bound.inputs, *out)))


def _like(array: Any, output: np.ndarray) -> bool:
    if type(array) is not np.ndarray or array.dtype != output.dtype or array.shape != output.shape:
        return False
    return array.flags.c_contiguous and array.flags.aligned and array.flags.writeable


def write_into(targets: Any, values: Sequence[Any]) -> Any:
    """The values written into arrays of the same shapes, which are given back. ValueError if they do not fit."""
    for target, value in zip(targets, values, strict=True):
        target[...] = value
    return targets
