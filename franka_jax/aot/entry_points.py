"""The exported functions of a kernel (docs/kernels.md), from the template `entry.h`: one state, blocks, batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import resources
from itertools import accumulate

from franka_jax.aot.scalarize import Program

#: Version of the binary interface (docs/kernels.md); compiled into the kernel and written into its manifest.
INTERFACE_VERSION = 1
#: Vectors of working memory up to which it lies on the stack: 128 KiB with the widest vectors.
LARGEST_ON_STACK = 2048


def _on_heap(rows: int) -> tuple[str, str]:
    """How a function gets its working memory, and what it does with it at the end."""
    if rows <= LARGEST_ON_STACK:
        return f"pack rows[{rows}];", ""
    take = f"pack *rows = aligned_alloc(sizeof(pack), {rows} * sizeof(pack));\n    if (rows == NULL) return -1;"
    return take, "free(rows);"


def _transfers(inputs: Sequence[int], outputs: Sequence[int]) -> str:
    """A function for every size of leaf."""
    names = [f"LOAD_OF({size})" for size in sorted(set(inputs) - {0})]
    return "\n".join([*names, *(f"STORE_OF({size})" for size in sorted(set(outputs) - {0}))])


def _load(k: int, size: int) -> str:
    source = f"(const double *)buffers[{k}] + state * strides[{k}]"
    return f"        if (strides[{k}] != 0) load_{size}(rows + starts[{k}], {source}, strides[{k}], count);"


def _broadcast(k: int, size: int) -> str:
    return f"    if (strides[{k}] == 0) broadcast_leaf(rows + starts[{k}], {size}, buffers[{k}]);"


def _save(k: int, size: int) -> str:
    target = f"(double *)buffers[{k}] + state * strides[{k}]"
    return f"            store_{size}(rows + starts[{k}], {target}, strides[{k}], count);"


def _flat(k: int, size: int) -> str:
    """The same into `flat`, from where whole vectors are written."""
    target = f"(double *)(flat + starts[{k}] - starts[INPUTS]) + phases[{k}]"
    return f"            store_{size}(rows + starts[{k}], {target}, {size}, NATIVE_LANES);"


def entry_points(program: Program) -> str:
    """C text of the functions that a kernel exports."""
    inputs, outputs = (list(map(math.prod, shapes)) for shapes in (program.input_shapes, program.output_shapes))
    leaves = list(enumerate([*inputs, *outputs]))
    taken, given = ([(k, size) for k, size in part if size] for part in (leaves[: len(inputs)], leaves[len(inputs) :]))
    starts = [0, *accumulate([*inputs, *(size + 1 for size in outputs)])]
    rows = max(starts[-1], 1)
    memory, release = _on_heap(rows + rows - starts[len(inputs)])
    values = {
        "VERSION": INTERFACE_VERSION,
        "TRANSFERS": _transfers(inputs, outputs),
        "INPUTS": len(inputs),
        "LEAVES": len(leaves),
        "ROWS": rows,
        "RESULTS": max(sum(outputs), 1),
        "SIZES": ", ".join(str(size) for _, size in leaves) or "0",
        "STARTS": ", ".join(map(str, starts)),
        "MEMORY": memory,
        "RELEASE": release,
        "FIXED": "\n".join(_broadcast(*leaf) for leaf in taken),
        "LOAD": "\n".join(_load(*leaf) for leaf in taken),
        "SAVE": "\n".join(_save(*leaf) for leaf in given),
        "FLAT": "\n".join(_flat(*leaf) for leaf in given),
    }
    text = resources.files("franka_jax.aot").joinpath("entry.h").read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text
