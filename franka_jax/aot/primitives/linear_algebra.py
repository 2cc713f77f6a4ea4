"""LU with partial pivoting, Cholesky and triangular solves of small matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from franka_jax.aot.expression import Graph
from franka_jax.aot.nodes import FLOAT
from franka_jax.aot.primitives.registry import Operation, Refs, Unsupported, elementwise, kind_of, rule


def _per_matrix(function: Callable[..., tuple[Refs, ...]], *stacks: Refs) -> list[Refs]:
    """Apply a function of matrices to every matrix of a stack."""
    batch = stacks[0].shape[:-2]
    results = [function(*(s[i] for s in stacks)) for i in np.ndindex(batch)]
    return [np.stack(column).reshape(batch + column[0].shape) for column in zip(*results, strict=True)]


def _dot(graph: Graph, row: list[int], column: list[int]) -> int:
    return reduce(graph.add, map(graph.mul, row, column), graph.zero)


def _require_float64(op: Operation) -> None:
    if any(kind_of(aval.dtype) != FLOAT or aval.dtype == np.float32 for aval in op.inputs[:1]):
        raise Unsupported("only float64 matrices are supported")


@rule("cholesky")
def _cholesky(op: Operation, a: Refs) -> list[Refs]:
    _require_float64(op)
    return _per_matrix(lambda matrix: (cholesky_factor(op.graph, matrix),), a)


def cholesky_factor(graph: Graph, a: Refs) -> Refs:
    """Lower factor of the matrix whose lower triangle is given; a matrix that is not positive definite gives nan."""
    n = len(a)
    factor = np.full((n, n), graph.zero)
    for j in range(n):
        row = factor[j, :j].tolist()
        factor[j, j] = graph.unary("sqrt", graph.sub(a[j, j].item(), _dot(graph, row, row)))
        for i in range(j + 1, n):
            rest = graph.sub(a[i, j].item(), _dot(graph, factor[i, :j].tolist(), row))
            factor[i, j] = graph.div(rest, factor[j, j].item())
    return factor


@rule("triangular_solve")
def _triangular_solve(op: Operation, a: Refs, b: Refs) -> list[Refs]:
    _require_float64(op)
    p = op.params

    def solve(a: Refs, b: Refs) -> tuple[Refs]:
        lower = p["lower"]
        if p["transpose_a"]:
            a, lower = a.T, not lower
        if not p["left_side"]:  # X A = B is A^T X^T = B^T
            return (substitute(op.graph, a.T, b.T, not lower, p["unit_diagonal"]).T,)
        return (substitute(op.graph, a, b, lower, p["unit_diagonal"]),)

    return _per_matrix(solve, a, b)


def substitute(graph: Graph, a: Refs, b: Refs, lower: bool, unit_diagonal: bool) -> Refs:
    """Solution X of A X = B for triangular A, forwards (lower) or backwards."""
    n, x = len(a), b.copy()
    for i in range(n) if lower else range(n - 1, -1, -1):
        done = list(range(i)) if lower else list(range(i + 1, n))
        for k in range(b.shape[1]):
            rest = graph.sub(b[i, k].item(), _dot(graph, a[i, done].tolist(), x[done, k].tolist()))
            x[i, k] = rest if unit_diagonal else graph.div(rest, a[i, i].item())
    return x


@rule("lu")
def _lu(op: Operation, a: Refs) -> list[Refs]:
    _require_float64(op)
    return _per_matrix(lambda matrix: lu_factors(op.graph, matrix), a)


def lu_factors(graph: Graph, a: Refs) -> tuple[Refs, Refs, Refs]:
    """Packed L and U, row exchanges and row permutation of P A = L U; the pivot is the first largest of its column."""
    a = a.copy()
    rows, columns = a.shape
    pivots = []
    permutation = np.array([graph.constant(i) for i in range(rows)])
    for k in range(min(rows, columns)):
        pivot = _pivot(graph, a[k:, k].tolist(), k)
        pivots.append(pivot)
        for i in range(k + 1, rows):
            chosen = graph.compare("eq", pivot, graph.constant(i))
            for array in (a, permutation):
                condition = np.broadcast_to(chosen, array[k].shape)
                array[k], array[i] = (
                    elementwise(graph.select, condition, array[i], array[k]),
                    elementwise(graph.select, condition, array[k], array[i]),
                )
        for i in range(k + 1, rows):
            factor = graph.div(a[i, k].item(), a[k, k].item())
            a[i, k] = factor
            for j in range(k + 1, columns):
                a[i, j] = graph.sub(a[i, j].item(), graph.mul(factor, a[k, j].item()))
    return a, np.array(pivots), permutation


def _pivot(graph: Graph, column: list[int], first: int) -> int:
    largest, index = graph.unary("fabs", column[0]), graph.constant(first)
    for i, ref in enumerate(column[1:], first + 1):
        size = graph.unary("fabs", ref)
        larger = graph.compare("gt", size, largest)
        largest, index = graph.select(larger, size, largest), graph.select(larger, graph.constant(i), index)
    return index


@rule("lu_pivots_to_permutation")
def _pivots_to_permutation(op: Operation, pivots: Refs) -> Refs:
    graph, size = op.graph, op.params["permutation_size"]
    result = np.empty((*pivots.shape[:-1], size), np.int64)
    for position in np.ndindex(pivots.shape[:-1]):
        order = [graph.constant(i) for i in range(size)]
        for k, pivot in enumerate(pivots[position].tolist()):
            for i in range(k + 1, size):
                chosen = graph.compare("eq", pivot, graph.constant(i))
                order[k], order[i] = graph.select(chosen, order[i], order[k]), graph.select(chosen, order[k], order[i])
        result[position] = order
    return result
