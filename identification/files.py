"""Files that are either whole or not there: written beside their place, then moved into it."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write several files; none is touched before all are on the disk. OSError with the path if one cannot be.

    Folders that lack are made.
    """
    for path in contents:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "a file is to be written, this is a directory", str(path))
    staged: list[tuple[str, Path]] = []
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            staged.append((name, path))
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(name, 0o644)
        for name, path in staged:
            os.replace(name, path)
    finally:
        for name, _ in staged:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
