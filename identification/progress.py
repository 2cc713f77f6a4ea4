"""Progress on the terminal: a tqdm bar where tqdm is installed, else one plain line a step; both on standard error."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Progress:
    """Named steps of one run. `step(name)` is a context manager; `quiet` shows nothing. `seconds` holds the times."""

    def __init__(self, total: int, quiet: bool = False):
        self.seconds: dict[str, float] = {}
        self._total, self._quiet, self._bar = total, quiet, None
        if not quiet and sys.stderr.isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=total, unit="step", leave=False)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Run one step under this name."""
        self._announce(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start
        if self._bar is not None:
            self._bar.update()

    def _announce(self, name: str) -> None:
        if self._bar is not None:
            self._bar.set_description(name)
        elif not self._quiet:
            print(f"[{len(self.seconds) + 1}/{self._total}] {name} ...", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
