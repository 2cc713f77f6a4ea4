"""Other libraries as clients of the loop benchmark. Each is imported when it runs, in a process of its own."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from benchmarks.loop_law import DAMPING, GOAL, STIFFNESS, Clock, Run


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


def pylibfranka_plain(run: Run) -> dict[str, Any]:
    """The same without a model, timed from inside: a state is there, its command is sent."""
    import pylibfranka as vendor

    robot = vendor.Robot(run.host, vendor.RealtimeConfig.kIgnore)
    clock, taken = Clock(run), []
    control = robot.start_torque_control()
    over = False
    while not over:
        state, dt = control.readOnce()
        start = time.perf_counter_ns()
        tau = STIFFNESS * (GOAL - np.asarray(state.q)) - DAMPING * np.asarray(state.dq)
        command = vendor.Torques(tau.tolist())
        command.motion_finished = over = clock(dt.to_sec())
        control.writeOnce(command)
        taken.append(time.perf_counter_ns() - start)
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}  # without the last one, which waits for the motion's end
    return {name: 1e-9 * float(np.quantile(taken[:-1], share)) for name, share in shares.items()}


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
