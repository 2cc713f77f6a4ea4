"""The interpreter's own interruptions kept away from control loops.

A garbage collection stops every thread for as long as there are objects to look at, easily longer than a millisecond;
and a thread that computes keeps the interpreter for 5 ms before it lets a waiting one go on. While any callback loop
or active control of this process runs, what exists is set aside (``gc.freeze``), automatic collection is off, and
threads take turns after 0.1 ms; when the last one has ended, all is as it was before.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Iterator

__all__ = ["no_collection"]

_TURN = 1e-4  # s
_lock = threading.Lock()
_loops = 0
_was_enabled, _was_frozen, _turn_was = False, False, 0.0


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """No automatic garbage collection and short turns inside; restored, also after exceptions, by the last user."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _loops, _was_enabled, _was_frozen, _turn_was
    with _lock:
        if _loops == 0:
            _was_enabled, _was_frozen = gc.isenabled(), gc.get_freeze_count() > 0
            gc.disable()
            gc.freeze()
            _turn_was = sys.getswitchinterval()
            sys.setswitchinterval(min(_TURN, _turn_was))
        _loops += 1


def _leave() -> None:
    global _loops
    with _lock:
        _loops -= 1
        if _loops == 0:
            sys.setswitchinterval(_turn_was)
            if not _was_frozen:
                gc.unfreeze()
            if _was_enabled:
                gc.enable()
