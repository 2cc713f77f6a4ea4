"""Kernel laws in the Python loop, with and without compiled cycles, and in the compiled one: all the same."""

import contextlib
import errno
import itertools
import os
import signal
import socket
import threading
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from franka_rt import KernelLaw, RealtimeConfig, Robot, RobotMode, Status, Torques, transport
from franka_rt.compiled_loop.program import cycle_library
from franka_rt.dialect import CommandName
from franka_rt.errors import (
    ControlException,
    InvalidArgumentException,
    NetworkException,
    ProtocolException,
)
from franka_rt.sim import SimulatedRobot
from franka_rt.toolchain import CompilerError
from tests.reference import READY
from tests.rt.expect import raises
from tests.rt.laws import GAINS, LOOPS, RAW, SEVEN, Q, count_to, endless, kernel, run_in, torques
from tests.rt.playback import CYCLES, Playback, Script
from tests.rt.scripted import URDF

pytestmark = [
    pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning"),
    pytest.mark.usefixtures("no_thread_left"),
]

OPTIONS = ({}, RAW, {"limit_rate": True, "cutoff_frequency": 1000.0}, {"limit_rate": False}, {"limit_rate": True})
LAWS = {
    "wide": {"memory": SEVEN, "gains": GAINS, "target": Q + 0.5},
    "payload": {"scale": 1.0},
}


@pytest.fixture(params=LOOPS)
def loop(request, robot):
    """``loop(law)`` runs it in one of the loops; afterwards no process and no descriptor is left."""
    return clean_loop(robot, request.param)


def clean_loop(robot, which):
    def control(law, **options):
        before = open_files()
        try:
            run_in(which, robot, law, **(RAW | options))
        finally:
            left = {} if robot.closed else open_files() - before
            assert not left
            assert not children()

    return control


def open_files():
    """Descriptors of this process, without those that a server's thread opens and closes as it likes."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add((link.name, os.readlink(link)))
    return {item for item in found if "franka_rt" in item[1] or "pidfd" in item[1]}


def children():
    return Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()


def at(server, number, action):
    """Do it once, from the server's thread, at this command; motions end when their commands say so."""

    def on_command(server, command):
        if len(server.commands) == number:
            action()
        if command.finished and server.move is not None:
            server.end_motion(Status.SUCCESS)

    server.on_command = on_command


# -- commands ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_the_same_commands_for_the_same_states(arm, name):
    """Bit for bit, with every combination of filter and limiter, clamped torques and references of all sizes."""
    script = Script()
    for content in script.contents:
        content.update(
            dq=script.noise(1.0, 7), elbow=script.noise(1.0, 2), m_ee=0.73, F_x_Cee=(-0.01, 0, 0.03), m_load=1.2,
            I_ee=np.diag((0.001, 0.0025, 0.0017)), F_x_Cload=script.noise(0.1, 3), I_load=np.arange(9.0).reshape(3, 3),
        )  # fmt: skip
    with Playback(arm, script.contents) as server, Robot(server.host, RealtimeConfig.IGNORE, port=server.port) as robot:
        for options in OPTIONS:
            for which in LOOPS:
                law = KernelLaw(kernel(name), **LAWS[name])
                end_with_the_script(server, law)
                run_in(which, robot, law, **options)
            reference, *others = (np.array(motion) for motion in server.motions[-3:])
            assert len(reference) == len(script.contents)
            for other, part in itertools.product(others, ("motion", "control")):
                assert reference[part].tobytes() == other[part].tobytes(), options
    raw = np.array(server.motions[3])["control"]["tau_J_d"]
    assert (np.abs(raw) <= arm.maximum_torque).all()
    assert name == "payload" or (np.abs(raw) == arm.maximum_torque).any()


