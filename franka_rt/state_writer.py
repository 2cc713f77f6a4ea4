"""The server's side of the state: a datagram filled by libfranka's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from franka_rt.dialect import ArmDialect
from franka_rt.errors import InvalidArgumentException
from franka_rt.layouts import ERROR_NAMES
from franka_rt.state_fields import MATRIX_SHAPES, state_fields

__all__ = ["StateWriter"]


class StateWriter:
    """Builds state datagrams, for servers: ``writer["q"] = q``, ``writer["O_T_EE"] = pose``, ``writer.datagram()``.

    Keys are the wire's names (``errors`` and ``reflex_reason`` take a set of error names or 41 flags). Matrices are
    given in C order, (4,4) or (3,3), and are turned into the wire's column-major here. What has been written stays.
    """

    def __init__(self, dialect: ArmDialect) -> None:
        self.dialect = dialect
        self.record = dialect.new_state()
        """The datagram as a 0-d structured array, for what this class does not offer."""
        self._flat = {n: s.stop - s.start for n, s in state_fields(dialect).slices.items()}

    def __setitem__(self, name: str, value: Any) -> None:
        if name in ("errors", "reflex_reason"):
            value = _flags(value)
        elif self._flat.get(name) in MATRIX_SHAPES:
            value = np.asarray(value).reshape(MATRIX_SHAPES[self._flat[name]]).T.ravel()
        self.record[name] = value

    def __getitem__(self, name: str) -> Any:
        return self.record[name]

    def update(self, **fields: Any) -> None:
        """Set several fields."""
        for name, value in fields.items():
            self[name] = value

    def datagram(self) -> bytes:
        """The bytes to send."""
        return self.record.tobytes()


def _flags(value: Any) -> Any:
    names = list(value)
    if names and not isinstance(names[0], str):
        return value
    unknown = [name for name in names if name not in ERROR_NAMES]
    if unknown:
        raise InvalidArgumentException(f"franka_rt: no error flag {unknown[0]!r}.")
    return [name in names for name in ERROR_NAMES]
