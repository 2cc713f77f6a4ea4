"""The model against the reference values: tolerances, the comparison, and its rows. Printing is in `cli.report`.

One compiled call per reference evaluates the model over all its configurations and loads; `compare` reduces the
differences to rows.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .frames import Frame
from .model import Model
from .payload import Payload
from .reference import FRAME_QUANTITIES, Reference
from .robots import fer

_ROUND_OFF = {
    "pose": 1e-14,
    "body_jacobian": 1e-14,
    "zero_jacobian": 1e-14,
    "mass": 1e-14,
    "coriolis": 1e-12,
    "coriolis_state": 1e-12,
    "gravity": 1e-12,
    "gravity_tilted": 1e-12,
}
TOLERANCES: dict[str, dict[str, float]] = {
    "fr3": _ROUND_OFF,
    "fer": _ROUND_OFF,
    "fer_library": {"mass": 1e-13, "coriolis": 1e-13, "gravity": 5e-14, "gravity_alt": 5e-14},
}
"""Largest absolute difference allowed, by reference and quantity, under every load and in every frame (SI units)."""

UNITS = {"pose": "1, m", "body_jacobian": "1, m", "zero_jacobian": "1, m", "mass": "kg m^2"}
"""Units of the quantities; those not named are torques, N m."""


@dataclass(frozen=True)
class Row:
    """One comparison: the largest absolute `difference`, its `tolerance`, and the largest reference value."""

    reference: str
    quantity: str
    load: str
    frame: str
    difference: float
    tolerance: float
    largest: float

    @property
    def ok(self) -> bool:
        """Whether the difference is within the tolerance (a NaN is not)."""
        return self.difference <= self.tolerance


@dataclass(frozen=True)
class Figure:
    """A single number with its expected value and tolerance."""

    name: str
    value: float
    expected: float
    tolerance: float

    @property
    def ok(self) -> bool:
        """Whether the number is the expected one."""
        return abs(self.value - self.expected) <= self.tolerance


def compute(reference: Reference) -> dict[str, np.ndarray]:
    """The model's own values, shaped as `reference.values`: one compiled call, `vmap` over configurations and loads."""
    answers = _compute(
        reference.model,
        tuple(reference.values),
        reference.q,
        reference.dq,
        reference.payload,
        reference.F_T_EE,
        reference.EE_T_K,
        reference.gravity_earth,
    )
    return {quantity: np.asarray(value) for quantity, value in answers.items()}


def compare(reference: Reference, values: dict[str, np.ndarray]) -> tuple[Row, ...]:
    """A row per quantity, load and (where it applies) frame."""
    return tuple(
        _row(reference, quantity, values[quantity], load, frame)
        for quantity, expected in reference.values.items()
        for load in range(expected.shape[1])
        for frame in (range(len(Frame)) if quantity in FRAME_QUANTITIES else (None,))
    )


def worst_frame(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows reduced to the worst frame of each quantity and load."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.reference, row.quantity, row.load), []).append(row)
    return tuple(max(group, key=lambda row: (np.isnan(row.difference), row.difference)) for group in groups.values())


def non_affinity() -> tuple[Figure, ...]:
    """The largest entry of |dM(2 kg) - 2 dM(1 kg)|, dM a point payload's share of the mass matrix, at q = 0.

    7.117e-4 kg m^2 by the library rule (four digits are known), 0 by the rigid rule: there mass adds linearly.
    """
    return (
        Figure("library rule", _non_affinity(fer("library")), 7.117e-4, 5e-8),
        Figure("rigid rule", _non_affinity(fer("rigid")), 0.0, 1e-13),
    )


def _non_affinity(model: Model) -> float:
    q, center, no_tensor = np.zeros(7), np.zeros(3), np.zeros((3, 3))
    empty, one, two = (np.asarray(model.mass(q, Payload(m, center, no_tensor))) for m in (0.0, 1.0, 2.0))
    return float(np.abs((two - empty) - 2 * (one - empty)).max())


def _row(reference: Reference, quantity: str, values: np.ndarray, load: int, frame: int | None) -> Row:
    index: Any = np.s_[:, load] if frame is None else np.s_[:, load, frame]
    expected = reference.values[quantity][index]
    return Row(
        reference.name,
        quantity,
        reference.loads[load],
        "" if frame is None else list(Frame)[frame].value,
        float(np.abs(values[index] - expected).max()),
        TOLERANCES[reference.name][quantity],
        float(np.abs(expected).max()),
    )


@partial(jax.jit, static_argnames="quantities")
def _compute(model: Model, quantities: tuple[str, ...], q, dq, payload, F_T_EE, EE_T_K, gravity_earth):
    def one(q, dq, payload, F, K):
        def value(quantity: str):
            if quantity in FRAME_QUANTITIES:
                return jnp.stack([getattr(model, quantity)(frame, q, F, K) for frame in Frame])
            if quantity in gravity_earth:
                return model.gravity(q, payload, gravity_earth[quantity])
            return model.mass(q, payload) if quantity == "mass" else model.coriolis(q, dq, payload)

        return {quantity: value(quantity) for quantity in quantities}

    over_loads = jax.vmap(one, (None, None, 0, 0, 0))
    return jax.vmap(over_loads, (0, 0, None, None, None))(q, dq, payload, F_T_EE, EE_T_K)
