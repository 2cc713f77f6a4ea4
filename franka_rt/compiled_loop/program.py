"""The program's executable: compiled once for this source, compiler and processor, then taken from the user's cache.

Without a compiler an executable that is in the cache already is used.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from importlib import resources

from franka_rt import cache
from franka_rt.artefact import INTERFACE_VERSION, Artefact
from franka_rt.compiled_loop.memory import declarations
from franka_rt.errors import RealtimeException
from franka_rt.toolchain import CompilerError, Toolchain, find_compiler, processor

__all__ = ["FLAGS", "MAIN", "executable", "sources"]

MAIN = "loop.c"
FLAGS = ("-std=gnu11", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing")
"""No fused products: commands are the Python loop's to the last bit."""
LIBRARIES = ("-ldl", "-lm")
_HERE = "franka_rt.compiled_loop"


def sources() -> dict[str, str]:
    """File name -> text of everything that is compiled."""
    files = (item for item in resources.files(_HERE).iterdir() if item.name.endswith((".c", ".h")))
    return {item.name: item.read_text(encoding="utf-8") for item in files} | {"layout.h": declarations()}


def executable() -> bytes:
    """The program for this machine. RealtimeException with the next step if it cannot be made."""
    _check_system()
    texts, toolchain = sources(), find_compiler()
    parts = [*(text for item in sorted(texts.items()) for text in item), *FLAGS, processor()]
    key = cache.digest(*(part.encode() for part in parts))
    found = cache.lookup(key)
    if found is not None and (toolchain is None or found.manifest["compiler"] == toolchain.identity):
        return found.library
    if toolchain is None:
        raise RealtimeException(
            "franka_rt: a compiled loop needs a C compiler, and there is none (cc, gcc, clang, $CC, ziglang).",
            "Install one (`pip install ziglang` is enough), or run the law with compiled=False.",
        )
    program = _compile(texts, toolchain)
    cache.store(key, Artefact(_manifest(toolchain), program, texts[MAIN]))
    return program


def _check_system() -> None:
    if not sys.platform.startswith("linux") or sys.byteorder != "little":
        text = f"franka_rt: compiled loops run on Linux with little-endian processors, not on {platform.platform()}."
        raise RealtimeException(text, "Run the law with compiled=False.")


def _compile(texts: Mapping[str, str], toolchain: Toolchain) -> bytes:
    try:
        return toolchain.program(texts, MAIN, FLAGS, LIBRARIES)
    except CompilerError as error:
        raise RealtimeException(f"franka_rt: the compiled loop could not be built: {error}") from error


def _manifest(toolchain: Toolchain) -> dict[str, object]:
    return {
        "interface": INTERFACE_VERSION,
        "name": "compiled_loop",
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_features": toolchain.features(),
        "compiler": toolchain.identity,
    }
