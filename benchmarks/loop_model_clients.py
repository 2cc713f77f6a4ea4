"""Clients of the loop benchmark that need all five quantities of the model in every cycle (``--in-process``).

    tau = c + J^T (K e - D J dq) + M (k_n (q_n - q) - d_n dq) + share g,    e = (p_d - p, rotation vector to R_d)

with pose, Jacobian, mass, Coriolis and gravity torques of the state; ``share`` is 0, because the robot carries its own
weight. The same law three times: with five calls of the model, with one call for all five, and as a kernel. Besides,
with one call for all five, the impedance of the joints that all other clients of the benchmark have. Rotations are
small, so their vector is that of the skew part of R_d R^T, and K e is affine in the pose: K e = s - S vec(O_T_EE).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import loop_law
from benchmarks.loop_law import GOAL, Clock, Run, connect

STIFFNESS = np.array([200.0, 200.0, 200.0, 20.0, 20.0, 20.0])
DAMPING = 2.0 * np.sqrt(STIFFNESS)
UPPER, LOWER = np.array([2, 0, 1]), np.array([1, 2, 0])
"""Where a skew matrix has the components of its vector."""
NULLSPACE = 5.0, 4.5, 0.0
"""N/m, N m/rad; N s/m, N m s/rad; 1/s^2, 1/s and the share of the weight."""


def spring(target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S (6,16) and s (6,) of the force towards a pose (4,4)."""
    S, s = np.zeros((6, 4, 4)), np.zeros(6)
    S[[0, 1, 2], [0, 1, 2], 3], s[:3] = 1.0, target[:3, 3]
    for row, upper, lower in zip((3, 4, 5), UPPER, LOWER, strict=True):
        S[row, lower, :3], S[row, upper, :3] = -0.5 * target[upper, :3], 0.5 * target[lower, :3]
    return STIFFNESS[:, None] * S.reshape(6, 16), STIFFNESS * s


def impedance(quantities: Any, q: Any, dq: Any, S: Any, s: Any, q_nullspace: Any, numbers: Any) -> Any:
    """The law on numpy or JAX arrays."""
    pose, J, M, c, g = quantities
    stiffness, damping, share = numbers
    wrench = s - S.dot(pose.reshape(16)) - DAMPING * J.dot(dq)  # at this size faster than @
    return c + J.T.dot(wrench) + M.dot(stiffness * (q_nullspace - q) - damping * dq) + share * g


def _in_place(model: Any) -> Callable[[Any], Any]:
    """``model.evaluate``, always into the same arrays."""
    results = []

    def evaluate(state: Any) -> Any:
        if not results:
            results.append(model.evaluate(state))
        return model.evaluate(state, out=results[0])

    return evaluate


def law(model: Any, target: np.ndarray, posture: np.ndarray, together: bool) -> Callable[[Any], np.ndarray]:
    """State -> torques, with one call of the model or with five."""
    frame = "end_effector"
    S, s = spring(target)

    def five(state: Any) -> Any:
        kinematics = model.pose(frame, state), model.zero_jacobian(frame, state)
        return (*kinematics, model.mass(state), model.coriolis(state), model.gravity(state))

    quantities = _in_place(model) if together else five
    return lambda state: impedance(quantities(state), state.q, state.dq, S, s, posture, NULLSPACE)


def kernel(model: Any, posture: np.ndarray) -> Any:
    """The same with the model, compiled; ``memory`` counts the seconds until ``seconds``, then it ends."""
    import jax

    from franka_jax import aot

    def compiled(q, dq, dt, O_ddP_O, memory, S, s, posture, seconds, numbers):
        frame = "end_effector"
        kinematics = model.pose(frame, q), model.zero_jacobian(frame, q)
        dynamics = model.mass(q), model.coriolis(q, dq), model.gravity(q, gravity_earth=O_ddP_O)
        tau = impedance((*kinematics, *dynamics), q, dq, S, s, posture, numbers)
        return {"tau": tau, "memory": memory + dt, "finished": (memory + dt >= seconds) * 1.0}

    with jax.enable_x64(True):
        examples = posture, posture, 0.0, np.zeros(3), 0.0, np.zeros((6, 16)), np.zeros(6), posture, 0.0
        return aot.compile_function(compiled, *examples, np.array(NULLSPACE), name="impedance_model")


def joint_law(model: Any) -> Callable[[Any], np.ndarray]:
    """State -> torques of K (q_goal - q) - D dq + c, with all five quantities at hand."""

    evaluate = _in_place(model)

    def torques(state: Any) -> np.ndarray:
        quantities = evaluate(state)
        return loop_law.STIFFNESS * (GOAL - state.q) - loop_law.DAMPING * state.dq + quantities.coriolis

    return torques


def _with_model(run: Run, make_law: Callable[[Any, Any], Callable[[Any], np.ndarray]]) -> dict[str, Any]:
    """Run the law that is made for a model and a state."""
    from franka_rt import Torques

    clock = Clock(run)
    with connect(run) as robot:
        state, model = robot.read_once(), robot.load_model()
        torques = make_law(model, state)
        torques(state)

        class Callback:
            """Computes nothing but the law, so it can be rehearsed."""

            rehearse = staticmethod(torques)

            def __call__(self, state: Any, dt: float) -> Any:
                command = Torques(torques(state))
                return command.finished() if clock(dt) else command

        robot.control_torques(Callback())
        return robot.loop_statistics.to_dict()


def _cartesian(together: bool) -> Callable[[Any, Any], Callable[[Any], np.ndarray]]:
    return lambda model, state: law(model, model.pose("end_effector", state), GOAL, together)


def model_five(run: Run) -> dict[str, Any]:
    """franka_rt's callback loop with its default filter, five calls of the model and a Cartesian impedance in numpy."""
    return _with_model(run, _cartesian(together=False))


def model_one(run: Run) -> dict[str, Any]:
    """The same with one call for all five quantities."""
    return _with_model(run, _cartesian(together=True))


def model_joint(run: Run) -> dict[str, Any]:
    """The same with the impedance of the joints."""
    return _with_model(run, lambda model, state: joint_law(model))


def model_kernel(run: Run) -> dict[str, Any]:
    """The same law as a kernel."""
    from franka_rt import KernelLaw

    with connect(run) as robot:
        model = robot.load_model()
        target = model.pose("end_effector", robot.read_once())
        compiled = kernel(model.backend.model, GOAL)
        S, s = spring(target)
        numbers = {"S": S, "s": s, "posture": GOAL, "seconds": run.seconds, "numbers": np.array(NULLSPACE)}
        robot.control_torques(KernelLaw(compiled, memory=0.0, **numbers))
        return robot.loop_statistics.to_dict()
