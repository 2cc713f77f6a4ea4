"""The clients of the loop benchmark, each run in a process of its own: the same law, one motion of some seconds.

    tau = c(q, dq) + K (q_goal - q) - D dq

c are the Coriolis torques of the client's own model; filters and rate limiters are off. franka-rs has its loop in Rust
and that law built in. Each client prints one line of JSON at the end.

    python -m benchmarks.loop_clients kernel 127.0.0.5 --version 10 --seconds 10
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.loop_schedule import Schedule

STIFFNESS = np.array([60.0, 60.0, 60.0, 60.0, 25.0, 15.0, 5.0])
DAMPING = np.array([5.0, 5.0, 5.0, 2.0, 2.0, 2.0, 1.0])
GOAL = np.array([0.01, -np.pi / 4, 0.01, -3 * np.pi / 4, 0.01, np.pi / 2, np.pi / 4])
"""Nm/rad, Nm s/rad, rad."""


@dataclass(frozen=True)
class Run:
    """What a client is asked for."""

    host: str
    port: int
    version: int
    seconds: float
    schedule: Schedule
    hostile: bool


class Clock:
    """Counts the motion's own time; schedules the thread that runs the loop in its first cycle."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.time, self._scheduled = 0.0, False

    def __call__(self, dt: float) -> bool:
        """Whether the motion has lasted long enough."""
        if not self._scheduled:
            self._run.schedule.apply()
            self._scheduled = True
        self.time += dt
        return self.time >= self._run.seconds


def _connect(run: Run) -> Any:
    from franka_rt import RealtimeConfig, Robot, VersionPolicy

    os.environ["FRANKA_RT_PRIORITY"] = str(run.schedule.priority)
    return Robot(run.host, RealtimeConfig.IGNORE, VersionPolicy.exact(run.version), run.port)


def _model(robot: Any) -> Any:
    """Called once, because a kernel is compiled when it is first needed."""
    model = robot.load_model()
    model.coriolis(robot.read_once())
    return model


def _numpy_law(model: Any, clock: Clock, torques: Any) -> Callable[[Any, float], Any]:
    def law(state: Any, dt: float) -> Any:
        command = torques(STIFFNESS * (GOAL - state.q) - DAMPING * state.dq + model.coriolis(state))
        return command.finished() if clock(dt) else command

    return law


def python(run: Run) -> dict[str, Any]:
    """franka_rt's callback loop with a law in numpy."""
    from franka_rt import Torques

    clock = Clock(run)
    with _connect(run) as robot:
        law = _numpy_law(_model(robot), clock, Torques)
        robot.control_torques(law, limit_rate=False, cutoff_frequency=1000.0)
        return robot.loop_statistics.to_dict()


def active(run: Run) -> dict[str, Any]:
    """franka_rt's active control, the caller's own loop, with a law in numpy."""
    from franka_rt import Torques

    clock = Clock(run)
    with _connect(run) as robot:
        law = _numpy_law(_model(robot), clock, Torques)
        with robot.start_torque_control() as control:
            while not control.finished:
                control.write_once(law(*control.read_once()))
    return {}


def kernel_law(run: Run) -> Any:
    """The same law, compiled with the model; it ends the motion itself."""
    import jax

    import franka_jax
    from franka_jax import aot
    from franka_rt import KernelLaw

    with jax.enable_x64(True):
        model = franka_jax.fr3() if run.version == 10 else franka_jax.fer()

        def law(q: Any, dq: Any, dt: Any, memory: Any, goal: Any, seconds: Any) -> dict[str, Any]:
            tau = STIFFNESS * (goal - q) - DAMPING * dq + model.coriolis(q, dq)
            return {"tau": tau, "memory": memory + dt, "finished": (memory + dt >= seconds) * 1.0}

        compiled = aot.compile_function(law, GOAL, GOAL, 0.0, 0.0, GOAL, 0.0, name="impedance")
    robot = "fr3" if run.version == 10 else "fer"
    return KernelLaw(compiled, robot, memory=0.0, goal=GOAL, seconds=run.seconds)


def kernel(run: Run) -> dict[str, Any]:
    """franka_rt's callback loop with the law as a kernel."""
    law = kernel_law(run)
    with _connect(run) as robot:
        robot.control_torques(law, limit_rate=False, cutoff_frequency=1000.0)
        return robot.loop_statistics.to_dict()


def pylibfranka(run: Run) -> dict[str, Any]:
    """The vendor's Python binding: its active control with a law in numpy."""
    import pylibfranka as vendor

    robot = vendor.Robot(run.host, vendor.RealtimeConfig.kIgnore)
    model = robot.load_model()
    clock = Clock(run)
    control = robot.start_torque_control()
    while True:
        state, dt = control.readOnce()
        coriolis = np.asarray(model.coriolis(state))
        tau = STIFFNESS * (GOAL - np.asarray(state.q)) - DAMPING * np.asarray(state.dq) + coriolis
        command = vendor.Torques(tau.tolist())
        if clock(dt.to_sec()):
            command.motion_finished = True
            control.writeOnce(command)
            return {}
        control.writeOnce(command)


