"""LoadModelLibrary of a simulated robot: a shared object with the thirty functions that libfranka 0.9 binds.

The arm's own model (with its payload rule) becomes one straight-line kernel that gives everything at once, and thirty
small C functions hand out its parts: ``O_T_J1`` ... ``O_T_J9``, ``Ji_J_J1`` ..., ``O_J_J1`` ..., ``M_NE``, ``c_NE``,
``g_NE``. All arrays are column-major, the result is the last argument. J8 is the flange, J9 the end effector.
Signatures: libfranka 0.9's public sources (model of the FCI, section 4.1).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from franka_rt.errors import ModelException
from franka_rt.model_library import machine
from franka_rt.sim.model import ArmModel
from franka_rt.toolchain import find_compiler

__all__ = ["functions", "model_library"]

# Architecture and system of the request -> what the compiler calls the oldest such machine (FCI protocol, section 11).
_BASELINES = {(0, 0): "x86-64", (3, 0): "generic"}

# Leaves of the kernel: name -> (parts, numbers in each).
_OUTPUTS = {"pose": (9, 16), "body": (9, 42), "zero": (9, 42), "mass": (1, 49), "coriolis": (1, 7), "gravity": (1, 7)}
_INPUTS = ("q", "dq", "F_T_EE", "I_load", "m_load", "F_x_Cload", "g_earth")
_DECLARED = {name: f"const double {name}[{n}]" for name, n in zip(_INPUTS, (7, 7, 16, 9, 0, 3, 3), strict=True)}
_DECLARED["m_load"] = "double m_load"
_DEFAULTS = {"m_load": "0.0", "F_T_EE": "IDENTITY"}


def model_library(model: ArmModel, arguments: Any) -> bytes | None:
    """The shared object for the architecture and system in a request, or None where it cannot be built.

    Takes seconds the first time (once per model and process).
    """
    try:
        here = tuple(machine().values())
    except ModelException:
        return None
    asked = int(arguments["architecture"]), int(arguments["system"])
    return _build(model, _BASELINES[asked]) if asked == here and asked in _BASELINES else None


def functions() -> dict[str, tuple[tuple[str, ...], str, int]]:
    """The thirty functions: name -> (arguments, kernel output, which part of it)."""
    table: dict[str, tuple[tuple[str, ...], str, int]] = {}
    for i in range(9):
        arguments = ("q", "F_T_EE") if i == 8 else ("q",)
        table[f"O_T_J{i + 1}"] = arguments, "pose", i
        table[f"Ji_J_J{i + 1}"] = arguments if i else (), "body", i
        table[f"O_J_J{i + 1}"] = arguments if i else (), "zero", i
    table["M_NE"] = ("q", "I_load", "m_load", "F_x_Cload"), "mass", 0
    table["c_NE"] = ("q", "dq", "I_load", "m_load", "F_x_Cload"), "coriolis", 0
    table["g_NE"] = ("q", "g_earth", "m_load", "F_x_Cload"), "gravity", 0
    return table


@lru_cache
def _build(model: ArmModel, cpu: str) -> bytes | None:
    import jax

    from franka_jax.aot.emit_c import emit
    from franka_jax.aot.scalarize import scalarize, trace

    toolchain = find_compiler(cpu)
    if toolchain is None:
        return None
    with jax.enable_x64(True):
        program = scalarize(trace(_everything(model.model), _example())[0])
    return toolchain.shared_object(f"{emit(program, 'library')}\n{_wrapper()}", "-O1", (("-DLANES=1",),))


def _example() -> tuple[np.ndarray, ...]:
    return np.zeros(7), np.zeros(7), np.eye(4).ravel(), np.zeros(9), np.zeros(()), np.zeros(3), np.zeros(3)


def _everything(model: Any) -> Any:
    """All quantities of a ``franka_jax.Model`` as a pure function of column-major arrays."""
    import jax.numpy as jnp

    from franka_jax import Frame, Payload

    frames = (*(Frame(f"joint{i}") for i in range(1, 8)), Frame.FLANGE, Frame.END_EFFECTOR)

    def library(q, dq, F_T_EE, I_load, m_load, F_x_Cload, g_earth):
        payload = Payload(m_load, F_x_Cload, I_load.reshape(3, 3).T)
        F = F_T_EE.reshape(4, 4).T
        kinematics = [
            jnp.stack([function(frame, q, F).T.ravel() for frame in frames])
            for function in (model.pose, model.body_jacobian, model.zero_jacobian)
        ]
        dynamics = model.mass(q, payload), model.coriolis(q, dq, payload), model.gravity(q, payload, g_earth)
        return (*kinematics, *(x.T.ravel() for x in dynamics))

    return library


def _wrapper() -> str:
    """C text: one static function around the kernel, thirty exported ones around that."""
    outputs = "\n".join(f"    double {name}[{parts} * {n}];" for name, (parts, n) in _OUTPUTS.items())
    inputs = [f"(void *){name}" if name != "m_load" else "&m_load" for name in _INPUTS]
    buffers = ", ".join([*inputs, *_OUTPUTS])
    declared = ", ".join(_DECLARED[name] for name in _INPUTS)
    cases = "\n".join(
        f"    if (which == {k}) memcpy(result, {name} + part * {n}, {n} * sizeof(double));"
        for k, (name, (_, n)) in enumerate(_OUTPUTS.items())
    )
    exported = "\n".join(_function(name, *entry) for name, entry in functions().items())
    return f"""
#if LANES == 1
static const double ZERO[9] = {{0.0}};
static const double IDENTITY[16] = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};

static void evaluate({declared}, int which, int part, double *result) {{
{outputs}
    void *const buffers[] = {{{buffers}}};
    kernel_call(buffers);
{cases}
}}

{exported}
#endif
"""


def _function(name: str, arguments: tuple[str, ...], output: str, part: int) -> str:
    declared = ", ".join([*(_DECLARED[a] for a in arguments), "double *result"])
    passed = ", ".join(a if a in arguments else _DEFAULTS.get(a, "ZERO") for a in _INPUTS)
    return f"EXPORT void {name}({declared}) {{ evaluate({passed}, {list(_OUTPUTS).index(output)}, {part}, result); }}"
