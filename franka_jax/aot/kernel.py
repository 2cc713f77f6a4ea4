"""A compiled kernel that still knows the JAX function it came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax

from franka_jax.aot.ffi import bridge
from franka_rt.artefact import Artefact
from franka_rt.kernel import Kernel


def _has_object(description: Any) -> bool:
    """Whether some part of a structure is a class that JSON cannot rebuild."""
    if isinstance(description, dict):
        return "object" in description or any(map(_has_object, description.values()))
    return isinstance(description, list) and any(map(_has_object, description))


class CompiledKernel(Kernel):
    """A `franka_rt.kernel.Kernel` with `jax`, the same computation inside JAX programs."""

    def __init__(
        self, artefact: Artefact, function: Callable[..., Any], arguments: tuple[Any, ...], results: Any = None
    ) -> None:
        super().__init__(artefact)
        self.function = function
        self._example = arguments
        if _has_object(self._results):
            self._treedef = results if results is not None else self._trace_structure()
            self._build = self._unflatten

    @property
    def artefact(self) -> Artefact:
        """The content of the file that `save` writes."""
        return self._artefact

    def _trace_structure(self) -> Any:
        with jax.enable_x64(True):
            return jax.tree.structure(jax.eval_shape(self.function, *self._example))

    def _unflatten(self, leaves: Sequence[Any]) -> Any:
        return jax.tree.unflatten(self._treedef, leaves)

    @cached_property
    def jax(self) -> Callable[..., Any]:
        """The kernel as a JAX function: usable under `jit`, `vmap`, `grad` and `jacfwd`.

        On CPU it calls the compiled code (a `vmap` becomes one batch call), elsewhere and for derivatives it is the
        pure function. Needs 64-bit mode.
        """
        return bridge(self)
