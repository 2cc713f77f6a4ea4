"""Scenarios for the vendor's client of FCI version 5 (libfranka 0.9 inside panda-python), as pylibfranka_client.py."""

import math
import threading
import time as clock

import numpy as np
from common import errors, main, ordinary_scheduling, smooth
from panda_py import libfranka as vendor


def connect(host):
    robot = vendor.Robot(host, vendor.RealtimeConfig.kIgnore)
    ordinary_scheduling()
    return robot


def seen(state):
    names = ("q", "dq", "q_d", "tau_J", "O_T_EE", "O_T_EE_c", "F_T_EE", "EE_T_K", "m_total")
    names += ("F_x_Ctotal", "I_total", "m_load")
    values = {name: np.asarray(getattr(state, name)).tolist() for name in names}
    values["success_rate"] = state.control_command_success_rate
    values["mode"] = str(state.robot_mode)
    values["reasons"] = errors(state.last_motion_errors)
    return values


class Timer:
    """Time since the start of a motion, counted by the callback's durations."""

    def __init__(self):
        self.time, self.cycles, self.largest, self.first, self.rate = 0.0, 0, 0.0, None, 0.0

    def __call__(self, state, duration):
        self.first = self.first or state
        self.time += duration.to_sec()
        self.largest = max(self.largest, duration.to_sec())
        self.rate = state.control_command_success_rate
        self.cycles += 1
        return self.time

    def result(self):
        return {"cycles": self.cycles, "largest_dt": round(1000 * self.largest), "rate": self.rate}


def run(method, command, seconds):
    """One motion: command(time, first state) every millisecond, the last with the finished mark."""
    timer = Timer()

    def callback(state, duration):
        time = timer(state, duration)
        output = command(time, timer.first)
        output.motion_finished = time >= seconds
        return output

    method(callback)
    return timer.result()


def zero(time, first):
    return vendor.Torques([0.0] * 7)


def connect_and_read(host):
    robot = connect(host)
    return {"states": [seen(robot.read_once()) for _ in range(5)], "version": robot.server_version()}


def model(host):
    """All values of the model library that the robot serves, without and with a payload."""
    robot = connect(host)
    m = robot.load_model()
    frames = ("kJoint1", "kJoint2", "kJoint3", "kJoint4", "kJoint5", "kJoint6", "kJoint7", "kFlange")
    frames += ("kEndEffector", "kStiffness")
    rng = np.random.default_rng(5)
    cases = []
    for mass in (0.0, 1.23):
        q, dq = rng.uniform(-1.5, 1.5, 7).tolist(), rng.uniform(-1, 1, 7).tolist()
        c = [0.01, -0.02, 0.05] if mass else [0.0] * 3
        I = np.diag([0.003, 0.004, 0.002]).ravel().tolist() if mass else [0.0] * 9
        F = [0.8, 0.6, 0, 0, -0.6, 0.8, 0, 0, 0, 0, 1, 0, 0.02, -0.01, 0.1034, 1.0]
        K = [1.0, 0, 0, 0, 0, 0.8, 0.6, 0, 0, -0.6, 0.8, 0, 0.01, 0.02, 0.03, 1.0]
        case = {"q": q, "dq": dq, "m": mass, "c": c, "I": I, "F": F, "K": K}
        case["mass"] = list(m.mass(q, I, mass, c))
        case["coriolis"] = list(m.coriolis(q, dq, I, mass, c))
        case["gravity"] = list(m.gravity(q, mass, c, [2.9, -4.1, -8.4]))
        for name in frames:
            frame = getattr(vendor.Frame, name)
            case[name] = [list(f(frame, q, F, K)) for f in (m.pose, m.body_jacobian, m.zero_jacobian)]
        cases.append(case)
    robot.set_load(1.2, [0.01, -0.02, 0.05], np.diag([0.003, 0.004, 0.002]).ravel().tolist())
    state = robot.read_once()
    values = {name: list(getattr(m, name)(state)) for name in ("mass", "coriolis", "gravity")}
    return {"cases": cases, "state": seen(state), "at_state": values}


