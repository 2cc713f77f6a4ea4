"""Many states through a kernel's `kernel_batch`: addresses, strides, and threads that share the states."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from franka_rt.buffers import words

#: States per thread below which a further thread costs more than it gains.
MIN_STATES_PER_THREAD = 256


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="kernel")


def parts_of(states: int, threads: int, lanes: int) -> list[tuple[int, int]]:
    """The ranges of states that each thread computes, whole vectors but for the last."""
    count = max(1, min(threads, states // MIN_STATES_PER_THREAD))
    size = max(1, -(-states // (count * lanes)) * lanes)
    return [(start, min(start + size, states)) for start in range(0, states, size)]


def run_rows(
    function: Callable[..., int], parts: Sequence[tuple[int, int]], arrays: Sequence[np.ndarray], moving: Sequence[int]
) -> bool:
    """Call `kernel_batch` for every part of the states, all at the same time; False without memory.

    `arrays` are the leaves as the kernel reads and writes them, those that are not `moving` hold for all states. This
    thread does the first part.
    """
    strides = [x.strides[0] if move and len(x) > 1 else 8 * bool(move) for x, move in zip(arrays, moving, strict=True)]
    addresses, steps = [x.ctypes.data for x in arrays], words([stride // 8 for stride in strides])

    def run(first: int, last: int) -> int:
        moved = (a + first * stride for a, stride in zip(addresses, strides, strict=True))
        buffers = (ctypes.c_void_p * max(len(addresses), 1))(*moved)
        return function(ctypes.c_int64(last - first), buffers, steps)

    tasks = [_pool().submit(run, *part) for part in parts[1:]]
    failures = [run(*part) for part in parts[:1]] + [task.result() for task in tasks]
    return not any(failures)
