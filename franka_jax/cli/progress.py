"""Progress on standard error for what takes longer than two seconds: tqdm's bar if it is installed, else a line."""

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

DELAY = 2.0
"""Seconds of silence before anything is shown."""

T = TypeVar("T")


def progress(items: Sequence[T], label: str) -> Iterator[T]:
    """The items, with progress shown while they are worked through."""
    try:
        from tqdm import tqdm
    except ImportError:
        return _plain(items, label)
    return iter(tqdm(items, desc=label, delay=DELAY, file=sys.stderr, leave=False))


def _plain(items: Sequence[T], label: str) -> Iterator[T]:
    shown = time.monotonic()
    any_shown = False
    for done, item in enumerate(items):
        yield item
        if time.monotonic() - shown > DELAY:
            shown, any_shown = time.monotonic(), True
            print(f"\r{label}: {done + 1} of {len(items)}", end="", file=sys.stderr, flush=True)
    if any_shown:
        print(file=sys.stderr)
