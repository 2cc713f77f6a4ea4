"""Model: the arm's kinematics and dynamics over an explicit backend, with a state or with q as the argument.

Backends are objects with the calls of ``franka_jax.Model``:

- ``franka_jax.compile_model(...)``, compiled kernels: what ``robot.load_model()`` gives;
- :class:`JaxBackend`, the pure JAX model behind numpy arrays, slow, for comparison;
- :class:`franka_rt.model_library.ModelLibrary`, the shared object of a FER.

In state form q, dq, F_T_EE, EE_T_K, the payload (m_total, F_x_Ctotal, I_total) and, for gravity, O_ddP_O are taken from
the state as libfranka does. In q form nothing is remembered: without a payload there is none. All results are fresh,
writable float64 arrays in C order.
"""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from franka_rt.errors import InvalidArgumentException, InvalidOperationException
from franka_rt.frames import FRAMES, frame_name
from franka_rt.model_backend import GRAVITY_EARTH, JaxBackend, ModelBackend, Payload, Quantities
from franka_rt.state import RobotState
from franka_rt.state_call import StateCall, write_into
from franka_rt.velocity_envelope import robot_name

if TYPE_CHECKING:
    from franka_rt.robot_models import RobotModels

__all__ = ["FRAMES", "JaxBackend", "Model", "ModelBackend", "Payload", "Quantities", "load_model"]

_MOBILE = "tmr"
_END_EFFECTOR = "end_effector"
_READY = (
    *((name, _END_EFFECTOR) for name in ("pose", "zero_jacobian", "body_jacobian")),
    *((name, None) for name in ("mass", "coriolis", "gravity")),
)
"""(call, frame) of the kernels that a robot's model comes with, so that no control loop waits for a compiler."""


