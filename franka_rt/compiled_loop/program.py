"""What is compiled from the C files, once per source, compiler and processor, then taken from the user's cache.

That is the program, and the library with one cycle for the Python loop. Without a compiler one that is in the cache
already is used.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from franka_rt import cache
from franka_rt.artefact import INTERFACE_VERSION, Artefact, open_library
from franka_rt.compiled_loop.memory import declarations
from franka_rt.errors import RealtimeException
from franka_rt.toolchain import CompilerError, Toolchain, find_compiler, processor

__all__ = ["FLAGS", "MAIN", "cycle_library", "executable", "sources"]

MAIN, _CYCLE = "loop.c", "cycle.c"
FLAGS = ("-std=gnu11", "-O2", "-fno-fast-math", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing")
"""No fused products: commands are the Python loop's to the last bit; and numbers that are not finite are seen."""
_SHARED = ("-shared", "-fPIC", "-fvisibility=hidden")
LIBRARIES = ("-ldl", "-lm")
_HERE = "franka_rt.compiled_loop"


def sources() -> dict[str, str]:
    """File name -> text of everything that is compiled."""
    files = (item for item in resources.files(_HERE).iterdir() if item.name.endswith((".c", ".h")))
    return {item.name: item.read_text(encoding="utf-8") for item in files} | {"layout.h": declarations()}


def executable() -> bytes:
    """The program for this machine. RealtimeException with the next step if it cannot be made."""
    return _built(MAIN, FLAGS)


@lru_cache
def cycle_library() -> ctypes.PyDLL:
    """The library with one cycle, loaded. RealtimeException if it cannot be made, KernelException if not loaded."""
    library = open_library(_built(_CYCLE, (*FLAGS, *_SHARED)), "the control cycle's library")
    return ctypes.PyDLL(library._name, handle=library._handle)


def _built(main: str, flags: tuple[str, ...]) -> bytes:
    _check_system()
    texts, toolchain = sources(), find_compiler()
    parts = [main, *(text for item in sorted(texts.items()) for text in item), *flags, processor()]
    key = cache.digest(*(part.encode() for part in parts))
    found = cache.lookup(key)
    if found is not None and (toolchain is None or found.manifest["compiler"] == toolchain.identity):
        return found.library
    if toolchain is None:
        raise RealtimeException(
            "franka_rt: a compiled loop needs a C compiler, and there is none (cc, gcc, clang, $CC, ziglang).",
            "Install one (`pip install ziglang` is enough), or run the law with compiled=False.",
        )
    binary = _compile(texts, toolchain, main, flags)
    cache.store(key, Artefact(_manifest(toolchain), binary, texts[main]))
    return binary


def _check_system() -> None:
    if not sys.platform.startswith("linux") or sys.byteorder != "little":
        text = f"franka_rt: compiled loops run on Linux with little-endian processors, not on {platform.platform()}."
        raise RealtimeException(text, "Run the law with compiled=False.")


def _compile(texts: Mapping[str, str], toolchain: Toolchain, main: str, flags: tuple[str, ...]) -> bytes:
    try:
        return toolchain.program(texts, main, flags, LIBRARIES)
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
