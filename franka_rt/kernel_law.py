"""A compiled control law as callback: the state's numbers are copied in, the kernel runs, the torques are sent.

The law is a pure JAX function of fixed shapes whose arguments say by their names what they are::

    def law(q, dq, coriolis_on, target, gains):      # state fields, then parameters
        return gains["k"] * (target - q) - gains["d"] * dq

    kernel = aot.compile_function(law, zeros, zeros, 1.0, zeros, {"k": zeros, "d": zeros})
    law = KernelLaw(kernel, coriolis_on=1.0, target=q_goal, gains={"k": k, "d": d})
    robot.control_torques(law)                       # law.set(target=...) from any thread, law.finish() ends it
    robot.control_torques(law, compiled=True)        # the same without the interpreter, docs/compiled_loop.md

Arguments named like a field of :class:`~franka_rt.RobotState` are filled from every state, ``dt`` with the seconds
since the last one. ``memory`` is what the law remembers: the result of that name goes in again in the next cycle. All
others are parameters. The results are the torques alone, or a dictionary with ``tau``, and where wanted ``memory`` and
``finished`` (not zero ends the motion). No numpy arithmetic takes place in a cycle, nothing is allocated that stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np

from franka_rt.commands import Torques
from franka_rt.errors import InvalidArgumentException, InvalidOperationException
from franka_rt.field_copies import FieldCopies
from franka_rt.law_slots import MEMORY, law_slots
from franka_rt.state import RobotState
from franka_rt.structure import flatten

__all__ = ["KernelLaw", "is_pure_law", "urdf_hash"]

Leaves = dict[int, np.ndarray]
"""Input leaves of a kernel and their values."""


class Values(NamedTuple):
    """All that was set; never changed, so that who takes it takes a whole."""

    parameters: Leaves
    memory: Leaves
    """As it was last set; the law goes on from there."""
    memory_set: int
    """How often memory was set."""

    def changed(self, parameters: Leaves, memory: Leaves) -> Values:
        """The same with these new ones, and with other memory unless that is empty."""
        return Values(self.parameters | parameters, memory or self.memory, self.memory_set + bool(memory))


class Listener(Protocol):
    """A loop outside this interpreter, which has to be told what is set and that the law shall end."""

    def change(self, values: Values) -> None:
        """Take all of these values in one cycle, memory only if it was set anew."""
        ...

    def finish(self) -> None:
        """End with the next cycle."""
        ...


def urdf_hash(urdf: str) -> str:
    """What a law remembers of the URDF that it was made for."""
    return hashlib.sha256(urdf.encode()).hexdigest()


class KernelLaw:
    """A torque callback around a kernel.

    Args:
        kernel: compiled by ``franka_jax.aot`` or loaded by ``franka_rt.kernel.load``.
        robot: "fer" or "fr3", the arm that the law is for; other arms refuse it. Empty: any.
        urdf: text of the model that the law was made with; a robot that serves another one refuses it. Empty: any.
        parameters: values of all parameters, and of ``memory`` if the law has one.

    InvalidArgumentException if names, shapes or results do not fit.
    """

    def __init__(self, kernel: Any, robot: str = "", urdf: str = "", **parameters: Any) -> None:
        self.kernel, self.robot, self.urdf_hash = kernel, robot, urdf_hash(urdf) if urdf else ""
        self.slots = slots = law_slots(kernel)
        self.bound = bound = kernel.bind()
        inputs, outputs = bound.inputs, bound.outputs
        self._dt = None if slots.dt is None else inputs[slots.dt]
        self._fields = FieldCopies([(name, inputs[leaf]) for name, leaf in slots.fields.items()])
        self._finished = None if slots.finished is None else outputs[slots.finished]
        self._memory = [(inputs[before], outputs[after]) for before, after in slots.memory]
        self._command = Torques(np.zeros(7))
        self._command.values = outputs[slots.tau]
        self._stop = False
        self._changing = threading.Lock()  # among those who set; no loop ever takes it
        self._wanted = self._taken = Values({}, {}, 0)
        self._listener: Listener | None = None
        self._running = threading.Lock()
        self.set(**parameters)
        self._check_complete(parameters)

    def _check_complete(self, parameters: dict[str, Any]) -> None:
        missing = [name for name in self.parameters if name not in parameters]
        if missing:
            raise InvalidArgumentException(f"franka_rt: {self.kernel.name} needs values for {', '.join(missing)}.")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what is neither in the state nor ``dt``."""
        return tuple(self.slots.parameters)

    def set(self, **parameters: Any) -> None:
        """Give parameters new values, from any thread; a cycle sees all of one call or none of them.

        InvalidArgumentException for unknown names, other shapes or numbers that are not finite; nothing changes then.
        """
        changes = {name: self._check(name, value) for name, value in parameters.items()}
        memory = changes.pop(MEMORY, {})
        with self._changing:
            self._wanted = self._wanted.changed(
                {i: x for leaves in changes.values() for i, x in leaves.items()}, memory
            )
            if self._listener is not None:
                self._listener.change(self._wanted)

    def _check(self, name: str, value: Any) -> Leaves:
        if name not in self.parameters:
            raise InvalidArgumentException(
                f"franka_rt: {name} is none of {', '.join(self.parameters) or 'no parameter'}."
            )
        description, leaves = self.slots.parameters[name]
        try:
            values = flatten(description, value, name)
            arrays = [self.kernel.inputs[i].check(array) for i, array in zip(leaves, values, strict=True)]
        except ValueError as error:
            raise InvalidArgumentException(f"franka_rt: {error}") from None
        if not all(np.isfinite(array).all() for array in arrays):
            raise InvalidArgumentException(f"franka_rt: {name} has a number that is infinite or NaN.")
        return {i: array.copy() for i, array in zip(leaves, arrays, strict=True)}

    def take(self) -> None:
        """Take what was set last, as a whole; for the loop that runs the law, before every cycle."""
        wanted, taken = self._wanted, self._taken
        if wanted is taken:
            return
        self._taken = wanted
        for leaf, value in wanted.parameters.items():
            self.bound.inputs[leaf][...] = value
        if wanted.memory_set != taken.memory_set:
            for leaf, value in wanted.memory.items():
                self.bound.inputs[leaf][...] = value

    def finish(self) -> None:
        """End the motion regularly with the next cycle; from any thread."""
        with self._changing:
            self._stop = True
            if self._listener is not None:
                self._listener.finish()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """One motion; InvalidOperationException while another one runs with this law, whose memory is one arm's."""
        self._claim()
        try:
            yield
        finally:
            self._running.release()

    def _claim(self) -> None:
        if not self._running.acquire(blocking=False):
            text = "franka_rt: this law already runs in another loop."
            raise InvalidOperationException(text, "Make one for each arm.")

    # -- what a loop outside this interpreter needs ------------------------------------------------------------------

    def lend(self, listener: Listener) -> tuple[list[np.ndarray], int, bool]:
        """Hand the law to a loop elsewhere: (values of all inputs, how often memory was set, whether to end at once).

        InvalidOperationException if it is lent or runs already.
        """
        self._claim()
        with self._changing:
            self.take()
            self._listener = listener
            return [array.copy() for array in self.bound.inputs], self._taken.memory_set, self._stop

    def give_back(self, memory: list[np.ndarray] | None, stop: bool) -> None:
        """The end of :meth:`lend`: the law's memory now (None: keep what was set), and a wish to end not yet seen."""
        with self._changing:
            self._listener = None
            self.take()
            self._stop = stop
            for (before, _), value in zip(self._memory, memory or (), strict=memory is not None):
                before[...] = value
        self._running.release()

    def check_robot(self, robot: str, urdf: str) -> None:
        """InvalidArgumentException if this law was made for another arm."""
        if self.robot and self.robot != robot:
            raise InvalidArgumentException(f"franka_rt: this law was made for the {self.robot}, not for the {robot}.")
        if self.urdf_hash and urdf and self.urdf_hash != urdf_hash(urdf):
            text = "franka_rt: this law was made with another URDF than the robot's."
            raise InvalidArgumentException(text, "Make it again with robot.get_robot_model(), or leave urdf out.")

    def __call__(self, state: RobotState, dt: float) -> Torques:
        """One cycle; the command is the same object every time."""
        self.take()
        self._fields(state)
        if self._dt is not None:
            self._dt[...] = dt
        self.bound.run()
        for before, after in self._memory:
            before[...] = after
        command = self._command
        command.motion_finished = self.stopping() or (self._finished is not None and bool(self._finished))
        return command

    def stopping(self) -> bool:
        """Whether :meth:`finish` was called; for the loop that runs the law, after every cycle."""
        if self._stop:  # only what was seen is cleared: finish() may come from another thread at any time
            self._stop = False
            return True
        return False

    @property
    def torques(self) -> np.ndarray:
        """(7,) Nm, what came of the last cycle."""
        return self._command.values

    def rehearse(self, state: RobotState) -> None:
        """What a cycle does, without effect: results are overwritten by the next cycle, memory stays."""
        self._fields(state)
        self.bound.run()

    def __repr__(self) -> str:
        return f"<KernelLaw {self.kernel!r}>"


def is_pure_law(callback: object) -> TypeGuard[KernelLaw]:
    """Whether its kernel may be called in its place: a law, not a class of the user's that adds something in Python."""
    return isinstance(callback, KernelLaw) and type(callback).__call__ is KernelLaw.__call__
