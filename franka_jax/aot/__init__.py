"""Pure JAX functions of fixed shapes, compiled ahead of time to straight-line kernels.

XLA's CPU runtime runs a function as a list of small kernels and needs 60-200 us for what is 2000 arithmetic operations.
Here the function is traced once, taken apart into scalars, simplified, and compiled as one C function:

    kernel = compile_function(law, q, dq)    # arrays, or jax.ShapeDtypeStruct
    tau = kernel(q, dq)                      # NumPy in, NumPy out, about a microsecond
    taus = kernel.batch(Q, DQ)               # a leading axis on every argument
    jax.jit(jax.vmap(kernel.jax))(Q, DQ)     # inside JAX programs, with derivatives
    kernel.save("law.kernel")                # franka_rt.kernel.load opens it without JAX

docs/kernels.md tells what is supported and describes the binary interface.
"""

from franka_jax.aot.compile import MissingCompilerWarning, compile_function
from franka_jax.aot.fallback import XlaKernel
from franka_jax.aot.kernel import CompiledKernel
from franka_jax.aot.primitives import RULES, UnsupportedPrimitive
from franka_rt.kernel import Kernel, KernelException
from franka_rt.toolchain import CompilerError

__all__ = [
    "CompiledKernel",
    "CompilerError",
    "Kernel",
    "KernelException",
    "MissingCompilerWarning",
    "UnsupportedPrimitive",
    "XlaKernel",
    "compile_function",
    "supported_primitives",
]


def supported_primitives() -> list[str]:
    """Names of the JAX primitives that a compiled function may lower to."""
    return sorted(RULES)
