"""States from numbers typed on the command line."""

from collections.abc import Mapping, Sequence

import numpy as np

from .input_error import InputError
from .states import Fields

COUNTS = {"q": (7,), "dq": (7,), "payload": (4, 7, 10), "gravity_earth": (3,), "F_T_EE": (16,), "EE_T_K": (16,)}
"""How many numbers each option takes."""


def typed_fields(options: Mapping[str, Sequence[float] | None]) -> Fields:
    """The fields of the options that were given. InputError for a wrong count of numbers."""
    values = {name: _counted(name, numbers) for name, numbers in options.items() if numbers is not None}
    payload = values.pop("payload", None)
    if payload is not None:
        full = np.zeros((1, 10))
        full[:, : payload.shape[1]] = payload
        parts = np.split(full, [1, 4, 7], axis=1)
        values |= dict(zip(("m_total", "F_x_Ctotal", "moments", "products"), parts, strict=True))
    return Fields(values, lambda i: "command line")


def _counted(name: str, numbers: Sequence[float]) -> np.ndarray:
    counts = COUNTS[name]
    if len(numbers) not in counts:
        raise InputError(f"--{name} takes {' or '.join(map(str, counts))} numbers, found {len(numbers)}")
    return np.array([numbers], float)
