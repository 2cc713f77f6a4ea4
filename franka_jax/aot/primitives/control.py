"""Calls are inlined, scans unrolled, branches evaluated both and selected."""

from __future__ import annotations

from typing import Any

import numpy as np

from franka_jax.aot.primitives.registry import Operation, Refs, Unsupported, elementwise, known, rule

#: A `while_loop` whose condition never becomes a known False is not straight-line; longer ones are taken for such.
MAX_ITERATIONS = 10_000


@rule(
    "pjit",
    "jit",
    "closed_call",
    "core_call",
    "remat",
    "checkpoint",
    "remat2",
    "custom_jvp_call",
    "custom_vjp_call",
    "composite",
)
def _call(op: Operation, *arguments: Refs) -> list[Refs]:
    inner = next(op.params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in op.params)
    return op.evaluate(inner, *arguments)


@rule("custom_vjp_call_jaxpr")
def _custom_vjp_call(op: Operation, *arguments: Refs) -> list[Refs]:
    return op.evaluate(op.params["fun_jaxpr"], *arguments)


@rule("custom_linear_solve")
def _custom_linear_solve(op: Operation, *arguments: Refs) -> list[Refs]:
    lengths = op.params["const_lengths"]
    start = lengths.matvec + lengths.vecmat
    total = start + lengths.solve + lengths.transpose_solve
    return op.evaluate(op.params["jaxprs"].solve, *arguments[start : start + lengths.solve], *arguments[total:])


@rule("cond")
def _cond(op: Operation, index: Refs, *arguments: Refs) -> list[Refs]:
    graph, branches = op.graph, op.params["branches"]
    which = known(graph, index)
    if which is not None:
        return op.evaluate(branches[int(np.clip(int(which), 0, len(branches) - 1))], *arguments)
    results = [op.evaluate(branch, *arguments) for branch in branches]
    chosen = results[-1]
    for i in range(len(branches) - 2, -1, -1):
        condition = np.array(_is_at_most(op, index.item(), i))
        chosen = [
            elementwise(graph.select, np.broadcast_to(condition, yes.shape), yes, no)
            for yes, no in zip(results[i], chosen, strict=True)
        ]
    return chosen


def _is_at_most(op: Operation, index: int, i: int) -> int:
    graph = op.graph
    return graph.invert(index) if graph.kind(index) == "b" else graph.compare("le", index, graph.constant(i))


@rule("scan")
def _scan(op: Operation, *arguments: Refs) -> list[Refs]:
    p = op.params
    constants = arguments[: p["num_consts"]]
    carry = list(arguments[p["num_consts"] : p["num_consts"] + p["num_carry"]])
    sequences = arguments[p["num_consts"] + p["num_carry"] :]
    steps = range(p["length"])
    collected: list[Any] = [None] * p["length"]
    for i in reversed(steps) if p["reverse"] else steps:
        results = op.evaluate(p["jaxpr"], *constants, *carry, *(x[i] for x in sequences))
        carry, collected[i] = results[: p["num_carry"]], results[p["num_carry"] :]
    empty = [np.zeros(aval.shape, np.int64) for aval in op.outputs[p["num_carry"] :]]
    return carry + ([np.stack(column) for column in zip(*collected, strict=True)] if collected else empty)


@rule("while")
def _while(op: Operation, *arguments: Refs) -> list[Refs]:
    p = op.params
    n_cond, n_body = p["cond_nconsts"], p["body_nconsts"]
    cond_constants, body_constants = arguments[:n_cond], arguments[n_cond : n_cond + n_body]
    carry = list(arguments[n_cond + n_body :])
    for _ in range(MAX_ITERATIONS):
        (condition,) = op.evaluate(p["cond_jaxpr"], *cond_constants, *carry)
        proceed = known(op.graph, condition)
        if proceed is None:
            raise Unsupported("the number of iterations depends on the arguments; use a fixed number and jnp.where")
        if not proceed:
            return carry
        carry = op.evaluate(p["body_jaxpr"], *body_constants, *carry)
    raise Unsupported(f"more than {MAX_ITERATIONS} iterations")


@rule("platform_index")
def _platform_index(op: Operation) -> Refs:
    """Kernels run on the CPU."""
    names = op.params["platforms"]
    return np.array(op.graph.constant(next(i for i, name in enumerate(names) if name is None or "cpu" in name)))