def test_the_same_commands_for_the_same_callback(arm):
    """A function in Python, whose torques are not clamped."""
    script = Script()
    wanted = [script.noise(200.0, 7) for _ in range(CYCLES)]
    with Playback(arm, script.contents) as server, Robot(server.host, RealtimeConfig.IGNORE, port=server.port) as robot:
        for options in OPTIONS:
            for which in ("reference", "python"):
                run_in(which, robot, callback_of(wanted), **options)
            reference, other = (np.array(motion) for motion in server.motions[-2:])
            assert len(reference) == CYCLES
            for part in ("motion", "control"):
                assert reference[part].tobytes() == other[part].tobytes(), options
    assert (np.abs(np.array(server.motions[2])["control"]["tau_J_d"]) > arm.maximum_torque).any()


@pytest.mark.parametrize("values", [np.zeros(6), np.ones(1), np.zeros((7, 1)), np.zeros(())], ids=np.shape)
@pytest.mark.parametrize("which", ["reference", "python"])
def test_a_command_whose_values_were_replaced_is_not_spread_over_the_joints(server, robot, which, values):
    def callback(state, dt):
        command.values = values
        return command

    command = Torques(SEVEN)
    with raises(InvalidArgumentException, "Invalid number of elements in tau_J."):
        run_in(which, robot, callback, **RAW)
    assert server.commands == []


def callback_of(wanted):
    """Gives these torques, one after the other."""
    left = iter(wanted)

    def callback(state, dt):
        tau = next(left)
        return Torques(tau).finished() if tau is wanted[-1] else tau

    return callback


def end_with_the_script(server, law):
    """Finish the law in the cycle that sees the last content."""
    advance = server._next

    def on_command(_, command):
        if len(server.motions[-1]) == len(server.contents) - 2:
            law.finish()
        advance(command)

    server.on_command = on_command


class Halved(KernelLaw):
    """A law with something of its own in Python."""

    def __call__(self, state, dt):
        command = Torques(0.5 * super().__call__(state, dt).values)
        return command.finished() if self.bound.outputs[self.slots.finished] else command


def test_a_law_with_something_in_python_is_not_cut_short(server, robot):
    law = Halved(kernel("counting"), a=3.0, b=1.0, root=1.0, limit=3, memory={"count": 0.0, "q": SEVEN})
    for which in ("reference", "python"):
        law.set(memory={"count": 0.0, "q": SEVEN})
        run_in(which, robot, law, **RAW)
        assert set(torques(server)[:, 0]) == {1.0}
    with raises(InvalidArgumentException, "a compiled loop runs a KernelLaw, not a Python function"):
        robot.control_torques(law, compiled=True)


