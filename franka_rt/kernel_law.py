"""A compiled control law as callback: the state's numbers are copied in, the kernel runs, the torques are sent.

The law is a pure JAX function of fixed shapes whose arguments say by their names what they are::

    def law(q, dq, coriolis_on, target, gains):      # state fields, then parameters
        return gains["k"] * (target - q) - gains["d"] * dq

    kernel = aot.compile_function(law, zeros, zeros, 1.0, zeros, {"k": zeros, "d": zeros})
    law = KernelLaw(kernel, coriolis_on=1.0, target=q_goal, gains={"k": k, "d": d})
    robot.control_torques(law)                       # law.set(target=...) from any thread, law.finish() ends it

Arguments named like a field of :class:`~franka_rt.RobotState` are filled from every state, ``dt`` with the seconds
since the last one. ``memory`` is what the law remembers: the result of that name goes in again in the next cycle. All
others are parameters. The results are the torques alone, or a dictionary with ``tau``, and where wanted ``memory`` and
``finished`` (not zero ends the motion). No numpy arithmetic takes place in a cycle, nothing is allocated that stays.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from franka_rt.commands import Torques
from franka_rt.errors import InvalidArgumentException
from franka_rt.state import RobotState
from franka_rt.structure import flatten

__all__ = ["KernelLaw", "urdf_hash"]

_MEMORY, _TAU, _FINISHED = "memory", "tau", "finished"


def urdf_hash(urdf: str) -> str:
    """What a law remembers of the URDF that it was made for."""
    return hashlib.sha256(urdf.encode()).hexdigest()


class KernelLaw:
    """A torque callback around a kernel.

    Args:
        kernel: compiled by ``franka_jax.aot`` or loaded by ``franka_rt.kernel.load``.
        robot: "fer" or "fr3", the arm that the law is for; other arms refuse it. Empty: any.
        urdf: text of the model that the law was made with; a robot that serves another one refuses it. Empty: any.
        parameters: values of all parameters, and of ``memory`` if the law has one.

    InvalidArgumentException if names, shapes or results do not fit.
    """

    def __init__(self, kernel: Any, robot: str = "", urdf: str = "", **parameters: Any) -> None:
        self.kernel, self.robot, self.urdf_hash = kernel, robot, urdf_hash(urdf) if urdf else ""
        self._bound = bound = kernel.bind()
        self._slots = _argument_slots(kernel)
        results = _result_slots(kernel)
        self._dt = bound.inputs[self._slots["dt"][1][0]] if "dt" in self._slots else None
        self._fields = [
            (name, bound.inputs[indices[0]]) for name, (_, indices) in self._slots.items() if _is_field(name)
        ]
        self._finished = bound.outputs[results[_FINISHED][0]] if _FINISHED in results else None
        self._memory = self._memory_pairs(results)
        self._command = Torques(np.zeros(7))
        self._command.values = self._torques(results)
        self._stop = False
        self.set(**parameters)
        self._check_complete(parameters)

    def _torques(self, results: dict[str, list[int]]) -> np.ndarray:
        found = results.get(_TAU, [])
        if len(found) != 1 or self._bound.outputs[found[0]].shape != (7,):
            raise InvalidArgumentException(f"franka_rt: {self.kernel.name} has to give 7 torques, alone or as 'tau'.")
        return self._bound.outputs[found[0]]

    def _memory_pairs(self, results: dict[str, list[int]]) -> list[tuple[np.ndarray, np.ndarray]]:
        before = [self._bound.inputs[i] for i in self._slots[_MEMORY][1]] if _MEMORY in self._slots else []
        after = [self._bound.outputs[i] for i in results.get(_MEMORY, [])]
        if [a.shape for a in before] != [a.shape for a in after]:
            text = f"franka_rt: the memory that {self.kernel.name} gives back differs from the one that it takes."
            raise InvalidArgumentException(text)
        return list(zip(before, after, strict=True))

    def _check_complete(self, parameters: dict[str, Any]) -> None:
        missing = [name for name in self.parameters if name not in parameters]
        if missing:
            raise InvalidArgumentException(f"franka_rt: {self.kernel.name} needs values for {', '.join(missing)}.")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what is neither in the state nor ``dt``."""
        return tuple(name for name in self._slots if name != "dt" and not _is_field(name))

    def set(self, **parameters: Any) -> None:
        """Give parameters new values, from any thread; a cycle sees each of them whole.

        InvalidArgumentException for unknown names, other shapes or numbers that are not finite; nothing changes then.
        """
        changes = [change for name, value in parameters.items() for change in self._changes(name, value)]
        for target, value in changes:
            target[...] = value

    def _changes(self, name: str, value: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        if name not in self.parameters:
            raise InvalidArgumentException(
                f"franka_rt: {name} is none of {', '.join(self.parameters) or 'no parameter'}."
            )
        description, indices = self._slots[name]
        try:
            leaves = flatten(description, value, name)
            arrays = [self.kernel.inputs[i].check(leaf) for i, leaf in zip(indices, leaves, strict=True)]
        except ValueError as error:
            raise InvalidArgumentException(f"franka_rt: {error}") from None
        if not all(np.isfinite(array).all() for array in arrays):
            raise InvalidArgumentException(f"franka_rt: {name} has a number that is infinite or NaN.")
        return [(self._bound.inputs[i], array) for i, array in zip(indices, arrays, strict=True)]

    def finish(self) -> None:
        """End the motion regularly with the next cycle; from any thread."""
        self._stop = True

    def check_robot(self, robot: str, urdf: str) -> None:
        """InvalidArgumentException if this law was made for another arm."""
        if self.robot and self.robot != robot:
            raise InvalidArgumentException(f"franka_rt: this law was made for the {self.robot}, not for the {robot}.")
        if self.urdf_hash and urdf and self.urdf_hash != urdf_hash(urdf):
            text = "franka_rt: this law was made with another URDF than the robot's."
            raise InvalidArgumentException(text, "Make it again with robot.get_robot_model(), or leave urdf out.")

    def __call__(self, state: RobotState, dt: float) -> Torques:
        """One cycle; the command is the same object every time."""
        for name, target in self._fields:
            target[...] = getattr(state, name)
        if self._dt is not None:
            self._dt[...] = dt
        self._bound.run()
        for before, after in self._memory:
            before[...] = after
        command = self._command
        command.motion_finished = self._stop or (self._finished is not None and bool(self._finished))
        self._stop = False
        return command

    def __repr__(self) -> str:
        return f"<KernelLaw {self.kernel!r}>"


def _is_field(name: str) -> bool:
    return name[:1] != "_" and hasattr(RobotState, name)


def _argument_slots(kernel: Any) -> dict[str, tuple[Any, list[int]]]:
    """Argument name -> (description of its structure, indices of its leaves)."""
    slots, first = {}, 0
    for description in kernel._arguments["tuple"]:
        count = len(_leaves(description))
        if count:
            name = kernel.inputs[first].name.split("[")[0].split(".")[0]
            slots[name] = description, list(range(first, first + count))
        first += count
    return slots


def _result_slots(kernel: Any) -> dict[str, list[int]]:
    """Result name -> indices of its leaves; a single array is the torques."""
    description = kernel._results
    if description is not None and "dict" in description:
        return {name: _leaves(part) for name, part in description["dict"].items()}
    return {_TAU: _leaves(description)}


def _leaves(description: Any) -> list[int]:
    if description is None:
        return []
    if "leaf" in description:
        return [description["leaf"]]
    named = description.get("dict") or description.get("fields") or {}
    parts = [*named.values(), *description.get("tuple", ()), *description.get("list", ())]
    return [leaf for part in parts for leaf in _leaves(part)]
