"""The garbage collector kept away from control loops.

A collection stops every thread for as long as there are objects to look at, easily longer than a millisecond. While
any loop of this process runs, what exists is set aside (``gc.freeze``) and automatic collection is off; when the last
loop has ended, all is as it was before.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

__all__ = ["no_collection"]

_lock = threading.Lock()
_loops = 0
_was_enabled, _was_frozen = False, False


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """No automatic garbage collection inside; restored also after exceptions, with the last of several users."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _loops, _was_enabled, _was_frozen
    with _lock:
        if _loops == 0:
            _was_enabled, _was_frozen = gc.isenabled(), gc.get_freeze_count() > 0
            gc.disable()
            gc.freeze()
        _loops += 1


def _leave() -> None:
    global _loops
    with _lock:
        _loops -= 1
        if _loops == 0:
            if not _was_frozen:
                gc.unfreeze()
            if _was_enabled:
                gc.enable()
