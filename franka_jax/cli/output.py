"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .input_error import InputError


def check_target(path: Path, suffixes: tuple[str, ...]) -> None:
    """InputError if `path` cannot become a file of one of these kinds; asked before any work is done."""
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a directory, a file name is needed")
    if path.suffix.lower() not in suffixes:
        raise InputError(f"cannot write {path}: the name must end in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the directory {path.parent} does not exist")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that takes the name `path` when the block ends well; when it does not, nothing is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
