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
from collections.abc import Callable
from typing import Any

from benchmarks.loop_law import DAMPING, GOAL, STIFFNESS, Clock, Run, connect
from benchmarks.loop_model_clients import model_five, model_joint, model_kernel, model_one
from benchmarks.loop_peers import franka_rs, panda, pylibfranka, pylibfranka_plain
from benchmarks.loop_schedule import Schedule


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
    with connect(run) as robot:
        law = _numpy_law(_model(robot), clock, Torques)
        robot.control_torques(law, limit_rate=False, cutoff_frequency=1000.0)
        return robot.loop_statistics.to_dict()


def active(run: Run) -> dict[str, Any]:
    """franka_rt's active control, the caller's own loop, with a law in numpy."""
    from franka_rt import Torques

    clock = Clock(run)
    with connect(run) as robot:
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
    with connect(run) as robot:
        robot.control_torques(law, limit_rate=False, cutoff_frequency=1000.0)
        return robot.loop_statistics.to_dict()


def compiled(run: Run) -> dict[str, Any]:
    """franka_rt's compiled loop with the same kernel."""
    law = kernel_law(run)
    with connect(run) as robot:
        robot.control_torques(law, limit_rate=False, cutoff_frequency=1000.0, compiled=True)
        return robot.loop_statistics.to_dict()


CLIENTS: dict[str, Callable[[Run], dict[str, Any]]] = {
    "python": python, "active": active, "kernel": kernel, "compiled": compiled,
    "model-five": model_five, "model-one": model_one, "model-joint": model_joint,
    "model-kernel": model_kernel,
    "pylibfranka": pylibfranka, "pylibfranka-plain": pylibfranka_plain, "panda": panda, "franka-rs": franka_rs,
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
