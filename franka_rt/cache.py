"""Compiled kernels and programs kept in the user's cache directory, so that the second start compiles nothing.

`$FRANKA_JAX_CACHE`, else `$XDG_CACHE_HOME/franka_jax`, else `~/.cache/franka_jax`. A key names everything a kernel
depends on; files appear in one step, so processes that compile the same kernel at once only do the work twice. A
damaged file is a file that is not there.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path

from franka_rt.artefact import Artefact, KernelException, read, write
from franka_rt.toolchain import FLAGS, Toolchain, processor


def cache_directory() -> Path:
    """Where compiled kernels are kept."""
    own = os.environ.get("FRANKA_JAX_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "franka_jax"


def cache_key(content: bytes, toolchain: Toolchain, optimize: str) -> str:
    """Key of a kernel: what it computes, who compiles it, for which processor."""
    cpu = processor() if toolchain.cpu == "native" else toolchain.cpu
    parts = [content, toolchain.identity.encode(), cpu.encode(), optimize.encode(), " ".join(FLAGS).encode()]
    return digest(*parts)


def digest(*parts: bytes) -> str:
    """One key from several parts, whose borders count."""
    joint = hashlib.sha256()
    for part in parts:
        joint.update(hashlib.sha256(part).digest())
    return joint.hexdigest()


def lookup(key: str) -> Artefact | None:
    """The kernel of this key, if there is one that loads here."""
    path = cache_directory() / f"{key}.kernel"
    try:
        return read(path) if path.exists() else None
    except KernelException:
        return None


def store(key: str, artefact: Artefact) -> None:
    """Keep a kernel; a cache that cannot be written is no reason to fail, only to say so."""
    directory = cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write(directory / f"{key}.kernel", artefact)
    except (OSError, KernelException) as error:
        warnings.warn(
            f"compiled kernels cannot be cached ({error}); they are compiled again at every start", stacklevel=3
        )
