"""Other libraries that compute the same five quantities, each in a process of its own.

Some of them cannot be loaded together (MuJoCo's module and Pinocchio's abort), and none shall slow another one down.
`Peer` starts `python -m benchmarks.peers NAME` and asks it for the time of a number of calls, so that rounds of all
cases can be interleaved; the clock runs inside the other process. Every call does the work of `CompiledModel.evaluate`
for the same arm and states, with the combination of calls that its documentation recommends. Install them with
`pip install pin frax mujoco franka-rs`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
URDF = ROOT / "tests" / "data" / "fr3_vendor.urdf"
#: Where the simulated robot listens from which franka-rs gets its model.
SIMULATED_HOST = "127.0.0.77"
FLANGE_OFFSET = np.array([0.0, 0.0, 0.107])
#: Name in tables -> module.
MODULES = {"pinocchio": "pinocchio", "franka-rs": "franka", "MuJoCo": "mujoco", "frax (jit)": "frax"}
PACKAGES = {"pinocchio": "pin", "franka-rs": "franka-rs", "MuJoCo": "mujoco", "frax (jit)": "frax"}

Calls = dict[str, Callable[[], Any]]
Evaluate = Callable[[np.ndarray, np.ndarray], tuple]


class States(NamedTuple):
    """What every peer is given: one state, an acceleration, and many states."""

    q: np.ndarray
    dq: np.ndarray
    ddq: np.ndarray
    Q: np.ndarray
    dQ: np.ndarray


def random_states(count: int) -> States:
    """The same states in every process, (7,) and (count, 7), rad, rad/s, rad/s^2."""
    rng = np.random.default_rng(0)
    return States(*rng.uniform(-1, 1, (3, 7)), *rng.uniform(-1, 1, (2, count, 7)))


# what each library does -----------------------------------------------------------------------------------------------


def _one_by_one(name: str, evaluate: Evaluate, states: States) -> dict[str, Calls]:
    pairs = list(zip(states.Q, states.dQ, strict=True))
    return {
        "single": {name: lambda: evaluate(states.q, states.dq)},
        "batch": {f"{name}, loop": lambda: [evaluate(q, dq) for q, dq in pairs]},
    }


def pinocchio(states: States) -> dict[str, Calls]:
    """Pinocchio: five quantities, and the derivatives of the dynamics."""
    pin = importlib.import_module("pinocchio")
    model = pin.buildModelFromUrdf(str(URDF))
    data, frame = model.createData(), model.getFrameId("link8")

    def evaluate(q: np.ndarray, dq: np.ndarray) -> tuple:
        pin.crba(model, data, q)
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacement(model, data, frame)
        jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        gravity = pin.computeGeneralizedGravity(model, data, q).copy()
        coriolis = pin.nonLinearEffects(model, data, q, dq) - gravity
        return data.oMf[frame].homogeneous, jacobian, data.M, coriolis, gravity

    q, dq, ddq = states[:3]
    return _one_by_one("pinocchio", evaluate, states) | {
        "derivatives": {
            "pinocchio, computeRNEADerivatives": lambda: pin.computeRNEADerivatives(model, data, q, dq, ddq),
            "pinocchio, computeABADerivatives": lambda: pin.computeABADerivatives(model, data, q, dq, ddq),
        }
    }


def mujoco(states: States) -> dict[str, Calls]:
    """MuJoCo: only the stages that the five quantities need; gravity is the bias force at rest."""
    mj = importlib.import_module("mujoco")
    model = mj.MjModel.from_xml_path(str(URDF))
    data, body = mj.MjData(model), model.body("link7").id
    rest = np.zeros(7)

    def evaluate(q: np.ndarray, dq: np.ndarray) -> tuple:
        mass, jacobian, bias, gravity, pose = np.empty((7, 7)), np.empty((6, 7)), np.empty(7), np.empty(7), np.eye(4)
        data.qpos[:] = q
        data.qvel[:] = dq
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)
        mj.mj_crb(model, data)
        mj.mj_fullM(model, data, mass)
        mj.mj_comVel(model, data)
        mj.mj_rne(model, data, 0, bias)
        data.qvel[:] = rest
        mj.mj_comVel(model, data)
        mj.mj_rne(model, data, 0, gravity)
        pose[:3, :3] = data.xmat[body].reshape(3, 3)
        pose[:3, 3] = data.xpos[body] + pose[:3, :3] @ FLANGE_OFFSET
        mj.mj_jac(model, data, jacobian[:3], jacobian[3:], pose[:3, 3], body)
        return pose, jacobian, mass, bias - gravity, gravity

    return _one_by_one("MuJoCo", evaluate, states)


def franka_rs(states: States) -> dict[str, Calls]:
    """franka-rs, whose model comes only from a connected robot: here a simulated one, gone when it is timed."""
    os.environ["FRANKA_REALTIME"] = "ignore"
    franka = importlib.import_module("franka")
    from franka_rt.sim import SimulatedRobot

    with SimulatedRobot("fr3", host=SIMULATED_HOST, realtime=False):
        robot = franka.Robot(SIMULATED_HOST)
        model = robot.model()
        robot.stop()
        del robot
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # connecting asks for real-time scheduling

    def evaluate(q: np.ndarray, dq: np.ndarray) -> tuple:
        jacobian = model.zero_jacobian("flange", q)
        return model.pose("flange", q), jacobian, model.mass(q), model.coriolis(q, dq), model.gravity(q)

    return _one_by_one("franka-rs", evaluate, states)


def frax(states: States) -> dict[str, Calls]:
    """frax, on JAX: jitted, and for many states vmapped."""
    import jax

    jax.config.update("jax_enable_x64", True)
    arm = importlib.import_module("frax").Manipulator(str(URDF))

    def evaluate(q: Any, dq: Any) -> tuple:
        pose, jacobian = arm.ee_transform(q), arm.ee_jacobian(q)
        return pose, jacobian, arm.mass_matrix(q), arm.centrifugal_coriolis_vector(q, dq), arm.gravity_vector(q)

    one, many = jax.jit(evaluate), jax.jit(jax.vmap(evaluate))
    return {
        "single": {"frax (jit)": lambda: jax.block_until_ready(one(states.q, states.dq))},
        "batch": {"frax (jit, vmap)": lambda: jax.block_until_ready(many(states.Q, states.dQ))},
    }


LIBRARIES = {"pinocchio": pinocchio, "franka-rs": franka_rs, "MuJoCo": mujoco, "frax (jit)": frax}

# processes ------------------------------------------------------------------------------------------------------------


def available() -> list[str]:
    """Names of the peers that are installed."""
    return [name for name, module in MODULES.items() if importlib.util.find_spec(module) is not None]


class Peer:
    """A library in its own process. `cases[section]` are the names of what it can be timed at."""

    def __init__(self, name: str, states: int) -> None:
        self.name = name
        command = [sys.executable, "-m", "benchmarks.peers", name, str(states)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        answer = self._answer()
        self.cases: dict[str, list[str]] = answer["cases"]
        self.values = [np.array(x) for x in answer["values"]]

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.name} ended; try python -m benchmarks.peers '{self.name}' 10")
        return json.loads(line)

    def time(self, section: str, case: str, repetitions: int) -> float:
        """Seconds that this many calls take there."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([section, case, repetitions]) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=10)


def serve(name: str, states: States) -> None:
    """Print the cases of a library and its results for one state, then answer with the seconds of every request."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the library prints is no reply
    calls = LIBRARIES[name](states)
    values = [np.asarray(x).tolist() for x in next(iter(calls["single"].values()))()]
    print(
        json.dumps({"cases": {key: list(part) for key, part in calls.items()}, "values": values}),
        file=replies,
        flush=True,
    )
    for line in sys.stdin:
        section, case, repetitions = json.loads(line)
        run = calls[section][case]
        start = time.perf_counter()
        for _ in range(repetitions):
            run()
        print(json.dumps(time.perf_counter() - start), file=replies, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], random_states(int(sys.argv[2])))
