"""What a closed model answered: configurations with their mass matrix, gravity torques, Coriolis vector and payload.

All rows have the same form; a row without payload has m_total = 0. Files are npz or JSON with these keys:

    q (N, 7) rad                      mass (N, 7, 7) or mass_upper (N, 28), kg m^2 (upper triangle, row by row)
    gravity (N, G, 7) N m             gravity_vectors (N, G, 3) or (G, 3), m/s^2, base axes; the torques that hold it
    optional: dq (N, 7) rad/s and coriolis (N, 7) N m;
              m_total (N,) kg, F_x_Ctotal (N, 3) m, I_total (N, 3, 3) kg m^2; about (text)

`gravity` (N, 7) without `gravity_vectors` means (0, 0, -9.81).
"""

import dataclasses
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from .files import write_all

UPPER = np.triu_indices(7)
SYMMETRY = 1e-9
"""Largest asymmetry of a mass matrix or a tensor, as a fraction of its largest entry."""


class DatasetError(ValueError):
    """Data that cannot be used; one sentence names what is wrong and the rows."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Answers of a model, N rows, G gravity vectors a row. Checked on construction (DatasetError).

    `q` rad; `mass` kg m^2; `gravity_vectors` m/s^2, base axes; `gravity` N m; the payload in flange axes as libfranka's
    m_total (kg), F_x_Ctotal (m), I_total (kg m^2 about its centre of mass); `dq` rad/s and `coriolis` N m, or None.
    """

    q: Float[np.ndarray, "N 7"]
    mass: Float[np.ndarray, "N 7 7"]
    gravity_vectors: Float[np.ndarray, "N G 3"]
    gravity: Float[np.ndarray, "N G 7"]
    m_total: Float[np.ndarray, "N"]
    F_x_Ctotal: Float[np.ndarray, "N 3"]
    I_total: Float[np.ndarray, "N 3 3"]
    dq: Float[np.ndarray, "N 7"] | None = None
    coriolis: Float[np.ndarray, "N 7"] | None = None
    about: str = "not said"

    def __post_init__(self):
        _check(self)

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        optional = "with" if self.coriolis is not None else "without"
        return (
            f"Dataset({len(self)} rows, {int((self.m_total > 0).sum())} with payload, "
            f"{self.gravity_vectors.shape[1]} gravity vectors a row, {optional} Coriolis)"
        )

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, absent ones left out."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "about"}
        return {name: value for name, value in found.items() if value is not None}

    def select(self, rows: Any) -> "Dataset":
        """The rows an index array or mask picks."""
        picked = {name: value[rows] for name, value in self.arrays.items()}
        return Dataset(**picked, about=self.about)

    @property
    def unloaded(self) -> "Dataset":
        """The rows without payload. DatasetError if there are none: they are what a fit starts from."""
        if self.m_total.all():
            raise DatasetError("every row carries a payload; the fit needs rows without")
        return self.select(self.m_total == 0)

    @property
    def loaded(self) -> "Dataset":
        """The rows with a payload."""
        return self.select(self.m_total > 0)

    @property
    def sha256(self) -> str:
        """Fingerprint of the numbers."""
        digest = hashlib.sha256()
        for name, value in sorted(self.arrays.items()):
            digest.update(name.encode() + np.ascontiguousarray(value, "<f8").tobytes())
        return digest.hexdigest()


def from_arrays(data: Mapping[str, Any], about: str | None = None) -> Dataset:
    """A dataset from arrays under the file keys above. DatasetError for what lacks or has another shape."""
    q = _array(data, "q", (None, 7))
    n = len(q)
    mass = _mass(data, n)
    gravity, vectors = _gravity(data, n)
    dq = _array(data, "dq", (n, 7)) if "dq" in data else None
    coriolis = _array(data, "coriolis", (n, 7)) if "coriolis" in data else None
    return Dataset(
        q,
        mass,
        vectors,
        gravity,
        _array(data, "m_total", (n,)) if "m_total" in data else np.zeros(n),
        _array(data, "F_x_Ctotal", (n, 3)) if "F_x_Ctotal" in data else np.zeros((n, 3)),
        _array(data, "I_total", (n, 3, 3)) if "I_total" in data else np.zeros((n, 3, 3)),
        dq,
        coriolis,
        about if about is not None else str(data.get("about", "not said")),
    )


def concatenate(parts: Sequence[Dataset], about: str) -> Dataset:
    """The rows of several datasets with the same number of gravity vectors; dq, coriolis only where all have them."""
    names = set.intersection(*(set(part.arrays) for part in parts))
    return Dataset(**{name: np.concatenate([part.arrays[name] for part in parts]) for name in names}, about=about)


