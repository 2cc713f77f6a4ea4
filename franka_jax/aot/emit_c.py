"""C text of a scalarised program: straight-line code over the types of `prelude.h`, compiled once per width."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources

from franka_jax.aot.entry_points import entry_points
from franka_jax.aot.expression import Graph
from franka_jax.aot.nodes import BOOL, FLOAT, INT
from franka_jax.aot.scalarize import Program
from franka_jax.aot.schedule import Group, schedule

#: The compiler's time grows faster than linearly with the length of a function: longer programs are split into parts of
#: PART_SIZE, which costs 20 % in time at most (values cross in memory) and saves up to half of the compilation.
LONGEST_PART = 2500
PART_SIZE = 1200

TYPES = {FLOAT: "real", INT: "word", BOOL: "mask"}
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
INFIX |= {"and": "&", "or": "|", "xor": "^", "iand": "&", "ior": "|", "ixor": "^"}
INFIX |= {"iadd": "+", "isub": "-", "imul": "*"}
CALLS = {"idiv": "i_div", "irem": "i_rem", "imax": "i_max", "imin": "i_min"}
CALLS |= {"to_float": "TO_REAL", "to_int": "to_word", "not": "NOT"}


@cache
def prelude() -> str:
    """The fixed text that every kernel starts with."""
    return resources.files("franka_jax.aot").joinpath("prelude.h").read_text(encoding="utf-8")


def number(value: float | int | bool, kind: str) -> str:
    """A constant in C, exact."""
    if kind == FLOAT:
        text = {math.inf: "INFINITY", -math.inf: "-INFINITY"}.get(
            value, "NAN" if value != value else float(value).hex()
        )
        return f"K({text})"
    if kind == BOOL:
        return "TRUE_MASK" if value else "FALSE_MASK"
    return f"WORD({value}ll)" if value != -(2**63) else "WORD(INT64_MIN)"


class _Writer:
    """Names, operands and statements of one program."""

    def __init__(self, program: Program) -> None:
        self.graph: Graph = program.graph
        self.program = program
        self.stored: dict[int, int] = {}  # node -> scratch slot, for values that another part reads

    def operand(self, ref: int) -> str:
        node = ref >> 1
        if self.graph.operations[node][0] == "const":
            return number(self.graph.value(ref), self.graph.kinds[node])
        return f"-v{node}" if ref & 1 else f"v{node}"

    def expression(self, node: int) -> str:
        name, *operands = self.graph.operations[node]
        if name == "input":
            return self.input(node, *operands)
        if name == "wrap":
            return f"i_wrap({self.operand(operands[0])}, {operands[1]}, {int(operands[2])})"
        texts = [self.operand(ref) for ref in operands]
        if name in INFIX:
            return f"{texts[0]} {INFIX[name]} {texts[1]}"
        if name == "select":
            return f"{'SELECT' if self.graph.kinds[node] == FLOAT else 'SELECT_WORD'}({', '.join(texts)})"
        if name in ("max", "min"):
            fixed = "_constant" if self.graph.is_constant(operands[0]) else ""
            return f"f_{name}{fixed}({', '.join(texts)})"
        return f"{CALLS.get(name, 'f_' + name)}({', '.join(texts)})"

    def input(self, node: int, leaf: int, element: int) -> str:
        kind = self.graph.kinds[node]
        if kind == FLOAT:
            return f"((const real *)buffers[{leaf}])[{element}]"
        text = f"((const word *)buffers[{leaf}])[{element}]"
        return f"{text} != 0" if kind == BOOL else text

    def statement(self, item: int | Group) -> str:
        if isinstance(item, Group):
            return self.group(item)
        return f"const {TYPES[self.graph.kinds[item]]} v{item} = {self.expression(item)};"

    def group(self, item: Group) -> str:
        n, name = len(item.arguments), f"{item.name}"
        texts = [
            f"real x{name}[{n}] = {{{', '.join(self.operand(ref) for ref in item.arguments)}}};",
            f"real s{name}[{n}], c{name}[{n}];",
        ]
        texts.append(f"sincos_all({n}, x{name}, s{name}, c{name});")
        for letter, nodes in (("s", item.sines), ("c", item.cosines)):
            texts += [f"const real v{node} = {letter}{name}[{i}];" for i, node in enumerate(nodes) if node is not None]
        return " ".join(texts)

    def store(self, ref: int, leaf: int, element: int) -> str:
        kind = self.graph.kind(ref)
        text = self.operand(ref)
        if kind == BOOL:
            text = f"FROM_MASK({text})"
        return f"(({'real' if kind == FLOAT else 'word'} *)buffers[{leaf}])[{element}] = {text};"


def _destinations(program: Program) -> dict[int, list[tuple[int, int, int]]]:
    """For every node that is a result: where it goes, as (reference, buffer, element)."""
    places: dict[int, list[tuple[int, int, int]]] = {}
    for leaf, refs in enumerate(program.outputs, len(program.input_shapes)):
        for element, ref in enumerate(refs.ravel().tolist()):
            places.setdefault(ref >> 1, []).append((ref, leaf, element))
    return places


def _parts(items: Sequence[int | Group]) -> list[Sequence[int | Group]]:
    count = 1 if len(items) <= LONGEST_PART else math.ceil(len(items) / PART_SIZE)
    size = max(1, math.ceil(len(items) / count))
    return [items[i : i + size] for i in range(0, len(items), size)] or [[]]


def _crossing(writer: _Writer, parts: Sequence[Sequence[int | Group]]) -> dict[int, int]:
    """Scratch slots of the values that a later part reads; a slot is reused once its last reader is past."""
    graph, home, last = writer.graph, {}, {}
    for index, part in enumerate(parts):
        for item in part:
            for ref in reads(graph, item):
                node = ref >> 1
                if home.get(node, index) != index:
                    last[node] = index
            home.update(dict.fromkeys(defines(item), index))
    slots: dict[int, int] = {}
    free: list[int] = []
    total = 0
    for index, part in enumerate(parts):
        free += [slots[node] for node in slots if last[node] == index - 1]
        for node in (n for item in part for n in defines(item) if n in last):
            slots[node] = free.pop() if free else total
            total += slots[node] == total
    return slots


def reads(graph: Graph, item: int | Group) -> Iterable[int]:
    """References that a scheduled item reads, constants left out."""
    refs = item.arguments if isinstance(item, Group) else graph.operands(item)
    return [ref for ref in refs if graph.operations[ref >> 1][0] != "const"]


def defines(item: int | Group) -> list[int]:
    """Nodes that a scheduled item computes."""
    if isinstance(item, Group):
        return [node for node in (*item.sines, *item.cosines) if node is not None]
    return [item]


def _part_text(writer: _Writer, index: int, part: Sequence[int | Group], places: dict[int, list]) -> list[str]:
    graph, lines, present = writer.graph, [], set()
    for item in part:
        for ref in reads(graph, item):
            node = ref >> 1
            if node not in present:  # computed by an earlier part
                kind = graph.kinds[node]
                lines.append(f"const {TYPES[kind]} v{node} = {scratch(kind, writer.stored[node])};")
                present.add(node)
        lines.append(writer.statement(item))
        for node in defines(item):
            present.add(node)
            lines += [writer.store(*place) for place in places.get(node, ())]
            if node in writer.stored:
                lines.append(f"{scratch(graph.kinds[node], writer.stored[node])} = v{node};")
    body = "\n".join(f"    {line}" for line in lines)
    return [f"static void part_{index}(void *const *buffers UNUSED, real *scratch UNUSED) {{", body, "}", ""]


def scratch(kind: str, slot: int) -> str:
    """The scratch variable of a value of one kind; all kinds have the size of `real`, in vectors and for one state."""
    return {FLOAT: f"scratch[{slot}]", INT: f"((word *)scratch)[{slot}]"}.get(
        kind, f"((mask *)scratch)[{slot} * MASK_STEP]"
    )


def emit(program: Program, name: str = "kernel") -> str:
    """The C text of a program.

    One function per part, then the exported entry points of docs/kernels.md.
    """
    writer, places = _Writer(program), _destinations(program)
    parts = _parts(schedule(program))
    writer.stored = _crossing(writer, parts)
    slots = 1 + max(writer.stored.values(), default=-1)
    constant = [
        writer.store(*place)
        for node, found in places.items()
        if program.graph.operations[node][0] == "const"
        for place in found
    ]
    lines = [f"/* {name}: {program.operation_count} operations. Generated by franka_jax.aot. */", prelude()]
    for index, part in enumerate(parts):
        lines += _part_text(writer, index, part, places)
    lines.append("static void body(void *const *buffers) {")
    lines.append(f"    real scratch[{max(slots, 1)}] UNUSED;")
    lines += [f"    part_{index}(buffers, scratch);" for index in range(len(parts))]
    lines += [f"    {line}" for line in constant]
    lines += ["}", "", entry_points(program)]
    return "\n".join(lines)
