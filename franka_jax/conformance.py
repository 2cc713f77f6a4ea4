"""The model against the reference values: tolerances, the comparison, and its rows. Printing is in `report`.

A reference is a set of answers of an independent implementation to N configurations under L loads. One compiled call
per reference evaluates the model over all of them; `compare` reduces the differences to rows.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import jax
import jax.numpy as jnp
import numpy as np

from .frames import Frame
from .input_error import InputError
from .model import Model
from .payload import Payload
from .robots import fer, fr3

FRAME_QUANTITIES = ("pose", "body_jacobian", "zero_jacobian")

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
class Reference:
    """Answers of another implementation: N configurations, L loads.

    `q`, `dq` (N, 7) rad, rad/s; `payload` leaves with leading axis L; `F_T_EE`, `EE_T_K` (L, 4, 4); `gravity_earth`:
    the gravity vector (3,) of each gravity quantity; `values`: (N, L, ...) by quantity, those of `FRAME_QUANTITIES`
    (N, L, 10, ...) with the frames in the order of `Frame`.
    """

    name: str
    model: Model
    title: str
    loads: tuple[str, ...]
    q: np.ndarray
    dq: np.ndarray
    payload: Payload
    F_T_EE: np.ndarray
    EE_T_K: np.ndarray
    gravity_earth: dict[str, np.ndarray]
    values: dict[str, np.ndarray]


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


def find_data(directory: str | os.PathLike[str] | None = None) -> Path:
    """The directory with the reference values: the one given, else tests/data here or in the package's checkout.

    InputError if it does not exist.
    """
    if directory is not None:
        candidates = [Path(directory)]
    else:
        candidates = [root / "tests" / "data" for root in (Path.cwd(), Path(__file__).parents[1])]
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    where = f"{directory} is not a directory" if directory is not None else "there is no tests/data here"
    raise InputError(f"no reference values: {where}; run in a checkout of the project or give --data DIR")


def load(name: str, data: Path) -> Reference:
    """The reference "fr3", "fer" or "fer_library" from the directory `data`. InputError if a file is not usable."""
    file, read = _READERS[name]
    path = data / file
    try:
        return read(name, path)
    except (OSError, BadZipFile, ValueError, KeyError) as error:
        reason = f"lacks {error}" if isinstance(error, KeyError) else getattr(error, "strerror", None) or error
        raise InputError(f"cannot use the reference values {path}: {reason}") from None


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


def _read_npz(name: str, path: Path) -> Reference:
    with np.load(path, allow_pickle=False) as file:
        data = {key: file[key] for key in file.files}
    if [str(frame) for frame in data["frame_names"]] != [frame.value for frame in Frame]:
        raise ValueError("its frame_names are not the ten frames in their order")
    return Reference(
        name,
        fr3() if name == "fr3" else fer("rigid"),
        str(data["source"]).partition(" (")[0].partition(",")[0],
        tuple(str(load) for load in data["load_names"]),
        data["q"],
        data["dq"],
        jax.vmap(Payload)(data["m_total"], data["F_x_Ctotal"], data["I_total"]),
        data["F_T_EE"],
        data["EE_T_K"],
        {"gravity": data["gravity_vector"], "gravity_tilted": data["gravity_tilted_vector"]},
        {quantity: data[quantity] for quantity in TOLERANCES[name]},
    )


def _read_library(name: str, path: Path) -> Reference:
    """Two configurations of a real FER's own library, without and with a payload."""
    data = json.loads(path.read_text(encoding="utf-8"))
    samples, body, loads = data["samples"], data["payload"], ("no_load", "payload")
    heavy = Payload(body["m_total"], body["F_x_Ctotal"], body["I_total"])
    payload = jax.tree.map(lambda none, some: jnp.stack([none, some]), Payload.none(), heavy)
    return Reference(
        name,
        fer("library"),
        "its own model library",
        loads,
        np.array([sample["q"] for sample in samples]),
        np.array([sample["dq"] for sample in samples]),
        payload,
        np.tile(np.eye(4), (2, 1, 1)),
        np.tile(np.eye(4), (2, 1, 1)),
        {"gravity": np.array([0, 0, -9.81]), "gravity_alt": np.array([0.1, -0.2, -9.7])},
        {
            quantity: np.array([[sample[load][quantity] for load in loads] for sample in samples])
            for quantity in TOLERANCES[name]
        },
    )


_READERS: dict[str, tuple[str, Callable[[str, Path], Reference]]] = {
    "fr3": ("fr3_libfranka_0_21.npz", _read_npz),
    "fer": ("fer_reference.npz", _read_npz),
    "fer_library": ("fer_library_samples.json", _read_library),
}
