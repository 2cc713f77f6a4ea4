"""A FER's own model library: a shared object on disk, called through ctypes.

An FER serves it over FCI version 5 (the command LoadModelLibrary). It holds thirty C functions of double arrays,
column-major, the result last (libfranka's header libfcimodels.h):

    M_NE(q[7], I_load[9], m_load, F_x_Cload[3], M[49])          mass matrix
    c_NE(q[7], dq[7], I_load[9], m_load, F_x_Cload[3], c[7])    Coriolis and centrifugal torques
    g_NE(q[7], g_earth[3], m_load, F_x_Cload[3], g[7])          gravity torques
    O_T_J1 ... O_T_J8(q[7], T[16]), O_T_J9(q, F_T_EE[16], T)    poses; Ji_J_J1 ... 9, O_J_J1 ... 9 Jacobians

Opening it EXECUTES THE ROBOT'S CODE in this process, so it asks for `execute=True`.
"""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from franka_jax import Frame, Payload

FUNCTIONS = (
    *(f"{kind}_J{k}" for kind in ("O_T", "Ji_J", "O_J") for k in range(1, 10)),
    "M_NE",
    "c_NE",
    "g_NE",
)
"""The thirty functions of the library."""


class LibraryError(ValueError):
    """A shared object that cannot be used as a robot's model library; one sentence says why."""


class SharedObject:
    """The calls of a robot's model library, with the names and arguments of `franka_jax.Model`.

    Args:
        path: the shared object, built for this machine.
        execute: must be True; loading runs code that a robot served.

    Raises LibraryError if `execute` is not True, the file cannot be loaded, or one of the thirty functions lacks.
    """

    def __init__(self, path: str | Path, execute: bool = False):
        self.path = Path(path)
        if execute is not True:
            raise LibraryError(f"loading {self.path} executes the robot's code: say execute=True if you trust it")
        try:
            # The library calls sin and cos without naming libm as its dependency.
            ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
            self._library = ctypes.CDLL(str(self.path.resolve()))
        except OSError as error:
            raise LibraryError(f"{self.path} cannot be loaded: {error}") from None
        missing = [name for name in FUNCTIONS if not hasattr(self._library, name)]
        if missing:
            raise LibraryError(f"{self.path} lacks {len(missing)} of the thirty functions: {', '.join(missing[:5])}")

    def pose(self, frame: Frame | str, q: Any) -> Float[np.ndarray, "4 4"]:
        """O_T_X of joint1 ... joint7 or the flange, m."""
        number = 8 if Frame.of(frame) is Frame.FLANGE else Frame.of(frame).link + 1
        return self._call(f"O_T_J{number}", 16, _vector(q, 7)).reshape(4, 4).T

    def mass(self, q: Any, payload: Payload | None = None) -> Float[np.ndarray, "7 7"]:
        """Mass matrix, kg m^2."""
        return self._call("M_NE", 49, _vector(q, 7), *_load(payload)).reshape(7, 7).T

    def coriolis(self, q: Any, dq: Any, payload: Payload | None = None) -> Float[np.ndarray, "7"]:
        """Coriolis and centrifugal torques, N m."""
        return self._call("c_NE", 7, _vector(q, 7), _vector(dq, 7), *_load(payload))

    def gravity(self, q: Any, payload: Payload | None = None, gravity_earth: Any = (0, 0, -9.81)):
        """Torques (7,) that hold the arm against `gravity_earth`, N m."""
        return self._call("g_NE", 7, _vector(q, 7), _vector(gravity_earth, 3), *_load(payload)[1:])

    def __repr__(self) -> str:
        return f"SharedObject({str(self.path)!r})"

    def _call(self, name: str, size: int, *inputs: np.ndarray | float) -> np.ndarray:
        result = np.zeros(size)
        function = getattr(self._library, name)
        function.restype = None
        function(*(_argument(x) for x in (*inputs, result)))
        return result


def _argument(x: np.ndarray | float) -> Any:
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) if isinstance(x, np.ndarray) else ctypes.c_double(x)


def _vector(x: Any, n: int) -> np.ndarray:
    value = np.ascontiguousarray(x, dtype=np.float64)
    if value.shape != (n,):
        raise ValueError(f"a vector of {n} numbers is needed, not of shape {value.shape}")
    return value


def _load(payload: Payload | None) -> tuple[np.ndarray, float, np.ndarray]:
    """I_load column-major, m_load, F_x_Cload."""
    p = Payload.none() if payload is None else payload
    tensor = np.asarray(p.I_total, np.float64).ravel(order="F")
    return np.ascontiguousarray(tensor), float(p.m_total), _vector(p.F_x_Ctotal, 3)
