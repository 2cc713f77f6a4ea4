"""The file of a compiled kernel: one self-describing container, checked before anything in it is executed.

    offset  bytes  content (integers little-endian)
    0       8      magic b"FRKAKRNL"
    8       4      version of this container
    12      4      length of the manifest
    16      8      length of the shared object
    24      8      length of the C text, zlib-compressed
    32      32     SHA-256 of everything after this header
    64             manifest (JSON, UTF-8), shared object, C text

The manifest and the shared object's entry points are described in docs/kernels.md. The checksum finds damage, it is no
signature: a kernel is a program, load only those whose origin you trust.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import platform
import struct
import tempfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

MAGIC = b"FRKAKRNL"
CONTAINER_VERSION = 1
#: Newest binary interface (docs/kernels.md) that this package can call.
INTERFACE_VERSION = 1
_HEADER = struct.Struct("<8sIIQQ32s")


class KernelException(Exception):
    """A kernel cannot be loaded, saved or called; the text says why and what to do."""


class Artefact(NamedTuple):
    """What a kernel file holds."""

    manifest: dict[str, Any]
    library: bytes
    source: str


def to_bytes(artefact: Artefact) -> bytes:
    """The container as bytes."""
    manifest = json.dumps(artefact.manifest, separators=(",", ":")).encode()
    parts = (manifest, artefact.library, zlib.compress(artefact.source.encode(), 1))
    body = b"".join(parts)
    digest = hashlib.sha256(body).digest()
    return _HEADER.pack(MAGIC, CONTAINER_VERSION, *map(len, parts), digest) + body


def from_bytes(data: bytes, origin: str) -> Artefact:
    """The content of a container; `origin` names it in errors.

    Raises:
        KernelException: not a kernel, truncated, damaged, newer than this package, or for another machine.
    """
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        short = MAGIC.startswith(data[: len(MAGIC)]) and len(data) < _HEADER.size
        raise KernelException(f"{origin} is {'truncated' if short else 'not a compiled kernel'}")
    _, version, n_manifest, n_library, n_source, digest = _HEADER.unpack_from(data)
    if version > CONTAINER_VERSION:
        raise KernelException(
            f"{origin} was written by a newer version (container {version}, this package reads {CONTAINER_VERSION}): "
            "update this package or compile the kernel again"
        )
    expected = _HEADER.size + n_manifest + n_library + n_source
    if len(data) != expected:
        raise KernelException(f"{origin} is truncated or damaged: {len(data)} bytes instead of {expected}")
    body = data[_HEADER.size :]
    if hashlib.sha256(body).digest() != digest:
        raise KernelException(f"{origin} is damaged: its checksum is wrong")
    manifest = json.loads(body[:n_manifest])
    _check_machine(manifest, origin)
    library = body[n_manifest : n_manifest + n_library]
    return Artefact(manifest, library, zlib.decompress(body[n_manifest + n_library :]).decode())


def read(path: str | os.PathLike[str]) -> Artefact:
    """The content of a kernel file.

    Raises:
        KernelException: the file cannot be read, or for a reason of `from_bytes`.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise KernelException(f"the kernel {os.fspath(path)} cannot be read: {error.strerror or error}") from error
    return from_bytes(data, os.fspath(path))


def write(path: str | os.PathLike[str], artefact: Artefact) -> None:
    """Write a kernel file in one step: a reader sees the old file or the new one.

    Raises:
        KernelException: the file cannot be written.
    """
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise KernelException(f"the kernel {target} cannot be written: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(to_bytes(artefact))
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise KernelException(f"the kernel {target} cannot be written: {error.strerror or error}") from error


def _check_machine(manifest: dict[str, Any], origin: str) -> None:
    if manifest["interface"] > INTERFACE_VERSION:
        raise KernelException(
            f"{origin} has binary interface {manifest['interface']}, this package calls up to {INTERFACE_VERSION}: "
            "update this package or compile the kernel again"
        )
    built, here = (manifest["system"], manifest["machine"]), (platform.system(), platform.machine())
    if built != here:
        raise KernelException(f"{origin} was compiled for {' '.join(built)}, this is {' '.join(here)}: compile it here")
    missing = sorted(set(manifest["cpu_features"]) - cpu_features())
    if missing:
        raise KernelException(
            f"{origin} needs CPU features that this machine lacks ({', '.join(missing)}): compile it here, or with "
            "cpu='x86-64-v3' for machines with AVX2, cpu='x86-64' for all"
        )


@cache
def cpu_features() -> frozenset[str]:
    """Names of this machine's CPU features, as in /proc/cpuinfo; empty where there is no such list."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    flags = next((line for line in lines if line.split(":")[0].strip() in ("flags", "Features")), ":")
    return frozenset(flags.split(":", 1)[1].split())


def open_library(library: bytes, origin: str) -> ctypes.CDLL:
    """Load a shared object through a temporary file, which is gone afterwards.

    Raises:
        KernelException: the system's loader refuses it.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="kernel_") as folder:  # a fresh name: the loader knows files by name
            path = Path(folder, "kernel.so")
            path.write_bytes(library)
            return ctypes.CDLL(str(path))
    except OSError as error:
        raise KernelException(
            f"{origin} cannot be loaded: {error} (where programs may not run from the temporary directory, set TMPDIR)"
        ) from error
