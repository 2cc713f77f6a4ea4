"""`compile_model`: the model's calls as compiled kernels, NumPy in and out, about a microsecond each."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from franka_jax.aot import CompiledKernel, XlaKernel, compile_function
from franka_jax.calls import ARGUMENTS, NEEDS_FRAME, Quantities, example_arguments, pure_call
from franka_jax.compiled_call import CompiledCall
from franka_jax.frames import Frame
from franka_jax.model import GRAVITY_EARTH, Model
from franka_jax.payload import Payload

Kernel = CompiledKernel | XlaKernel


def compile_model(model: Model, cpu: str = "native", calls: Sequence[str] = ("evaluate",)) -> CompiledModel:
    """Compile a model's calls to machine code; kernels are cached, so that a second start takes milliseconds.

    Args:
        model: any model; its numbers become constants of the kernels.
        cpu: "native", or a processor the C compiler knows ("x86-64-v3") when kernels are saved for another machine.
        calls: which calls to compile now ("mass", "pose:flange", ...); the others are compiled when they are first
            used, which takes up to seconds and does not belong into a control loop.

    Without a C compiler everything runs on XLA (`backend == "xla"`), and a warning says so.
    """
    return CompiledModel(model, cpu).prepare(*calls)


class Evaluation(Quantities):
    """The five quantities of one state or of many, as fresh, writable arrays with the leading axes of the states.

    `O_T_EE` (..., 4, 4), `zero_jacobian` (..., 6, 7), `mass` (..., 7, 7), `coriolis` (..., 7), `gravity` (..., 7).
    Given back as `out`, the next evaluation is written into the same arrays.
    """

    _owner: Any = None
    _run: Any = None

    def _bind(self, owner: CompiledCall) -> Any:
        """The function that evaluates one state into these arrays, which are views of one block."""
        self._owner, self._run = owner, owner.into(self.mass.base)
        return self._run

    def __repr__(self) -> str:
        with np.printoptions(precision=4, suppress=True):
            return "\n".join(f"{name} =\n{getattr(self, name)}" for name in self._fields)


class CompiledModel:
    """The calls of `Model` with NumPy arrays in and out; arguments, units and axes are the same.

    Differences: every argument may have leading axes, which the result then has too ((N, 7) in, (N, 7, 7) out), and
    results are ordinary writable arrays. Calls from several threads are safe. A configuration that is not finite gives
    results that are not finite.

    Raises (every call): ValueError for wrong shapes, TypeError for what is not real numbers.
    """

    def __init__(self, model: Model, cpu: str = "native") -> None:
        with jax.enable_x64(True):
            self.model: Model = jax.tree.map(lambda x: jax.numpy.asarray(x, np.float64), model)
        self._cpu = cpu
        self._content = _content_of(self.model)
        self._calls: dict[str, CompiledCall] = {}
        self._evaluate_call: CompiledCall | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"CompiledModel({self.model!r}, backend={self.backend!r}, compiled={sorted(self._calls)})"

    @property
    def backend(self) -> str:
        """ "c", or "xla" without a C compiler."""
        return self._call("evaluate").kernel.backend

    def prepare(self, *calls: str) -> CompiledModel:
        """Compile these calls now: "evaluate", names of `Model`'s calls, or of a call for one frame: "pose:flange"."""
        for call in calls:
            name, _, frame = call.partition(":")
            frames = [Frame.of(frame)] if frame else list(Frame) if name in NEEDS_FRAME else [None]
            for each in frames:
                self._call(name, each)
        return self

    def kernel(self, name: str, frame: Frame | str | None = None) -> Kernel:
        """The kernel behind a call: `jax` for use inside `jit` and `vmap`, `save` for `franka_rt.kernel.load`.

        Its arguments are those of the call, none left out: transforms (4, 4), payloads as `Payload`.
        """
        return self._call(name, None if frame is None else Frame.of(frame)).kernel

    def _call(self, name: str, frame: Frame | None = None) -> CompiledCall:
        key = name if frame is None else f"{name}:{frame.value}"
        found = self._calls.get(key)
        if found is not None:
            return found
        if name not in ARGUMENTS:
            raise ValueError(f"there is no call {name!r}; the calls are {', '.join(ARGUMENTS)}")
        if (frame is None) == (name in NEEDS_FRAME):
            raise ValueError(f"the call {name!r} takes {'a' if frame is None else 'no'} frame")
        with self._lock:
            if key not in self._calls:
                function = pure_call(self.model, name, frame)
                content = f"{self._content} {key}"
                kernel = compile_function(function, *example_arguments(name), cpu=self._cpu, content_key=content)
                self._calls[key] = CompiledCall(name, kernel)
                self._evaluate_call = self._calls.get("evaluate")
        return self._calls[key]

    # kinematics -----------------------------------------------------------------------------------------------------

    def pose(self, frame: Frame | str, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """O_T_X, (..., 4, 4), m."""
        return self._call("pose", Frame.of(frame))(q, F_T_EE, EE_T_K)

    def zero_jacobian(self, frame: Frame | str, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(..., 6, 7), base axes, linear rows first."""
        return self._call("zero_jacobian", Frame.of(frame))(q, F_T_EE, EE_T_K)

    def body_jacobian(self, frame: Frame | str, q: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(..., 6, 7), the frame's own axes, linear rows first."""
        return self._call("body_jacobian", Frame.of(frame))(q, F_T_EE, EE_T_K)

    def jacobian_dot(self, frame: Frame | str, q: Any, dq: Any, F_T_EE: Any = None, EE_T_K: Any = None) -> np.ndarray:
        """(..., 6, 7), time derivative of the zero Jacobian along dq."""
        return self._call("jacobian_dot", Frame.of(frame))(q, dq, F_T_EE, EE_T_K)

    # dynamics -------------------------------------------------------------------------------------------------------

    def mass(self, q: Any, payload: Payload | None = None) -> np.ndarray:
        """(..., 7, 7), kg m^2."""
        return self._call("mass")(q, payload)

    def coriolis(self, q: Any, dq: Any, payload: Payload | None = None) -> np.ndarray:
        """(..., 7), N m."""
        return self._call("coriolis")(q, dq, payload)

    def gravity(self, q: Any, payload: Payload | None = None, gravity_earth: Any = GRAVITY_EARTH) -> np.ndarray:
        """(..., 7), N m."""
        return self._call("gravity")(q, payload, gravity_earth)

    def inverse_dynamics(
        self, q: Any, dq: Any, ddq: Any, payload: Payload | None = None, gravity_earth: Any = GRAVITY_EARTH
    ) -> np.ndarray:
        """(..., 7), N m."""
        return self._call("inverse_dynamics")(q, dq, ddq, payload, gravity_earth)

    def forward_dynamics(
        self, q: Any, dq: Any, tau: Any, payload: Payload | None = None, gravity_earth: Any = GRAVITY_EARTH
    ) -> np.ndarray:
        """(..., 7), rad/s^2."""
        return self._call("forward_dynamics")(q, dq, tau, payload, gravity_earth)

    def coriolis_matrix(self, q: Any, dq: Any, payload: Payload | None = None) -> np.ndarray:
        """(..., 7, 7)."""
        return self._call("coriolis_matrix")(q, dq, payload)

    def regressor(self, q: Any, dq: Any, ddq: Any, gravity_earth: Any = GRAVITY_EARTH) -> np.ndarray:
        """(..., 7, 70)."""
        return self._call("regressor")(q, dq, ddq, gravity_earth)

    def mass_regressor(self, q: Any) -> np.ndarray:
        """(..., 7, 7, 70)."""
        return self._call("mass_regressor")(q)

    # all at once ----------------------------------------------------------------------------------------------------

    def evaluate(
        self,
        q: Any,
        dq: Any,
        payload: Payload | None = None,
        F_T_EE: Any = None,
        EE_T_K: Any = None,
        gravity_earth: Any = GRAVITY_EARTH,
        out: Evaluation | None = None,
        threads: int = 1,
    ) -> Evaluation:
        """Pose, zero Jacobian, mass, Coriolis and gravity of the end effector in one kernel call.

        Args:
            q: (..., 7) rad.
            dq: (..., 7) rad/s.
            payload, F_T_EE, EE_T_K, gravity_earth: as for `Model`; None is no payload and the identity.
            out: an earlier result for the same leading axes: written again and returned, nothing is allocated. It
                belongs to one thread at a time.
            threads: how many share a batch.
        """
        call = self._evaluate_call or self._call("evaluate")
        if out is None:
            arrays = call.one((q, dq, payload, F_T_EE, EE_T_K, gravity_earth))
            if arrays is not None:
                return Evaluation(*arrays)
            return Evaluation(*call.many((q, dq, payload, F_T_EE, EE_T_K, gravity_earth), None, threads))
        if out.mass.ndim == 2:
            run = out._run if out._owner is call else out._bind(call)
            if run(q, dq, payload, F_T_EE, EE_T_K, gravity_earth):
                return out
        call.many((q, dq, payload, F_T_EE, EE_T_K, gravity_earth), out, threads)
        return out

    def evaluate_chunks(
        self, q: Any, dq: Any, size: int = 65536, threads: int = 1, **options: Any
    ) -> Iterator[tuple[slice, Evaluation]]:
        """`evaluate` of very many states with bounded memory: yields (slice of the states, their results).

        The arrays of the results are used again for the next chunk. 65536 states take 64 MB.
        """
        q, dq = np.asarray(q), np.asarray(dq)
        result: Evaluation | None = None
        for start in range(0, len(q), size):
            part = slice(start, min(start + size, len(q)))
            reusable = result if result is not None and len(result.mass) == part.stop - start else None
            result = self.evaluate(q[part], dq[part], **options, out=reusable, threads=threads)
            yield part, result


def _content_of(model: Model) -> str:
    """A hash of everything a model's kernels depend on: its numbers and its static parts."""
    leaves, structure = jax.tree.flatten(model)
    digest = hashlib.sha256(repr(structure).encode())
    for leaf in leaves:
        digest.update(np.asarray(leaf).tobytes())
    return digest.hexdigest()
