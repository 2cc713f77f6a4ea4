"""States from an npz: arrays by name, one configuration per row."""

import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from .input_error import InputError
from .states import Fields

SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "q": ((7,),),
    "dq": ((7,),),
    "m_total": ((),),
    "F_x_Ctotal": ((3,),),
    "I_total": ((3, 3), (9,)),
    "F_T_EE": ((4, 4), (16,)),
    "EE_T_K": ((4, 4), (16,)),
    "gravity_earth": ((3,),),
}
"""Arrays of an npz and their shape per configuration; matrices in row order, flat ones column-major."""


def read_npz(path: Path) -> Fields:
    """The fields of an npz. InputError for what cannot be used; arrays of other names are reported as ignored."""
    arrays = _load(path)
    values = {name: _rows_of(path, name, value) for name, value in arrays.items() if value is not None}
    ignored = tuple(name for name in arrays if name not in SHAPES)
    if "q" not in values:
        raise InputError(f"{path}: the array q is missing; found: {', '.join(ignored) or 'no arrays'}")
    n = len(values["q"])
    for name, value in values.items():
        if len(value) not in (1, n):
            raise InputError(f"{path}: {name} has {len(value)} rows, q has {n}")
    return Fields(values, lambda i: f"{path}: row {i} (counted from 0)", ignored)


def _load(path: Path) -> dict[str, np.ndarray | None]:
    """The arrays by name; those that are not used are not read (None)."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] if name in SHAPES else None for name in file.files}
    except (OSError, EOFError, ValueError, AttributeError, TypeError, BadZipFile, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "it is not an npz archive of named number arrays"
        raise InputError(f"cannot read {path}: {reason}") from None


def _rows_of(path: Path, name: str, value: np.ndarray) -> np.ndarray:
    """`value` with a leading axis of configurations."""
    if value.dtype.kind not in "fiu":
        raise InputError(f"{path}: {name} must be real numbers, not {value.dtype}")
    shapes = SHAPES[name]
    if value.shape in shapes:
        value = value[None]
    if value.shape[1:] not in shapes or len(value) == 0:
        wanted = " or ".join(str(("N", *shape)).replace("'", "") for shape in shapes)
        raise InputError(f"{path}: {name} has shape {value.shape}, it must be {wanted}")
    return (value[:, None] if name == "m_total" else value).astype(np.float64)
