"""What a law is told while the program runs it: new values in whole sets, and the wish to end."""

from __future__ import annotations

import threading

import numpy as np

from franka_rt.compiled_loop.memory import SET_HEAD, SETS, SharedMemory
from franka_rt.compiled_loop.plan import LawLayout
from franka_rt.kernel_law import KernelLaw, Values

__all__ = ["LentLaw"]


class LentLaw:
    """A law in the hands of the program, from the constructor to :meth:`give_back`.

    A set is all of the law's inputs, written into a ring of sets before its number is made known; the program takes
    the newest set whole or, if the ring has gone round meanwhile, a newer one in the next cycle.
    """

    def __init__(self, law: KernelLaw, layout: LawLayout, memory: SharedMemory) -> None:
        words = layout.input_words
        self._law, self._layout, self._memory = law, layout, memory
        self._inputs = memory.region("inputs", np.int64, words)
        self._block = np.zeros(words, np.int64)
        self._ring = memory.region("sets", np.int64, (SETS, SET_HEAD.itemsize // 8 + words))
        self._newest = 0
        self._order = threading.Lock()
        values, self._memory_set, stop = law.lend(self)
        for leaf, value in enumerate(values):
            self._put(leaf, value)
        self._inputs[:] = self._block
        memory.live["finish"], memory.report["memory_taken"] = stop, self._memory_set

    def _put(self, leaf: int, value: np.ndarray) -> None:
        declared, first = self._law.kernel.inputs[leaf], self._layout.inputs[leaf]
        words = np.ascontiguousarray(value, declared.word)
        self._block[first : first + declared.size] = words.reshape(-1).view(np.int64)

    def change(self, values: Values) -> None:
        """See :class:`franka_rt.kernel_law.Listener`; the law calls it from one thread at a time."""
        for leaf, value in (values.parameters | values.memory).items():
            self._put(leaf, value)
        number, self._memory_set = self._newest + 1, values.memory_set
        entry = self._ring[number % SETS]
        with self._order:  # giving the lock back and taking it again keeps these writes before the next, on any CPU
            entry[0], entry[1:] = values.memory_set, self._block
        with self._order:
            self._memory.live["sets"] = self._newest = number

    def finish(self) -> None:
        """See :class:`franka_rt.kernel_law.Listener`."""
        self._memory.live["finish"] = 1

    def give_back(self) -> None:
        """The program has ended: its memory becomes the law's, unless a newer one was set that no cycle saw."""
        seen = self._memory_set == int(self._memory.report["memory_taken"])
        kernel, values = self._law.kernel, []
        for _, first, size in self._layout.memory:
            values.append(self._inputs[first : first + size].copy())
        leaves = [kernel.inputs[before] for before, _ in self._law.slots.memory]
        memory = [v.view(leaf.word).reshape(leaf.shape) for v, leaf in zip(values, leaves, strict=True)]
        self._law.give_back(memory if seen else None, bool(self._memory.live["finish"]))
        del self._inputs, self._ring  # the memory can be closed
