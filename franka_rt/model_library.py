"""The model of a FER as the shared object that the robot serves over FCI version 5: thirty C functions behind ctypes.

**Loading executes the robot's code in this process.** It is never done unless asked for, and the environment variable
``FRANKA_RT_MODEL_LIBRARY=off`` forbids it. The functions (model of the FCI, section 4.1) take column-major arrays; J8
is the flange, J9 the end effector, and for the stiffness frame J9 is given F_T_EE EE_T_K::

    O_T_J1 ... J8(q, out)        O_T_J9(q, F_T_EE, out)          pose, 16
    Ji_J_J1(out), J2 ... J8(q, out), J9(q, F_T_EE, out)          body Jacobian, 42
    O_J_J1(out),  J2 ... J8(q, out), J9(q, F_T_EE, out)          zero Jacobian, 42
    M_NE(q, I_load, m_load, F_x_Cload, out)                      mass matrix, 49
    c_NE(q, dq, I_load, m_load, F_x_Cload, out)                  Coriolis torques, 7
    g_NE(q, g_earth, m_load, F_x_Cload, out)                     gravity torques, 7

libfranka passes m_total, F_x_Ctotal and I_total where the names say load; so does this module.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import platform
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from franka_rt import checks
from franka_rt.errors import InvalidOperationException, ModelException
from franka_rt.frames import FRAMES, frame_name

__all__ = ["SYMBOLS", "ModelLibrary", "check_allowed", "machine"]

SWITCH = "FRANKA_RT_MODEL_LIBRARY"
SYMBOLS = (
    *(f"{kind}_J{i}" for kind in ("O_T", "Ji_J", "O_J") for i in range(1, 10)),
    "M_NE",
    "c_NE",
    "g_NE",
)
_ARCHITECTURES = {"x86_64": 0, "amd64": 0, "i386": 1, "i686": 1, "arm": 2, "armv7l": 2, "aarch64": 3, "arm64": 3}
_SYSTEMS = {"Linux": 0, "Windows": 1}
_EMPTY = (0.0, np.zeros(3), np.zeros((3, 3)))


def check_allowed() -> None:
    """InvalidOperationException if the environment forbids loading model libraries."""
    if os.environ.get(SWITCH, "").lower() in ("off", "0", "no", "false"):
        raise InvalidOperationException(f"franka_rt: {SWITCH}=off forbids loading a model library of the robot.")


def machine() -> dict[str, int]:
    """Architecture and system of this machine as LoadModelLibrary asks for them; ModelException if it has no number."""
    architecture, system = _ARCHITECTURES.get(platform.machine().lower()), _SYSTEMS.get(platform.system())
    if architecture is None:
        raise ModelException("libfranka: Unsupported architecture!")
    if system is None:
        raise ModelException("libfranka: Unsupported operating system!")
    return {"architecture": architecture, "system": system}


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _flat(value: Any) -> np.ndarray:
    """Column-major float64 numbers of a vector or matrix."""
    return np.ascontiguousarray(np.asarray(value, dtype=np.float64).T).ravel()


class ModelLibrary:
    """A loaded library, a backend for :class:`franka_rt.model.Model`. Results are fresh arrays in C order.

    Raises ModelException with libfranka's sentence if the file is no loadable library or lacks a symbol. Its calls
    raise InvalidArgumentException for arrays of the wrong shape and numbers that are not finite.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        check_allowed()
        libm = ctypes.util.find_library("m")
        if libm is not None:
            ctypes.CDLL(libm, ctypes.RTLD_GLOBAL)  # the robot's library expects it in the process
        try:
            self._library = ctypes.CDLL(os.fspath(path))
        except OSError as error:
            raise ModelException(f"libfranka: Cannot load model library: {error}") from None
        self._functions = {name: self._bind(name) for name in SYMBOLS}

    @classmethod
    def from_bytes(cls, data: bytes) -> ModelLibrary:
        """Load a library from memory, through a file that only this user can read and that is gone afterwards."""
        check_allowed()
        folder = tempfile.mkdtemp(prefix="franka_model_")
        try:
            path = Path(folder) / "model.so"
            _write_private(path, data)
            return cls(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _bind(self, name: str) -> Any:
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise ModelException(f"libfranka: Symbol cannot be found: {name}") from None
        function.restype = None
        return function

    def _call(self, name: str, size: int, *arguments: Any) -> np.ndarray:
        out = np.zeros(size)
        arrays = [a if isinstance(a, ctypes.c_double) else _flat(a) for a in arguments]
        self._functions[name](*(a if isinstance(a, ctypes.c_double) else _address(a) for a in arrays), _address(out))
        return out

    def _of_frame(self, kind: str, size: int, frame: Any, q: Any, F_T_EE: Any, EE_T_K: Any) -> np.ndarray:
        index = FRAMES.index(frame_name(frame))
        arguments = [] if index == 0 and kind != "O_T" else [checks.vector("q", q, 7)]
        if index >= 8:
            flange_to_frame = np.eye(4) if F_T_EE is None else checks.matrix("F_T_EE", F_T_EE, 4)
            if index == 9 and EE_T_K is not None:
                flange_to_frame = flange_to_frame @ checks.matrix("EE_T_K", EE_T_K, 4)
            arguments.append(flange_to_frame)
        return self._call(f"{kind}_J{min(index, 8) + 1}", size, *arguments)

    def pose(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(4,4) pose of a frame in the base, m."""
        return self._of_frame("O_T", 16, frame, q, F_T_EE, EE_T_K).reshape(4, 4).T.copy()

    def body_jacobian(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(6,7) Jacobian of the frame's origin in its own axes, linear rows first."""
        return self._of_frame("Ji_J", 42, frame, q, F_T_EE, EE_T_K).reshape(7, 6).T.copy()

    def zero_jacobian(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(6,7) Jacobian of the frame's origin in base axes, linear rows first."""
        return self._of_frame("O_J", 42, frame, q, F_T_EE, EE_T_K).reshape(7, 6).T.copy()

    def mass(self, q: Any, payload: Any = None) -> np.ndarray:
        """(7,7) mass matrix, kg m^2."""
        m, c, I = _parts(payload)
        return self._call("M_NE", 49, checks.vector("q", q, 7), I, m, c).reshape(7, 7).T.copy()

    def coriolis(self, q: Any, dq: Any, payload: Any = None) -> np.ndarray:
        """(7,) Coriolis and centrifugal torques, Nm."""
        m, c, I = _parts(payload)
        return self._call("c_NE", 7, checks.vector("q", q, 7), checks.vector("dq", dq, 7), I, m, c)

    def gravity(self, q: Any, payload: Any = None, gravity_earth: Any = (0.0, 0.0, -9.81)) -> np.ndarray:
        """(7,) torques that hold the arm against gravity, Nm."""
        m, c, _ = _parts(payload)
        return self._call("g_NE", 7, checks.vector("q", q, 7), checks.vector("gravity_earth", gravity_earth, 3), m, c)


def _parts(payload: Any) -> tuple[ctypes.c_double, Any, Any]:
    m, c, I = _EMPTY if payload is None else (payload.m_total, payload.F_x_Ctotal, payload.I_total)
    return ctypes.c_double(float(m)), checks.vector("F_x_Ctotal", c, 3), checks.matrix("I_total", I, 3)


def _write_private(path: Path, data: bytes) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        raise ModelException("libfranka: Cannot save model library.", str(error)) from None
