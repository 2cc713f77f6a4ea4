"""Answers that take long to work out, while the stream of states goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from franka_rt.events import Request

__all__ = ["Background"]

Work = Callable[[], bytes | None]


class Background:
    """Work in threads of its own, one a request; taken when done."""

    def __init__(self) -> None:
        self._open: list[tuple[Request, Future[bytes | None]]] = []

    def start(self, request: Request, work: Work) -> None:
        """Begin."""
        future: Future[bytes | None] = Future()
        self._open.append((request, future))
        threading.Thread(target=_fulfil, args=(future, work), daemon=True).start()

    def take(self) -> list[tuple[Request, bytes | None]]:
        """What has been done since: the result, None also where the work failed."""
        if not self._open:
            return []
        done = [entry for entry in self._open if entry[1].done()]
        self._open = [entry for entry in self._open if not entry[1].done()]
        return [(request, None if future.exception() else future.result()) for request, future in done]

    def clear(self) -> None:
        """Nobody waits any more."""
        self._open.clear()


def _fulfil(future: Future[bytes | None], work: Work) -> None:
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
