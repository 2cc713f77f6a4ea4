"""Kernels inside JAX programs: a custom call on CPU, the pure function elsewhere, derivatives by the pure function."""

from __future__ import annotations

import ctypes
import platform
import warnings
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from franka_rt.artefact import INTERFACE_VERSION, Artefact, KernelException, open_library
from franka_rt.buffers import Leaf
from franka_rt.cache import cache_key, lookup, store
from franka_rt.toolchain import find_compiler

if TYPE_CHECKING:
    from franka_jax.aot.kernel import CompiledKernel

TARGET = "franka_jax_kernel"
NEEDS_X64 = (
    "a compiled kernel computes in float64, but JAX is in 32-bit mode: add "
    'jax.config.update("jax_enable_x64", True) at the start of the program, or call it under jax.enable_x64(True)'
)


@cache
def _bridge_library() -> ctypes.CDLL | None:
    """The shared object with the handler, registered with XLA; None without a C compiler."""
    toolchain = find_compiler()
    if toolchain is None:
        return None
    source = resources.files("franka_jax.aot").joinpath("bridge.c").read_text(encoding="utf-8")
    key = cache_key(f"{source}\n{jax.__version__}".encode(), toolchain, "-O2")
    artefact = lookup(key)
    if artefact is None:
        library = toolchain.shared_object(source, "-O2", [()], [f"-I{jax.ffi.include_dir()}"])
        manifest = {"interface": INTERFACE_VERSION, "system": platform.system(), "machine": platform.machine()}
        artefact = Artefact(manifest | {"name": TARGET, "cpu_features": []}, library, source)
        store(key, artefact)
    library = open_library(artefact.library, TARGET)
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(library.bridge_handler), platform="cpu")
    return library


def _register(kernel: CompiledKernel, library: ctypes.CDLL) -> int:
    """Enter a kernel into the handler's table; its number there."""
    number = int(kernel.manifest["content"][:15], 16)
    leaves = (*kernel.inputs, *kernel.outputs)
    ranks, sizes = (
        (ctypes.c_int64 * len(leaves))(*values)
        for values in zip(*((len(x.shape), x.size) for x in leaves), strict=True)
    )
    entry_points = (ctypes.cast(f, ctypes.c_void_p) for f in (kernel._handle.kernel_call, kernel._handle.kernel_batch))
    counts = (ctypes.c_int64(n) for n in (number, len(kernel.inputs), len(kernel.outputs)))
    if library.bridge_register(*counts, ranks, sizes, *entry_points):
        raise MemoryError("bridge_register")
    return number


def _as_words(leaf: Leaf, value: Any) -> jax.Array:
    array = jnp.asarray(value)
    if array.shape != leaf.shape:
        raise KernelException(
            f"{leaf.name} has shape {array.shape}, the kernel takes {leaf.shape} (use jax.vmap for more)"
        )
    return array.astype(leaf.word)


def bridge(kernel: CompiledKernel) -> Callable[..., Any]:
    """The kernel as a JAX function."""
    library = _bridge_library()
    if library is None:
        warnings.warn("no C compiler: inside JAX programs the kernel is its pure function", stacklevel=3)
        return kernel.function
    number = np.int64(_register(kernel, library))
    words = [jax.ShapeDtypeStruct(leaf.shape, leaf.word) for leaf in kernel.outputs]

    def compiled(*arguments: Any) -> Any:
        leaves = [_as_words(leaf, x) for leaf, x in zip(kernel.inputs, jax.tree.leaves(arguments), strict=True)]
        results = jax.ffi.ffi_call(TARGET, words, vmap_method="expand_dims")(*leaves, kernel=number)
        return kernel._build([r.astype(leaf.dtype) for r, leaf in zip(results, kernel.outputs, strict=True)])

    def pure(*arguments: Any) -> Any:
        return jax.tree.map(lambda r, leaf: r.astype(leaf), kernel.function(*arguments), dtypes)

    dtypes = kernel._build([leaf.dtype for leaf in kernel.outputs])

    @jax.custom_jvp
    def call(*arguments: Any) -> Any:
        return jax.lax.platform_dependent(*arguments, cpu=compiled, default=pure)

    @call.defjvp
    def _derivative(primals: Any, tangents: Any) -> tuple[Any, Any]:
        return call(*primals), jax.jvp(pure, primals, tangents)[1]

    def checked(*arguments: Any) -> Any:
        if jax.dtypes.canonicalize_dtype(np.float64) != np.float64:
            raise KernelException(NEEDS_X64)
        return call(*(_double(x) for x in arguments))

    checked.__name__, checked.__doc__ = kernel.name, f"{kernel!r} inside JAX programs."
    return checked


def _double(tree: Any) -> Any:
    """Floats as float64, so that derivatives have the type of the arguments."""

    def convert(x: Any) -> Any:
        x = jnp.asarray(x)
        return x.astype(np.float64) if jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(convert, tree)
