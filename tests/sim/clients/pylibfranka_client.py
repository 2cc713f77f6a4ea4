"""Scenarios for the vendor's client of FCI version 10; each returns what the client saw, as plain values."""

import math

import numpy as np
import pylibfranka as vendor
from common import errors, main, ordinary_scheduling, smooth

READY = np.array([0, -1, 0, -3, 0, 2, 1]) * (math.pi / 4)


def connect(host):
    robot = vendor.Robot(host, vendor.RealtimeConfig.kIgnore)
    ordinary_scheduling()
    return robot


def seen(state):
    names = ("q", "dq", "q_d", "dq_d", "tau_J", "tau_J_d", "tau_ext_hat_filtered", "O_T_EE", "O_T_EE_c", "O_ddP_O")
    names += ("theta", "elbow", "O_F_ext_hat_K", "F_T_EE", "EE_T_K", "m_total", "F_x_Ctotal", "I_total", "m_load")
    values = {name: np.asarray(getattr(state, name)).tolist() for name in names}
    values["success_rate"] = state.control_command_success_rate
    values["mode"] = str(state.robot_mode)
    values["reasons"] = errors(state.last_motion_errors)
    values["time"] = round(1000 * state.time.to_sec())
    return values


def drive(control, seconds, command, finish=True):
    """Loop for some time: command(state, time, first state) is written every millisecond."""
    time, first, dts = 0.0, None, []
    while True:
        state, dt = control.readOnce()
        first = first or state
        time += dt.to_sec()
        dts.append(round(1000 * dt.to_sec()))
        output = command(state, time, first)
        if finish and time >= seconds:
            output.motion_finished = True
        control.writeOnce(output)
        if time >= seconds:
            return {"cycles": len(dts), "largest_dt": max(dts), "rate": state.control_command_success_rate}


def connect_and_read(host):
    robot = connect(host)
    return {"states": [seen(robot.read_once()) for _ in range(5)]}


def model(host):
    robot = connect(host)
    robot.set_load(1.2, [0.01, -0.02, 0.05], np.diag([0.003, 0.004, 0.002]).ravel().tolist())
    state = robot.read_once()
    m = robot.load_model()
    values = {name: np.asarray(getattr(m, name)(state)).tolist() for name in ("mass", "coriolis", "gravity")}
    return {"state": seen(state), "zero_jacobian": np.asarray(m.zero_jacobian(state)).tolist(), **values}


def setters(host):
    robot = connect(host)
    seven, six = [30.0] * 7, [30.0] * 6
    robot.set_collision_behavior(seven, seven, six, six)
    robot.set_joint_impedance([2000.0] * 7)
    robot.set_cartesian_impedance([1500.0] * 3 + [150.0] * 3)
    robot.set_K([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0.01, 0.02, 0.03, 1])
    robot.set_EE([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0.05, 1])
    robot.set_load(0.5, [0.0, 0.0, 0.1], [0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01])
    refused = []
    for call in (
        lambda: robot.set_joint_impedance([20000.0] * 7),
        lambda: robot.set_cartesian_impedance([1.0] * 6),
        lambda: robot.set_load(-1.0, [0.0] * 3, [0.0] * 9),
        lambda: robot.set_K([2.0] + [0.0] * 14 + [1.0]),
        lambda: robot.set_collision_behavior(seven, [10.0] * 7, six, six),
    ):
        try:
            call()
            refused.append(None)
        except vendor.CommandException as error:
            refused.append(str(error))
    return {"state": seen(robot.read_once()), "refused": refused}


def torque(host):
    robot = connect(host)
    result = drive(robot.start_torque_control(), 1.0, lambda s, t, s0: vendor.Torques([0.0] * 7))
    return result | {"end": seen(robot.read_once())}


def joint_position(host):
    robot = connect(host)

    def command(state, time, first):
        return vendor.JointPositions([q + smooth(time, 1.0, 0.1) for q in first.q_d])

    result = drive(robot.start_joint_position_control(vendor.ControllerMode.JointImpedance), 1.0, command)
    return result | {"end": seen(robot.read_once())}


def joint_velocity(host):
    robot = connect(host)

    def command(state, time, first):
        return vendor.JointVelocities([0.1 * math.sin(math.pi * min(time, 1.0)) ** 2] * 7)

    result = drive(robot.start_joint_velocity_control(vendor.ControllerMode.JointImpedance), 1.0, command)
    return result | {"end": seen(robot.read_once())}


def cartesian_pose(host):
    robot = connect(host)

    def command(state, time, first):
        pose = list(first.O_T_EE_c)
        pose[14] += smooth(time, 1.0, 0.05)
        pose[12] += smooth(time, 1.0, 0.05)
        return vendor.CartesianPose(pose)

    begin = seen(robot.read_once())
    result = drive(robot.start_cartesian_pose_control(vendor.ControllerMode.CartesianImpedance), 1.0, command)
    return result | {"begin": begin, "end": seen(robot.read_once())}


def cartesian_velocity(host):
    robot = connect(host)

    def command(state, time, first):
        return vendor.CartesianVelocities([0.0, 0.1 * math.sin(math.pi * min(time, 1.0)) ** 2, 0.0, 0.0, 0.0, 0.0])

    begin = seen(robot.read_once())
    result = drive(robot.start_cartesian_velocity_control(vendor.ControllerMode.JointImpedance), 1.0, command)
    return result | {"begin": begin, "end": seen(robot.read_once())}


