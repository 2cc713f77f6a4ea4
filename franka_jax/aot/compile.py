"""`compile_function`: from a JAX function of fixed shapes to a kernel."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from franka_jax.aot.describe import argument_names, describe, leaf_entries, leaf_names
from franka_jax.aot.emit_c import emit
from franka_jax.aot.entry_points import INTERFACE_VERSION
from franka_jax.aot.fallback import XlaKernel
from franka_jax.aot.kernel import CompiledKernel
from franka_jax.aot.scalarize import Program, scalarize, trace
from franka_rt import cache
from franka_rt import toolchain as tools
from franka_rt.artefact import Artefact
from franka_rt.toolchain import Toolchain, find_compiler

#: Functions longer than this are compiled with -O1: the time of -O2 is not repaid.
LONG_PROGRAM = 40_000
WIDTHS = (("-DLANES=1",), ("-DLANES=NATIVE_LANES",))

NO_COMPILER = (
    "no C compiler was found (cc, gcc, clang, $CC or the ziglang package): kernels run on jax.jit instead, with "
    "the same results but 20 to 100 times slower for a single state, and they cannot be saved. Install a compiler, or "
    "`pip install franka-jax[compiler]`"
)


class MissingCompilerWarning(UserWarning):
    """There is no C compiler; kernels fall back to XLA."""


def compile_function(
    function: Callable[..., Any],
    *example_arguments: Any,
    name: str | None = None,
    cpu: str = "native",
    optimize: str | None = None,
    content_key: str | None = None,
) -> CompiledKernel | XlaKernel:
    """Compile a pure JAX function to straight-line machine code for arguments of fixed shapes.

    Args:
        function: any pure function of arrays (pytrees of them) made of supported primitives.
        example_arguments: arrays, or anything with a shape and a type; their values are not used. Floats become
        float64.
        name: how the kernel calls itself.
        cpu: what to compile for: "native", or a name the compiler knows ("x86-64-v3") for kernels to be saved and
            loaded on another machine.
        optimize: "-O1", "-O2" or "-O3"; by default -O2, -O1 for very long functions.
        content_key: names what the function computes, including every value it closes over. With it a cached kernel is
            loaded without tracing the function.

    Returns:
        The kernel. Without a C compiler one that runs on XLA (`backend == "xla"`), with a warning.

    Raises:
        UnsupportedPrimitive: the function uses something without a straight-line form; the text names it and the line.
        CompilerError: the C compiler fails.
    """
    name = name if name is not None else str(getattr(function, "__name__", "function")).strip("<>")
    toolchain = find_compiler(cpu)
    if toolchain is None:
        warnings.warn(NO_COMPILER, MissingCompilerWarning, stacklevel=2)
        return XlaKernel(function, example_arguments, name)
    key = None
    if content_key is not None:
        shapes = jax.tree.map(lambda x: (jax.numpy.shape(x), str(getattr(x, "dtype", "float64"))), example_arguments)
        content = f"{content_key}\n{name}\n{shapes}\n{compiler_version()}"
        key = cache.cache_key(content.encode(), toolchain, str(optimize))
        found = cache.lookup(key)
        if found is not None:
            return CompiledKernel(found, function, example_arguments)
    kernel = _compile(function, example_arguments, name, toolchain, optimize)
    if key is not None:
        cache.store(key, kernel.artefact)
    return kernel


@functools.cache
def compiler_version() -> str:
    """A hash of this package's sources: another version of the compiler or of the model makes other kernels."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.h"), Path(tools.__file__)]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _compile(
    function: Callable[..., Any], arguments: tuple[Any, ...], name: str, toolchain: Toolchain, optimize: str | None
) -> CompiledKernel:
    closed, results = trace(function, arguments)
    program = scalarize(closed)
    optimize = optimize or ("-O2" if program.operation_count <= LONG_PROGRAM else "-O1")
    source = emit(program, name)
    interface = describe_program(program, function, arguments, results, name)
    key = cache.cache_key((source + json.dumps(interface)).encode(), toolchain, optimize)
    artefact = cache.lookup(key)
    if artefact is None:
        library = toolchain.shared_object(source, optimize, WIDTHS)
        target = {
            "system": platform.system(),
            "machine": platform.machine(),
            "cpu_features": toolchain.features(),
            "compiler": f"{toolchain.version()} {optimize} {' '.join(toolchain.target_flags)}",
            "content": key,
        }
        artefact = Artefact(interface | target, library, source)
        cache.store(key, artefact)
    return CompiledKernel(artefact, function, arguments, jax.tree.structure(results))


def describe_program(
    program: Program, function: Callable[..., Any], arguments: tuple[Any, ...], results: Any, name: str
) -> dict[str, Any]:
    """The part of the manifest that says what a kernel takes and gives."""
    names = leaf_names(arguments, argument_names(function, len(arguments)))
    single = not isinstance(results, (tuple, list, dict))
    outputs = leaf_names([results] if single else list(_children(results)), _result_names(results, single))
    return {
        "interface": INTERFACE_VERSION,
        "name": name,
        "operations": program.operation_count,
        "inputs": leaf_entries(names, program.input_shapes, program.input_dtypes),
        "outputs": leaf_entries(outputs, program.output_shapes, program.output_dtypes),
        "arguments": describe(arguments),
        "results": describe(results),
    }


def _children(results: Any) -> Any:
    return [results[key] for key in sorted(results)] if isinstance(results, dict) else results


def _result_names(results: Any, single: bool) -> list[str]:
    if single:
        return ["result"]
    return sorted(map(str, results)) if isinstance(results, dict) else [f"result{i}" for i in range(len(results))]
