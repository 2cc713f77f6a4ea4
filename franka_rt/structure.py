"""Nested arguments and results of a kernel, described by JSON.

A description is `None`, `{"leaf": i}`, `{"tuple": [...]}`, `{"list": [...]}`, `{"dict": {name: ...}}` or
`{"object": type name, "fields": {name: ...}}`. An object is read by its attributes (or as a mapping) and given back as
a `types.SimpleNamespace`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

Description = dict[str, Any] | None


def is_plain(description: Description) -> bool:
    """Whether it is a tuple of arrays."""
    return description is not None and all(
        part is not None and "leaf" in part for part in description.get("tuple", [None])
    )


def leaf_count(description: Description) -> int:
    """How many arrays are in it."""
    if description is None:
        return 0
    if "leaf" in description:
        return 1
    parts = next(part for key, part in description.items() if key != "object")
    return sum(map(leaf_count, parts.values() if isinstance(parts, dict) else parts))


def flatten(description: Description, value: Any, where: str = "the arguments") -> list[Any]:
    """The leaves of `value`, in order.

    Raises:
        ValueError: `value` has another structure; the text says where.
    """
    if description is None:
        if value is not None:
            raise ValueError(f"{where}: None was expected")
        return []
    if "leaf" in description:
        return [value]
    leaves: list[Any] = []
    for name, part, inner in _parts(description, value, where):
        leaves += flatten(part, inner, name)
    return leaves


def _parts(description: dict[str, Any], value: Any, where: str) -> list[tuple[str, Description, Any]]:
    if "fields" in description or "dict" in description:
        fields: dict[str, Description] = description["fields"] if "fields" in description else description["dict"]
        values = value if isinstance(value, Mapping) else {n: getattr(value, n) for n in fields if hasattr(value, n)}
        if set(values) != set(fields):
            raise ValueError(f"{where}: {sorted(fields)} were expected, got {sorted(values) or type(value).__name__}")
        return [(f"{where}.{name}", part, values[name]) for name, part in fields.items()]
    items = description.get("tuple", description.get("list"))
    assert items is not None
    if not isinstance(value, Sequence) or len(value) != len(items):
        raise ValueError(f"{where}: a sequence of {len(items)} was expected")
    return [(f"{where}[{i}]", part, inner) for i, (part, inner) in enumerate(zip(items, value, strict=True))]


def unflatten(description: Description, leaves: Sequence[Any]) -> Any:
    """The value with these leaves."""
    if description is None:
        return None
    if "leaf" in description:
        return leaves[description["leaf"]]
    if "dict" in description:
        return {name: unflatten(part, leaves) for name, part in description["dict"].items()}
    if "fields" in description:
        return SimpleNamespace(**{name: unflatten(part, leaves) for name, part in description["fields"].items()})
    kind: Callable[[Any], Any] = tuple if "tuple" in description else list
    return kind(unflatten(part, leaves) for part in description.get("tuple", description.get("list", ())))
