"""Robot states to evaluate: what the sources gave, joined and judged row by row.

A source (a CSV, an npz, command-line numbers) gives `Fields`: float64 arrays by field name with a leading axis of N
configurations, or of 1 for all of them. Fields and their shapes per row:

    q, dq (7,)   m_total (1,)   F_x_Ctotal (3,)   I_total (3, 3) or (9,), or moments (3,) and products (3,)
    F_T_EE, EE_T_K (4, 4) or (16,) column-major   gravity_earth (3,)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from ..model import GRAVITY_EARTH
from ..payload import Payload
from .input_error import InputError


class States(NamedTuple):
    """N configurations: q (N, 7), dq (N, 7), payload leaves (N, ...), transforms (N, 4, 4), gravity (N, 3)."""

    q: np.ndarray
    dq: np.ndarray
    payload: Payload
    F_T_EE: np.ndarray
    EE_T_K: np.ndarray
    gravity_earth: np.ndarray


@dataclass(frozen=True)
class Fields:
    """What a source gave: arrays (N, ...) or (1, ...) by field name, `where` row i stands, names that were not used."""

    values: dict[str, np.ndarray]
    where: Callable[[int], str]
    ignored: tuple[str, ...] = ()


PAYLOAD = ("m_total", "F_x_Ctotal", "I_total", "moments", "products")


def combine(*sources: Fields) -> States:
    """One set of states from several sources. InputError if q is missing, two sources give one field, or the numbers
    of a row cannot be used; the row is named.
    """
    owners = _owners(sources)
    for name, owner in owners.items():
        _refuse(~np.isfinite(owner.values[name]), owner, f"{name} is not finite")
    if "q" not in owners:
        raise InputError("no configurations: give --q with seven angles in rad, or --input FILE.csv or FILE.npz")
    n = len(owners["q"].values["q"])

    def rows(name: str, default: Sequence[float]) -> np.ndarray:
        value = owners[name].values[name] if name in owners else np.array([default], float)
        return np.broadcast_to(value, (n, *value.shape[1:]))

    F, K = (_transform(name, owners.get(name), n) for name in ("F_T_EE", "EE_T_K"))
    payload = _payload(next((owners[name] for name in PAYLOAD if name in owners), None), n)
    return States(rows("q", ()), rows("dq", [0] * 7), payload, F, K, rows("gravity_earth", GRAVITY_EARTH))


def _owners(sources: Sequence[Fields]) -> dict[str, Fields]:
    """The source of each field. A payload comes from one source whole."""
    owners: dict[str, Fields] = {}
    for source in sources:
        for name in source.values:
            group = PAYLOAD if name in PAYLOAD else (name,)
            if any(owners.get(other, source) is not source for other in group):
                what = "the payload" if name in PAYLOAD else name
                raise InputError(f"{what} is given twice: in the file and on the command line")
            owners[name] = source
    return owners


def _refuse(bad: np.ndarray, owner: Fields, fault: str) -> None:
    """InputError naming the first row with anything `bad` (N, ...)."""
    rows = np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))
    if len(rows):
        more = f" (and {len(rows) - 1} more such rows)" if len(rows) > 1 else ""
        raise InputError(f"{owner.where(int(rows[0]))}: {fault}{more}")


def _transform(name: str, owner: Fields | None, n: int) -> Float[np.ndarray, "n 4 4"]:
    if owner is None:
        return np.broadcast_to(np.eye(4), (n, 4, 4))
    value = owner.values[name]
    T = value.reshape(-1, 4, 4).swapaxes(1, 2) if value.ndim == 2 else value
    fault = f"{name} is no transform: its last row must be 0 0 0 1 (16 numbers in a row are column-major)"
    _refuse(T[:, 3] != [0, 0, 0, 1], owner, fault)
    return np.broadcast_to(T, (n, 4, 4))


def _payload(owner: Fields | None, n: int) -> Payload:
    """The payload of every row; each different one is judged once by `Payload.check`."""
    if owner is None:
        return jax.tree.map(lambda leaf: np.broadcast_to(leaf, (n, *leaf.shape)), Payload.none())
    if "m_total" not in owner.values:
        raise InputError(f"{owner.where(0)}: a payload needs its mass (m_total; column m)")
    parts = (owner.values["m_total"], owner.values.get("F_x_Ctotal", np.zeros((1, 3))), _tensors(owner.values))
    flat = np.concatenate([np.broadcast_to(x, (n, x.shape[1])) for x in parts], axis=1)
    for index in np.sort(np.unique(flat, axis=0, return_index=True)[1]):
        try:
            Payload(flat[index, 0], flat[index, 1:4], flat[index, 4:]).check()
        except ValueError as error:
            raise InputError(f"{owner.where(int(index))}: {error}") from None
    return jax.tree.map(np.asarray, jax.vmap(Payload)(flat[:, 0], flat[:, 1:4], flat[:, 4:]))


def _tensors(values: dict[str, np.ndarray]) -> Float[np.ndarray, "n 9"]:
    """The inertia tensors, flat column-major."""
    if "I_total" in values:
        I = values["I_total"]
        return I if I.ndim == 2 else I.swapaxes(1, 2).reshape(-1, 9)
    none = np.zeros((1, 3))
    six = np.concatenate(np.broadcast_arrays(values.get("moments", none), values.get("products", none)), axis=1)
    xx, yy, zz, xy, xz, yz = range(6)
    return six[:, [xx, xy, xz, xy, yy, yz, xz, yz, zz]]