OBSTACLES = {
    "compiler": ("toolchain.Toolchain.run", CompilerError("failed")),
    "directory": ("toolchain.tempfile.TemporaryDirectory", FileNotFoundError("no usable temporary directory")),
    "home": ("cache.Path.home", RuntimeError("Could not determine home directory.")),
    "descriptors": ("compiled_loop.memory.os.memfd_create", OSError(errno.EMFILE, "Too many open files")),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_whatever_stands_in_the_way_of_a_compiled_cycle(server, robot, obstacle, tmp_path, monkeypatch):
    """The Python loop needs none of it."""
    place, error = OBSTACLES[obstacle]
    if obstacle != "descriptors":
        cycle_library.cache_clear()
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv("FRANKA_JAX_CACHE", "" if obstacle == "home" else str(tmp_path))
    with mock.patch(f"franka_rt.{place}", side_effect=error) as stopped:
        robot.control_torques(callback_of([SEVEN, SEVEN + 1.0]), **RAW)
    assert stopped.called
    assert torques(server)[:2, 0].tolist() == [0.0, 1.0]


def test_the_largest_torque_is_the_description_s(arm, fr3_model, fer_model):
    model = {"fr3": fr3_model, "fer": fer_model}[arm.robot]
    np.testing.assert_array_equal(arm.maximum_torque, model.limits.effort)


def test_memory_goes_on_and_the_law_ends(server, loop):
    law = count_to(5, count=2.0, a=2.0)
    loop(law)
    assert [c.finished for c in server.commands[:3]] == [False, False, True]
    np.testing.assert_array_equal(torques(server), 2.0)
    law.set(limit=8)
    loop(law)  # 6, 7, 8
    assert [c.finished for c in server.commands if not c.finished] == [False] * 4
    law.set(memory={"count": 0.0, "q": SEVEN}, limit=1)
    loop(law)  # at once: finished in the first cycle


def test_finish_from_another_thread(server, robot, loop):
    law = endless()
    at(server, 20, law.finish)
    loop(law)
    assert [c.finished for c in server.commands].index(True) in (20, 21)
    assert CommandName.STOP_MOVE not in server.asked()
    statistics = robot.loop_statistics
    assert statistics.cycles in (20, 21)
    assert 0.0 < statistics.quantile(0.5) < 1.0
    law.finish()  # before it starts: the first command is the last
    server.commands.clear()
    loop(law)
    assert server.commands[0].finished


def test_parameters_are_set_while_it_runs(server, loop):
    law = endless(a=1.0)
    at(server, 10, lambda: law.set(a=3.0, b=1.5, limit=60))
    loop(law)
    values = torques(server)[:, 0]
    assert list(values[:10]) == [1.0] * 10
    assert set(values[12:]) == {1.5}
    assert 59 <= [c.finished for c in server.commands].index(True) <= 60
    law.set(b=0.0)
    server.commands.clear()
    law.finish()
    loop(law)
    assert set(torques(server)[:, 0]) == {3.0}


def test_no_set_is_seen_in_part(server, loop):
    """Two parameters that are always set together, as fast as Python can: they never differ in the law's eyes."""
    law, done = endless(), threading.Event()

    def hammer():
        value = 0.0
        while not done.is_set():
            value += 1.0
            law.set(a=value, b=value)

    thread = threading.Thread(target=hammer)
    at(server, 40, law.finish)
    thread.start()
    try:
        loop(law)
    finally:
        done.set()
        thread.join()
    assert not torques(server).any()
    assert law.bound.inputs[-4] > 100


# -- ends ----------------------------------------------------------------------------------------------------------


def test_not_finite_torques_are_not_sent(server, loop):
    law = endless()
    at(server, 10, lambda: law.set(root=-1.0))
    with raises(InvalidArgumentException, "Commanding value is infinite or NaN."):
        loop(law)
    assert np.isfinite(torques(server)).all()
    assert not server.commands[-1].finished
    assert server.asked().count(CommandName.STOP_MOVE) == 1
    law.finish()
    with raises(InvalidArgumentException, "Commanding value is infinite or NaN."):
        loop(law)
    law.set(root=1.0, limit=0)
    law.set(memory={"count": -3.0, "q": SEVEN})
    server.commands.clear()
    loop(law)  # the wish was one for the motion that failed
    assert [c.finished for c in server.commands].index(True) == 2


def test_a_reflex(server, robot, loop):
    reason = {"robot_mode": RobotMode.REFLEX, "reflex_reason": {"communication_constraints_violation"}}
    at(server, 70, lambda: server.end_motion(Status.REFLEX_ABORTED, **reason))
    with raises(ControlException, "motion aborted by reflex", "control_command_success_rate", "This loop: ") as error:
        loop(endless(a=1.0))
    assert error.value.reasons == ("communication_constraints_violation",)
    assert error.value.statistics is robot.loop_statistics
    assert len(error.value.log) == 50
    ids = [record.state.message_id for record in error.value.log]
    assert (np.diff(ids) >= 1).all()
    echoed = [int(record.command["message_id"]) for record in error.value.log]
    assert echoed[1:] == ids[:-1]
    assert set(error.value.log.command_array("tau_J_d")[:, 0]) == {1.0}
    assert server.asked().count(CommandName.STOP_MOVE) == 1


def test_still_moving_at_the_end(server, loop):
    server.on_command = lambda s, c: s.end_motion(Status.REFLEX_ABORTED) if c.finished and s.move else None
    with raises(ControlException, "Motion finished commanded, but the robot is still moving!"):
        loop(count_to(3))


def test_stop_from_another_thread(server, robot, loop):
    stopper = threading.Thread(target=robot.stop)
    at(server, 10, stopper.start)
    with raises(ControlException, "Move command preempted"):
        loop(endless())
    stopper.join(5.0)
    assert not stopper.is_alive()
    loop(count_to(3))


def test_ctrl_c(server, loop):
    at(server, 10, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        loop(endless())
    assert server.asked().count(CommandName.STOP_MOVE) == 1
    loop(count_to(3))


@pytest.fixture
def impatient(server):
    """A session that waits 0.15 s for a state."""

    def connector(dialect):
        return transport.connect(server.host, server.port, 5.0, 0.15, dialect.state.itemsize)

    with Robot(server.host, RealtimeConfig.IGNORE, connector=connector) as robot:
        yield robot


def silence(server):
    server.states = False


def close(server):
    server.tcp.shutdown(socket.SHUT_RDWR)


def odd_datagram(server):
    server.udp.sendto(b"short", server.client)


FAULTS = {
    "silence": (silence, NetworkException, "libfranka: UDP receive: Timeout", "had arrived and then stopped"),
    "channel": (close, NetworkException, "libfranka: "),
    "size": (odd_datagram, ProtocolException, "libfranka: incorrect object size", "this one 5"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("which", LOOPS)
def test_the_connection_breaks(server, impatient, which, fault):
    """Version 10 ends the session when states fail to come, version 5 only the motion: in both loops."""
    action, kind, *texts = FAULTS[fault]

    def restore(server, request):
        server.states = True
        stop(server, request)

    stop = server.on[CommandName.STOP_MOVE]
    server.on[CommandName.STOP_MOVE] = restore
    at(server, 10, lambda: action(server))
    with raises(kind, *texts):
        clean_loop(impatient, which)(endless())
    ended = fault == "channel" or (fault == "silence" and impatient.dialect.udp_failure_ends_session)
    assert impatient.closed == ended


def test_duplicates_and_old_states_do_not_count(server, robot, loop):
    def repeat():
        for offset in (0, 3):
            state = server.state
            number = int(state["message_id"])
            state["message_id"] = number - offset
            server.udp.sendto(state.datagram(), server.client)
            state["message_id"] = number

    at(server, 10, repeat)
    loop(count_to(30))
    ids = [c.message_id for c in server.commands if not c.finished]
    assert all(a < b for a, b in itertools.pairwise(ids))


def test_other_arms_and_other_urdfs_refuse_it(arm, server, robot, loop):
    other = {"fer": "fr3", "fr3": "fer"}[arm.robot]
    with raises(InvalidArgumentException, f"made for the {other}, not for the {arm.robot}"):
        loop(endless(robot=other))
    if robot.serves_urdf:
        with raises(InvalidArgumentException, "another URDF"):
            loop(endless(urdf="<robot/>"))
    assert CommandName.MOVE not in server.asked()
    loop(count_to(3, robot=arm.robot, urdf=URDF.decode()))


def test_the_newest_state_is_seen_from_outside(server, robot, loop):
    law, seen = endless(), []

    def look():
        time.sleep(0.02)
        for _ in range(100):
            seen.append(robot.latest_state())
            time.sleep(5e-4)
        law.finish()

    thread = threading.Thread(target=look)
    thread.start()
    loop(law)
    thread.join()
    ids = [state.message_id for state in seen]
    assert ids == sorted(ids)
    assert len(set(ids)) > 20
    assert robot.latest_state().message_id >= ids[-1]


# -- against the simulated arms ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["fer", "fr3"])
def standing(request):
    with SimulatedRobot(request.param, port=0, gripper_port=None, realtime=False) as sim:
        yield sim


@pytest.mark.parametrize("which", LOOPS)
def test_a_simulated_arm_moves_complains_and_recovers(standing, which):
    standing.place(READY)
    with Robot(standing.host, RealtimeConfig.IGNORE, port=standing.port) as robot:
        run = clean_loop(robot, which)
        with raises(ControlException, "controller_torque_discontinuity"):
            run(count_to(300, a=30.0))
        robot.automatic_error_recovery()
        standing.place(READY)
        before = robot.read_once().q
        run(count_to(150, a=0.5), limit_rate=True, cutoff_frequency=100.0)
        after = robot.read_once()
        assert not after.last_motion_errors
        assert np.abs(after.q - before).max() > 1e-4
        assert robot.loop_statistics is not None
        assert robot.loop_statistics.cycles == 149