class Model:
    """The model of an arm. ``model.mass(state)`` or ``model.mass(q, payload)``, likewise for every call.

    Args:
        backend: see the module.
        robot: "fer" or "fr3", for messages.

    Raises InvalidArgumentException for an unknown frame, listing the ten; the backend judges shapes.
    """

    def __init__(self, backend: ModelBackend, robot: str = "") -> None:
        self.backend = backend
        self.robot = robot
        self._tool: tuple[bytes, np.ndarray, np.ndarray] | None = None
        self._load: tuple[bytes, Payload] | None = None
        self._kernel = getattr(backend, "kernel", None)
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"<Model {self.robot} on {type(self.backend).__name__}>"

    def pose(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(4,4) pose of a frame in the base, m."""
        if call := self._call_on("pose", q, frame, F_T_EE, EE_T_K):
            return call.one(q)
        return self.backend.pose(frame_name(frame), *self._configuration(q, F_T_EE, EE_T_K))

    def body_jacobian(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(6,7) Jacobian of the frame's origin in the frame's axes, linear rows first."""
        if call := self._call_on("body_jacobian", q, frame, F_T_EE, EE_T_K):
            return call.one(q)
        return self.backend.body_jacobian(frame_name(frame), *self._configuration(q, F_T_EE, EE_T_K))

    def zero_jacobian(self, frame: Any, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(6,7) Jacobian of the frame's origin in base axes, linear rows first."""
        if call := self._call_on("zero_jacobian", q, frame, F_T_EE, EE_T_K):
            return call.one(q)
        return self.backend.zero_jacobian(frame_name(frame), *self._configuration(q, F_T_EE, EE_T_K))

    def mass(self, q: Any, payload: Any = None) -> np.ndarray:
        """(7,7) mass matrix, kg m^2."""
        if call := self._call_on("mass", q, ..., payload):
            return call.one(q)
        load = self._load_for(q, payload)
        return self.backend.mass(q.q if isinstance(q, RobotState) else q, load)

    def coriolis(self, q: Any, dq: Any = None, payload: Any = None) -> np.ndarray:
        """(7,) Coriolis and centrifugal torques, Nm: ``coriolis(state)`` or ``coriolis(q, dq, payload)``."""
        if call := self._call_on("coriolis", q, ..., payload):
            return call.one(q)
        load = self._load_for(q, payload)
        return self.backend.coriolis(*((q.q, q.dq) if isinstance(q, RobotState) else (q, dq)), load)

    def gravity(self, q: Any, payload: Any = None, gravity_earth: Any = None) -> np.ndarray:
        """(7,) torques that hold the arm against gravity, Nm.

        ``gravity(state)`` uses the state's O_ddP_O as it is, with a warning if that is zero; otherwise
        ``gravity_earth`` (3,) m/s^2 in base axes, (0, 0, -9.81) if not given.
        """
        if call := self._call_on("gravity", q, ..., payload):
            _warn_if_weightless(q, gravity_earth)
            return call.one(q, gravity_earth)
        load = self._load_for(q, payload)
        if isinstance(q, RobotState):
            _warn_if_weightless(q, gravity_earth)
            return self.backend.gravity(q.q, load, q.O_ddP_O if gravity_earth is None else gravity_earth)
        return self.backend.gravity(q, load, GRAVITY_EARTH if gravity_earth is None else gravity_earth)

    def evaluate(self, state: RobotState, gravity_earth: Any = None, out: Any = None) -> Any:
        """All quantities of the end effector frame at once; one kernel call on the compiled backend.

        ``out``, an earlier result, is filled again there, so that nothing is allocated.
        """
        _warn_if_weightless(state, gravity_earth)
        if call := self._call_on("evaluate", state, ...):
            results = call.all(state, gravity_earth, out)
            return Quantities(*results) if out is None else out
        vector = state.O_ddP_O if gravity_earth is None else gravity_earth
        q, F_T_EE, EE_T_K = self._configuration(state, None, None)
        together: Any = getattr(self.backend, "evaluate", None)
        if together is not None:
            return together(q, state.dq, self._payload(state), F_T_EE, EE_T_K, vector, out=out)
        results = Quantities(
            self.pose(_END_EFFECTOR, state),
            self.zero_jacobian(_END_EFFECTOR, state),
            self.mass(state),
            self.coriolis(state),
            self.gravity(state, gravity_earth=vector),
        )
        return results if out is None else write_into(out, results)

    def _call_on(self, name: str, state: Any, frame: Any, *given: Any) -> StateCall | None:
        """This thread's call for states; None if it is not one of a compiled backend on a state alone.

        ``frame`` is ... for the calls that take none.
        """
        if type(state) is not RobotState or self._kernel is None or any(x is not None for x in given):
            return None
        try:
            return self._local.calls[name, frame]
        except (AttributeError, KeyError, TypeError):  # the first time, or not hashable and no frame
            key = None if frame is ... else frame_name(frame)
            calls = self._local.__dict__.setdefault("calls", {})
            calls[name, frame] = call = StateCall(name, self._kernel(name, key), self._load_numbers)
            return call

    def _load_numbers(self, state: RobotState) -> tuple[float, np.ndarray, np.ndarray]:
        return state.m_total, state.F_x_Ctotal, state.I_total

    def _configuration(self, q: Any, F_T_EE: Any, EE_T_K: Any) -> tuple[Any, Any, Any]:
        if not isinstance(q, RobotState):
            return q, F_T_EE, EE_T_K
        own_F_T_EE, own_EE_T_K = self._frames(q)
        return q.q, own_F_T_EE if F_T_EE is None else F_T_EE, own_EE_T_K if EE_T_K is None else EE_T_K

    def _frames(self, state: RobotState) -> tuple[np.ndarray, np.ndarray]:
        """F_T_EE and EE_T_K of a state; kept as long as their bytes are the same."""
        key, known = state.setup_bytes, self._tool
        if known is None or key is None or known[0] != key:
            known = (key or b"", state.F_T_EE, state.EE_T_K)
            self._tool = known if key else None
        return known[1], known[2]

    def _load_for(self, q: Any, payload: Any) -> Any:
        """The payload that was given (a state stands for its load), else that of the state, else none."""
        source = payload if payload is not None else q
        return self._payload(source) if isinstance(source, RobotState) else payload

    def _payload(self, state: RobotState) -> Payload | None:
        """End effector and load of a state as one body; kept as long as their bytes are the same."""
        key, known = state.setup_bytes, self._load
        if known is None or key is None or known[0] != key:
            known = (key or b"", Payload(state.m_total, state.F_x_Ctotal, state.I_total))
            self._load = known if key else None
        return known[1]


def _warn_if_weightless(state: RobotState, gravity_earth: Any) -> None:
    """If the state's gravity vector is used and zero."""
    if gravity_earth is None and not any(state.numbers("O_ddP_O")):
        text = "state.O_ddP_O is zero, so gravity is zero; pass gravity_earth=(0, 0, -9.81) to model.gravity()."
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def jax_model(robot: RobotModels) -> Any:
    """The ``franka_jax.Model`` of a connected arm: from its URDF where it serves one, else this project's own FER.

    InvalidOperationException for a mobile robot, as libfranka.
    """
    import jax

    import franka_jax

    with jax.enable_x64(True):
        if not robot.serves_urdf:
            return franka_jax.fer()
        urdf = robot.get_robot_model()
        if robot_name(urdf).startswith(_MOBILE):
            raise InvalidOperationException(
                "libfranka: loadModel() is not available for mobile robots. Use franka::MobileModel with the URDF from "
                "getRobotModel() instead.",
                "This package models arms only.",
            )
        return franka_jax.Model.from_urdf(urdf)


def load_model(robot: RobotModels, backend: str = "compiled") -> Model:
    """The model of a connected arm on "compiled" kernels or pure "jax"; takes up to seconds, not for a control loop.

    Kernels of the dynamics and of the end effector frame are ready afterwards. Those of other frames are compiled when
    they are first called, those of "jax" all: call them once before a motion.
    """
    if backend not in ("compiled", "jax"):
        raise InvalidArgumentException(f'franka_rt: there is no backend {backend!r}; it is "compiled" or "jax".')
    model = jax_model(robot)
    if backend == "jax":
        return Model(JaxBackend(model), robot.dialect.robot)
    from franka_jax import compile_model

    compiled = compile_model(model)
    for name, frame in _READY:
        compiled.kernel(name, frame)
    return Model(compiled, robot.dialect.robot)
