"""The 41 error flags of a state, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from franka_rt.layouts import ERROR_NAMES, ERROR_TEXTS

__all__ = ["Errors"]


class Errors:
    """``errors.joint_reflex``, ``if errors:``, ``list(errors)`` (the names that are set), ``"joint_reflex" in errors``.

    An unknown name is an AttributeError (KeyError for ``in`` and indexing), never False. ``str(errors)`` is
    libfranka's text, for example ``["joint_reflex", "power_limit_violation"]``.
    """

    __slots__ = ("_flags",)
    _INDEX: ClassVar = {name: index for index, name in enumerate(ERROR_NAMES)}

    def __init__(self, flags: bytes) -> None:
        self._flags = bytes(flags)

    def __getattr__(self, name: str) -> bool:
        try:
            return self._flags[self._INDEX[name]] != 0
        except KeyError:
            raise AttributeError(f"no error flag {name!r}") from None

    def __getitem__(self, name: str) -> bool:
        return self._flags[self._INDEX[name]] != 0

    def __contains__(self, name: str) -> bool:
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, flag in zip(ERROR_NAMES, self._flags, strict=True) if flag)

    def __bool__(self) -> bool:
        return any(self._flags)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Errors) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Errors, (self._flags,)

    def __str__(self) -> str:
        return "[" + ", ".join(f'"{ERROR_TEXTS.get(name, name)}"' for name in self) + "]"

    __repr__ = __str__