def panda(run: Run) -> dict[str, Any]:
    """panda-python: libfranka 0.9's own loop with a law in numpy as its callback."""
    from panda_py import libfranka as vendor

    robot = vendor.Robot(run.host, vendor.RealtimeConfig.kIgnore)
    model = robot.load_model()
    clock = Clock(run)

    def law(state: Any, dt: Any) -> Any:
        coriolis = np.asarray(model.coriolis(state))
        tau = STIFFNESS * (GOAL - np.asarray(state.q)) - DAMPING * np.asarray(state.dq) + coriolis
        command = vendor.Torques(tau.tolist())
        command.motion_finished = clock(dt.to_sec())
        return command

    robot.control(law, False, 1000.0)
    return {}


def franka_rs(run: Run) -> dict[str, Any]:
    """franka-rs: a loop in Rust on a thread of its own, with its own joint impedance law."""
    import franka

    robot = franka.Robot(run.host, realtime="ignore")
    before = set(os.listdir("/proc/self/task"))
    gains = {"joint_stiffness": STIFFNESS.tolist(), "joint_damping": DAMPING.tolist(), "torque_cutoff": 1000.0}
    with robot.joint_targets(**gains) as targets:
        for thread in map(int, set(os.listdir("/proc/self/task")) - before):
            run.schedule.apply(thread)
        targets.move_by((GOAL - np.asarray(targets.state().q)).tolist())
        time.sleep(run.seconds)
        targets.stop()
    return {}


def compiled(run: Run) -> dict[str, Any]:
    """franka_rt's compiled loop with the same kernel."""
    law = kernel_law(run)
    with _connect(run) as robot:
        robot.control_torques(law, limit_rate=False, cutoff_frequency=1000.0, compiled=True)
        return robot.loop_statistics.to_dict()


def _with_model(run: Run, together: bool) -> dict[str, Any]:
    from benchmarks.loop_model_clients import law
    from franka_rt import Torques

    clock = Clock(run)
    with _connect(run) as robot:
        state, model = robot.read_once(), robot.load_model()
        torques = law(model, model.pose("end_effector", state), GOAL, together)
        torques(state)

        def callback(state: Any, dt: float) -> Any:
            command = Torques(torques(state))
            return command.finished() if clock(dt) else command

        callback.rehearse = torques
        robot.control_torques(callback)
        return robot.loop_statistics.to_dict()


def model_five(run: Run) -> dict[str, Any]:
    """franka_rt's callback loop with its default filter, five calls of the model and a Cartesian impedance in numpy."""
    return _with_model(run, together=False)


def model_one(run: Run) -> dict[str, Any]:
    """The same with one call for all five quantities."""
    return _with_model(run, together=True)


def model_kernel(run: Run) -> dict[str, Any]:
    """The same law as a kernel."""
    from benchmarks.loop_model_clients import NULLSPACE, kernel
    from franka_rt import KernelLaw

    with _connect(run) as robot:
        model = robot.load_model()
        target = model.pose("end_effector", robot.read_once())
        compiled = kernel(model.backend.model, target, GOAL)
        numbers = {"target": target, "posture": GOAL, "seconds": run.seconds, "numbers": np.array(NULLSPACE)}
        robot.control_torques(KernelLaw(compiled, memory=0.0, **numbers))
        return robot.loop_statistics.to_dict()


CLIENTS: dict[str, Callable[[Run], dict[str, Any]]] = {
    "python": python, "active": active, "kernel": kernel, "compiled": compiled,
    "model-five": model_five, "model-one": model_one, "model-kernel": model_kernel,
    "pylibfranka": pylibfranka, "panda": panda, "franka-rs": franka_rs,
}  # fmt: skip


def disturb() -> None:
    """Keep the interpreter busy for good: allocate, format, print to nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        while True:
            rows = [{"row": i, "text": str(i) * 8, "values": list(range(50))} for i in range(200)]
            print(json.dumps(rows), file=nowhere)


def main() -> None:
    """Run one client."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=CLIENTS)
    parser.add_argument("host")
    parser.add_argument("--port", type=int, default=1337)
    parser.add_argument("--version", type=int, choices=(5, 10), default=10)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--hostile", action="store_true", help="keep the interpreter busy in another thread")
    Schedule.add_arguments(parser)
    options = parser.parse_args()
    schedule = Schedule.of(options)
    schedule.bind()
    if options.hostile:
        threading.Thread(target=disturb, daemon=True).start()
    run = Run(options.host, options.port, options.version, options.seconds, schedule, options.hostile)
    print(json.dumps(CLIENTS[options.client](run)), flush=True)


if __name__ == "__main__":
    main()