def read(path: str | Path) -> Dataset:
    """A dataset from a .npz or .json file. DatasetError, one sentence with the path, for anything else."""
    path = Path(path)
    try:
        if path.suffix == ".json":
            data = json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                data = {name: archive[name] for name in archive.files}
        else:
            raise DatasetError("a dataset is a .npz or .json file")
        if not isinstance(data, Mapping):
            raise DatasetError("a dataset in JSON is an object with the keys q, mass, gravity, ...")
        return from_arrays(data)
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from None
    except Exception as error:  # zipfile, json, numpy and the system each have their own
        raise DatasetError(f"{path} cannot be read: {error}") from None


def default_dataset() -> Dataset:
    """The dataset of the package, 170 rows: see its `about`."""
    with (
        files("identification").joinpath("data/fer.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        return from_arrays({name: archive[name] for name in archive.files})


def to_bytes(dataset: Dataset, suffix: str) -> bytes:
    """The file's content, `suffix` ".npz" or ".json"."""
    arrays = dict(dataset.arrays)
    arrays["mass_upper"] = arrays.pop("mass")[:, *UPPER]
    if suffix == ".json":
        return json.dumps({"about": dataset.about} | {k: v.tolist() for k, v in arrays.items()}).encode()
    if suffix != ".npz":
        raise DatasetError(f"a dataset is written as .npz or .json, not {suffix!r}")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, about=np.array(dataset.about), **arrays)
    return buffer.getvalue()


def write(dataset: Dataset, path: str | Path) -> None:
    """Write a .npz or .json file, whole or not at all."""
    write_all({Path(path): to_bytes(dataset, Path(path).suffix)})


# --- reading --------------------------------------------------------------------------------------------------------


def _array(data: Mapping[str, Any], name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    if name not in data:
        raise DatasetError(f"{name} is missing")
    try:
        value = np.asarray(data[name])
    except ValueError:
        value = np.array(None)
    if value.dtype.kind not in "fiu":
        raise DatasetError(f"{name} is not an array of real numbers (rows of different length?)")
    value = value.astype(np.float64)
    if value.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, value.shape, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise DatasetError(f"{name} has shape {value.shape}, ({wanted}) is needed")
    return value


def _mass(data: Mapping[str, Any], n: int) -> np.ndarray:
    if "mass_upper" not in data:
        return _array(data, "mass", (n, 7, 7))
    upper = _array(data, "mass_upper", (n, 28))
    mass = np.zeros((n, 7, 7))
    mass[:, *UPPER] = upper
    mass.transpose(0, 2, 1)[:, *UPPER] = upper
    return mass


def _gravity(data: Mapping[str, Any], n: int) -> tuple[np.ndarray, np.ndarray]:
    if "gravity_vectors" not in data:
        return _array(data, "gravity", (n, 7))[:, None], np.tile([0.0, 0.0, -9.81], (n, 1, 1))
    vectors = np.asarray(data["gravity_vectors"])
    vectors = _array(data, "gravity_vectors", (None, 3) if vectors.ndim == 2 else (n, None, 3))
    vectors = np.broadcast_to(vectors, (n, *vectors.shape[-2:])).copy()
    return _array(data, "gravity", (n, vectors.shape[1], 7)), vectors


# --- checks ---------------------------------------------------------------------------------------------------------


def _check(data: Dataset) -> None:
    if len(data) == 0:
        raise DatasetError("there are no rows")
    if data.gravity_vectors.shape[1] == 0:
        raise DatasetError("there are no gravity vectors")
    if (data.dq is None) != (data.coriolis is None):
        raise DatasetError("dq and coriolis come together: one of them is missing")
    for name, value in data.arrays.items():
        if len(value) != len(data):
            raise DatasetError(f"{name} has {len(value)} rows, q has {len(data)}")
        _refuse(np.any(~np.isfinite(value).reshape(len(value), -1), axis=1), f"{name} is not finite")
    _refuse(np.abs(data.q).max(axis=1) > 2 * np.pi, "q is beyond 2 pi (degrees?)")
    _refuse(_asymmetric(data.mass), "mass is not symmetric")
    _refuse(data.m_total < 0, "m_total is negative")
    _refuse(_asymmetric(data.I_total), "I_total is not symmetric")
    _refuse((data.m_total == 0) & data.I_total.any(axis=(1, 2)), "I_total is given without m_total")


def _asymmetric(matrices: np.ndarray) -> np.ndarray:
    difference = np.abs(matrices - np.swapaxes(matrices, 1, 2)).max(axis=(1, 2))
    return difference > SYMMETRY * np.abs(matrices).max(axis=(1, 2))


def _refuse(bad: np.ndarray, what: str) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        listed = ", ".join(map(str, rows[:8])) + (f" and {len(rows) - 8} more" if len(rows) > 8 else "")
        raise DatasetError(f"{what} in row{'s' if len(rows) > 1 else ''} {listed}")