def setters(host):
    robot = connect(host)
    seven, six = [30.0] * 7, [30.0] * 6
    robot.set_collision_behavior(seven, seven, six, six)
    robot.set_collision_behavior(seven, seven, seven, seven, six, six, six, six)
    robot.set_joint_impedance([2000.0] * 7)
    robot.set_cartesian_impedance([1500.0] * 3 + [150.0] * 3)
    robot.set_guiding_mode([True, True, False, True, False, True], True)
    robot.set_k([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0.01, 0.02, 0.03, 1])
    robot.set_ee([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0.05, 1])
    robot.set_load(0.5, [0.0, 0.0, 0.1], [0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01])
    refused = []
    for call in (
        lambda: robot.set_joint_impedance([20000.0] * 7),
        lambda: robot.set_load(-1.0, [0.0] * 3, [0.0] * 9),
    ):
        try:
            call()
            refused.append(None)
        except Exception as error:
            refused.append(str(error))
    return {"state": seen(robot.read_once()), "refused": refused}


def torque(host):
    robot = connect(host)
    return run(robot.control, zero, 1.0) | {"end": seen(robot.read_once())}


def joint_position(host):
    robot = connect(host)

    def command(time, first):
        return vendor.JointPositions([q + smooth(time, 1.0, 0.1) for q in first.q_d])

    return run(robot.control_joint_position, command, 1.0) | {"end": seen(robot.read_once())}


def cartesian_pose(host):
    robot = connect(host)

    def command(time, first):
        pose = list(first.O_T_EE_c)
        pose[14] += smooth(time, 1.0, 0.05)
        return vendor.CartesianPose(pose)

    begin = seen(robot.read_once())
    result = run(robot.control_cartesian_pose, command, 1.0)
    return result | {"begin": begin, "end": seen(robot.read_once())}


def cartesian_velocity(host):
    robot = connect(host)

    def command(time, first):
        return vendor.CartesianVelocities([0.0, 0.1 * math.sin(math.pi * min(time, 1.0)) ** 2, 0.0, 0.0, 0.0, 0.0])

    begin = seen(robot.read_once())
    result = run(robot.control_cartesian_velocity, command, 1.0)
    return result | {"begin": begin, "end": seen(robot.read_once())}


def stop(host):
    """Stop from another thread while the callback goes on for ever."""
    robot = connect(host)
    threading.Thread(target=lambda: (clock.sleep(0.3), robot.stop()), daemon=True).start()
    text = ""
    try:
        run(robot.control, zero, 1e9)
    except Exception as error:
        text = str(error)
    robot.stop()
    return {"text": text, "end": seen(robot.read_once())}


def recovery(host):
    """Five times: a torque jump without rate limit, refusal, recovery, motion."""
    robot = connect(host)
    texts, refusals = [], []

    def jump(callback):
        robot.control(callback, False, 1000.0)

    for _ in range(5):
        try:
            run(jump, lambda time, first: vendor.Torques([0.0] * 6 + [3.0 * (time > 0.02)]), 1.0)
        except Exception as error:
            texts.append(str(error))
        try:
            run(robot.control, zero, 0.02)
        except Exception as error:
            refusals.append(str(error))
        robot.automatic_error_recovery()
        run(robot.control, zero, 0.02)
    return {"texts": texts, "refusals": refusals, "end": seen(robot.read_once())}


def gripper(host):
    hand = vendor.Gripper(host)
    outcome = {"version": hand.server_version(), "homing": hand.homing(), "move": hand.move(0.06, 0.2)}
    outcome["grasp"] = hand.grasp(0.03, 0.2, 20.0)
    outcome["grasped"], outcome["width"] = hand.read_once().is_grasped, hand.read_once().width
    return outcome


if __name__ == "__main__":
    main(globals())
