"""Names and structure of a function's arguments and results, as a kernel's manifest holds them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.tree_util import DictKey, GetAttrKey, SequenceKey

Description = dict[str, Any] | None


def argument_names(function: Callable[..., Any], count: int) -> list[str]:
    """The function's own parameter names where it has enough of them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [names[i] if i < len(names) else f"argument{i}" for i in range(count)]


def describe(tree: Any) -> Description:
    """The structure of a pytree as `franka_rt.structure` reads it; leaves are numbered in order."""
    count = iter(range(len(jax.tree.leaves(tree))))
    return _describe(tree, count)


def _describe(tree: Any, count: Any) -> Description:
    if tree is None:
        return None
    children = jax.tree_util.default_registry.flatten_one_level_with_keys(tree)
    if children is None:
        return {"leaf": next(count)}
    keyed = list(children[0])
    parts = [_describe(child, count) for _, child in keyed]
    if type(tree) in (tuple, list):
        return {type(tree).__name__: parts}
    names = list(getattr(tree, "_fields", ())) or [_name(key, i) for i, (key, _) in enumerate(keyed)]
    if isinstance(tree, dict):
        return {"dict": dict(zip(names, parts, strict=True))}
    return {"object": type(tree).__name__, "fields": dict(zip(names, parts, strict=True))}


def _name(key: Any, position: int) -> str:
    if isinstance(key, GetAttrKey):
        return key.name
    if isinstance(key, DictKey):
        return str(key.key)
    return str(key.idx) if isinstance(key, SequenceKey) else f"field{position}"


def leaf_names(tree: Any, roots: Sequence[str]) -> list[str]:
    """One name per leaf: the root's, followed by the path inside it, for example "payload.m_total"."""
    return [
        root + jax.tree_util.keystr(path)
        for root, part in zip(roots, tree, strict=True)
        for path, _ in jax.tree_util.tree_flatten_with_path(part)[0]
    ]


def leaf_entries(
    names: Sequence[str], shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any]
) -> list[dict[str, Any]]:
    """The manifest's entries of a list of leaves."""
    return [
        {"name": name, "shape": list(shape), "dtype": np.dtype(dtype).name}
        for name, shape, dtype in zip(names, shapes, dtypes, strict=True)
    ]
