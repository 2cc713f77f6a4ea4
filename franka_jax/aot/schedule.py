"""The order in which a program's operations are computed.

Straight-line code is limited by registers: a value that waits for its reader is spilled to the stack. Operations are
therefore emitted depth first from the results, so that a value is computed shortly before it is read. Sines and cosines
are the exception: those whose arguments are ready together form one group, computed in vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

from franka_jax.aot.scalarize import Program


@dataclass(frozen=True, eq=False)
class Group:
    """Arguments (references) and, for each, the nodes of its sine and its cosine where they are needed."""

    name: str
    arguments: tuple[int, ...]
    sines: tuple[int | None, ...]
    cosines: tuple[int | None, ...]


def _levels(program: Program, live: list[int]) -> dict[int, int]:
    """How many sines or cosines lie one behind the other before each node."""
    graph, level = program.graph, {}
    for node in live:
        deepest = max((level[ref >> 1] for ref in graph.operands(node)), default=0)
        level[node] = deepest + (graph.operations[node][0] in ("sin", "cos"))
    return level


def _groups(program: Program, live: list[int]) -> dict[int, Group]:
    """The group of every sine and cosine."""
    operations, level = program.graph.operations, _levels(program, live)
    found: dict[int, dict[int, dict[str, int]]] = {}
    for node in live:
        name, *operands = operations[node]
        if name in ("sin", "cos"):
            found.setdefault(level[node], {}).setdefault(operands[0], {})[name] = node
    groups = {}
    for key, pairs in found.items():
        sines, cosines = (tuple(pair.get(name) for pair in pairs.values()) for name in ("sin", "cos"))
        group = Group(str(key), tuple(pairs), sines, cosines)
        groups.update(dict.fromkeys((n for n in (*sines, *cosines) if n is not None), group))
    return groups


def schedule(program: Program) -> list[int | Group]:
    """The live operations, every one after its operands."""
    live = program.live_nodes()
    groups, graph = _groups(program, live), program.graph
    order: list[int | Group] = []
    done: set[int] = set()
    results = [ref >> 1 for refs in program.outputs for ref in refs.ravel().tolist()]
    stack: list[tuple[int, bool]] = [(node, False) for node in reversed(results)]
    while stack:
        node, ready = stack.pop()
        if node in done or graph.operations[node][0] == "const":
            continue
        group = groups.get(node)
        if ready:
            order.append(node if group is None else group)
            done.update([node] if group is None else [n for n in (*group.sines, *group.cosines) if n is not None])
            continue
        stack.append((node, True))
        operands = graph.operands(node) if group is None else group.arguments
        stack += [(ref >> 1, False) for ref in reversed(tuple(operands)) if ref >> 1 not in done]
    return order
