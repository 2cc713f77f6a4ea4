"""Rules that turn JAX primitives into scalar expressions, one file per family."""

from franka_jax.aot.primitives import control, elementwise, indexing, linear_algebra, reductions, selection, structure
from franka_jax.aot.primitives.registry import (
    RULES,
    Operation,
    Refs,
    Unsupported,
    UnsupportedPrimitive,
    constants,
    kind_of,
)

__all__ = [
    "RULES",
    "Operation",
    "Refs",
    "Unsupported",
    "UnsupportedPrimitive",
    "constants",
    "control",
    "elementwise",
    "indexing",
    "kind_of",
    "linear_algebra",
    "reductions",
    "selection",
    "structure",
]