def asynchronous(host):
    robot = connect(host)
    handler_class = vendor.AsyncPositionControlHandler
    configuration = handler_class.Configuration([0.5] * 7, 1e-3)
    handler = handler_class.configure(robot, configuration).handler
    target = (READY + 0.1).tolist()
    handler.set_joint_position_target(handler_class.JointPositionTarget(target))
    statuses = []
    for _ in range(2000):
        feedback = handler.get_target_feedback()
        if not statuses or statuses[-1] != str(feedback.status):
            statuses.append(str(feedback.status))
        if "REACHED" in statuses[-1].upper():
            break
    handler.stop_control()
    return {"statuses": statuses, "end": seen(robot.read_once())}


def stop(host):
    robot = connect(host)
    control = robot.start_joint_velocity_control(vendor.ControllerMode.JointImpedance)
    drive(control, 0.2, lambda s, t, s0: vendor.JointVelocities([min(t, 0.1)] * 7), finish=False)
    robot.stop()
    try:
        control.readOnce()
        text = ""
    except vendor.ControlException as error:
        text = str(error)
    del control
    robot.stop()
    return {"text": text, "end": seen(robot.read_once())}


def _failing(robot, start, command, seconds=1.0):
    """The ControlException of a motion that must fail, and the state after it."""
    control = start()
    text = ""
    try:
        drive(control, seconds, command)
    except vendor.ControlException as error:
        text = str(error)
    del control
    return {"text": text, "end": seen(robot.read_once())}


def _jump(robot, kind):
    mode = vendor.ControllerMode.JointImpedance

    def position(state, time, first):
        return vendor.JointPositions([q + (0.02 if time > 0.05 else 0.0) for q in first.q_d])

    def far(state, time, first):
        return vendor.JointPositions([q + 0.3 for q in first.q_d])

    def velocity(state, time, first):
        return vendor.JointVelocities([0.0] * 6 + [0.5 if time > 0.05 else 0.0])

    def pose(state, time, first):
        values = list(first.O_T_EE_c)
        values[13] += 0.01 if time > 0.05 else 0.0
        return vendor.CartesianPose(values)

    def twist(state, time, first):
        return vendor.CartesianVelocities([0.5 if time > 0.05 else 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def torques(state, time, first):
        return vendor.Torques([0.0] * 6 + [3.0 if time > 0.05 else 0.0])

    starts = {
        "position": (lambda: robot.start_joint_position_control(mode), position),
        "start_pose": (lambda: robot.start_joint_position_control(mode), far),
        "velocity": (lambda: robot.start_joint_velocity_control(mode), velocity),
        "pose": (lambda: robot.start_cartesian_pose_control(mode), pose),
        "twist": (lambda: robot.start_cartesian_velocity_control(mode), twist),
        "torque": (robot.start_torque_control, torques),
    }
    return _failing(robot, *starts[kind])


def discontinuity(host):
    """Every kind of jump, with a recovery after each."""
    robot = connect(host)
    result = {}
    for kind in ("position", "start_pose", "velocity", "pose", "twist", "torque"):
        result[kind] = _jump(robot, kind)
        robot.automatic_error_recovery()
        result[kind]["recovered"] = seen(robot.read_once())
    return result


def recovery(host):
    """Ten times: fail, be refused, recover, move."""
    robot = connect(host)
    texts, refusals = [], []
    for _ in range(10):
        texts.append(_jump(robot, "torque")["text"])
        try:
            robot.start_torque_control()
        except vendor.CommandException as error:
            refusals.append(str(error))
        robot.automatic_error_recovery()
        drive(robot.start_torque_control(), 0.05, lambda s, t, s0: vendor.Torques([0.0] * 7))
    return {"texts": texts, "refusals": refusals, "end": seen(robot.read_once())}


def silence(host):
    """Begin a motion and then send nothing."""
    robot = connect(host)
    control = robot.start_torque_control()
    drive(control, 0.05, lambda s, t, s0: vendor.Torques([0.0] * 7), finish=False)
    try:
        while True:
            control.readOnce()
    except vendor.ControlException as error:
        return {"text": str(error)}


def pushed(host):
    """Zero torques for at most five seconds, while somebody pushes."""
    robot = connect(host)
    return _failing(robot, robot.start_torque_control, lambda s, t, s0: vendor.Torques([0.0] * 7), 5.0)


def gripper(host):
    hand = vendor.Gripper(host)
    outcome = {"version": hand.server_version(), "homing": hand.homing(), "move": hand.move(0.05, 0.2)}
    outcome["width"] = hand.read_once().width
    outcome["grasp"] = hand.grasp(0.03, 0.2, 20.0)
    state = hand.read_once()
    outcome["grasped"], outcome["grasp_width"] = state.is_grasped, state.width
    outcome["missed"] = hand.grasp(0.06, 0.2, 20.0)
    outcome["stop"] = hand.stop()
    try:
        hand.move(0.5, 0.1)
        outcome["too_wide"] = ""
    except vendor.CommandException as error:
        outcome["too_wide"] = str(error)
    return outcome


def second_client(host):
    robot = connect(host)
    try:
        connect(host)
        text = ""
    except Exception as error:
        text = str(error)
    return {"text": text, "end": seen(robot.read_once())}


if __name__ == "__main__":
    main(globals())
