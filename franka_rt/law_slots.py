"""Which argument and which result of a law's kernel is what, by their names; one description for both loops.

Arguments named like a field of RobotState are filled from every state, ``dt`` with the seconds since the last one, all
others are parameters; ``memory`` is a parameter that the law writes itself. Results: ``tau`` (or a single array),
``memory``, ``finished``. Places are numbers of leaves, in the order of the kernel's inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from franka_rt.buffers import Leaf
from franka_rt.errors import InvalidArgumentException
from franka_rt.state import RobotState
from franka_rt.structure import Description

__all__ = ["MEMORY", "LawSlots", "law_slots"]

MEMORY = "memory"
_TAU, _FINISHED, _DT = "tau", "finished", "dt"


@dataclass(frozen=True)
class LawSlots:
    """The places of one kernel.

    Attributes:
        fields: state field -> input leaf.
        dt: input leaf, None if the law does not ask.
        parameters: name -> (structure, input leaves), ``memory`` included.
        memory: pairs (input leaf, output leaf), the second copied to the first after every cycle.
        tau: output leaf of the (7,) torques.
        finished: output leaf that ends the motion when it is not zero, None without one.
    """

    fields: dict[str, int]
    dt: int | None
    parameters: dict[str, tuple[Description, list[int]]]
    memory: list[tuple[int, int]]
    tau: int
    finished: int | None


def law_slots(kernel: Any) -> LawSlots:
    """The places of a kernel; InvalidArgumentException if it is no law: no torques, or memory of two kinds."""
    arguments, results = _arguments(kernel), _results(kernel)
    leaves = {name: places for name, (_, places) in arguments.items()}
    fields = {name: _one(kernel, name, places) for name, places in leaves.items() if _is_field(name)}
    dt = _number(kernel, kernel.inputs, leaves, _DT)
    if dt is not None and kernel.inputs[dt].word != np.float64:
        raise InvalidArgumentException(f"franka_rt: {kernel.name} takes dt as {kernel.inputs[dt].dtype}, not as float.")
    parameters = {name: slot for name, slot in arguments.items() if name != _DT and name not in fields}
    finished = _number(kernel, kernel.outputs, results, _FINISHED)
    return LawSlots(fields, dt, parameters, _memory(kernel, parameters, results), _torques(kernel, results), finished)


def _torques(kernel: Any, results: dict[str, list[int]]) -> int:
    found = results.get(_TAU, [])
    leaf = kernel.outputs[found[0]] if len(found) == 1 else None
    if leaf is None or leaf.shape != (7,) or leaf.word != np.float64:
        raise InvalidArgumentException(f"franka_rt: {kernel.name} has to give 7 torques as floats, alone or as 'tau'.")
    return found[0]


def _memory(kernel: Any, parameters: dict[str, Any], results: dict[str, list[int]]) -> list[tuple[int, int]]:
    before = parameters[MEMORY][1] if MEMORY in parameters else []
    after = results.get(MEMORY, [])
    taken, given = [kernel.inputs[i] for i in before], [kernel.outputs[i] for i in after]
    if [(leaf.shape, leaf.word) for leaf in taken] != [(leaf.shape, leaf.word) for leaf in given]:
        text = f"franka_rt: the memory that {kernel.name} gives back differs from the one that it takes."
        raise InvalidArgumentException(text)
    return list(zip(before, after, strict=True))


def _number(kernel: Any, leaves: Sequence[Leaf], places: dict[str, list[int]], name: str) -> int | None:
    """The leaf of what has to be one number; None if it is not there."""
    found = places.get(name)
    if found is None:
        return None
    leaf = _one(kernel, name, found)
    if leaves[leaf].size != 1:
        raise InvalidArgumentException(f"franka_rt: {name} of {kernel.name} has to be one number.")
    return leaf


def _one(kernel: Any, name: str, places: list[int]) -> int:
    """The only leaf."""
    if len(places) != 1:
        raise InvalidArgumentException(f"franka_rt: {name} of {kernel.name} has to be one array.")
    return places[0]


def _is_field(name: str) -> bool:
    return name[:1] != "_" and not callable(getattr(RobotState, name, callable))


def _arguments(kernel: Any) -> dict[str, tuple[Description, list[int]]]:
    """Argument name -> (description of its structure, its leaves)."""
    slots, first = {}, 0
    for description in kernel._arguments["tuple"]:
        count = len(_leaves(description))
        if count:
            name = kernel.inputs[first].name.split("[")[0].split(".")[0]
            slots[name] = description, list(range(first, first + count))
        first += count
    return slots


def _results(kernel: Any) -> dict[str, list[int]]:
    """Result name -> its leaves; a single array is the torques."""
    description = kernel._results
    if description is not None and "dict" in description:
        return {name: _leaves(part) for name, part in description["dict"].items()}
    return {_TAU: _leaves(description)}


def _leaves(description: Description) -> list[int]:
    if description is None:
        return []
    if "leaf" in description:
        return [description["leaf"]]
    named = description.get("dict") or description.get("fields") or {}
    parts = [*named.values(), *description.get("tuple", ()), *description.get("list", ())]
    return [leaf for part in parts for leaf in _leaves(part)]
