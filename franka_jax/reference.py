"""Reference values: the answers of other implementations, read from a directory of fixtures."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import jax
import jax.numpy as jnp
import numpy as np

from .cli.input_error import InputError
from .frames import Frame
from .model import Model
from .payload import Payload
from .robots import fer, fr3

FRAME_QUANTITIES = ("pose", "body_jacobian", "zero_jacobian")
_ALL = (*FRAME_QUANTITIES, "mass", "coriolis", "coriolis_state", "gravity", "gravity_tilted")
_LIBRARY = ("mass", "coriolis", "gravity", "gravity_alt")


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
        {quantity: data[quantity] for quantity in _ALL},
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
            for quantity in _LIBRARY
        },
    )


_READERS: dict[str, tuple[str, Callable[[str, Path], Reference]]] = {
    "fr3": ("fr3_libfranka_0_21.npz", _read_npz),
    "fer": ("fer_reference.npz", _read_npz),
    "fer_library": ("fer_library_samples.json", _read_library),
}
NAMES = tuple(_READERS)
"""The references, in the order in which they are reported."""
