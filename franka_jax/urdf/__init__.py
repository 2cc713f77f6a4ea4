"""URDF in and out, for seven-axis arms that end in a `link8` flange.

`read_arm` reads what a robot serves and what people have on disk; `write_arm` writes text that reads back exactly.
"""

from pathlib import Path

from .arm import Arm, find_arm
from .elements import read_elements
from .numbers import UrdfError
from .writer import replace_inertials, write_arm

__all__ = ["Arm", "UrdfError", "load_text", "read_arm", "replace_inertials", "write_arm"]


def load_text(text_or_path: str | bytes | Path) -> str | bytes:
    """The description itself: text and bytes that start with `<` as they are, anything else is a path to read.

    UrdfError with the path if the file cannot be read.
    """
    if isinstance(text_or_path, bytes):
        return text_or_path
    if isinstance(text_or_path, str) and text_or_path.lstrip("\ufeff \t\r\n").startswith("<"):
        return text_or_path
    try:
        return Path(text_or_path).read_bytes()
    except (OSError, ValueError) as error:
        raise UrdfError(f"cannot read the robot description {str(text_or_path)[:200]!r}: {error}") from None


def read_arm(text_or_path: str | bytes | Path) -> Arm:
    """The arm in a URDF given as text, bytes or path. UrdfError, one sentence, for anything that is not one."""
    return find_arm(read_elements(load_text(text_or_path)))
