"""What is the compiled loop's own: its process, its watchdog, its compiler, and what it cannot run."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from franka_jax import aot
from franka_rt import KernelLaw, LoopScheduling, RealtimeConfig, Robot, realtime
from franka_rt.compiled_loop import program
from franka_rt.dialect import CommandName
from franka_rt.errors import (
    ControlException,
    InvalidArgumentException,
    InvalidOperationException,
    KernelException,
    RealtimeException,
)
from franka_rt.recorder import Recorder
from franka_rt.toolchain import CompilerError, find_compiler
from franka_rt.v10 import V10
from tests.rt.expect import raises
from tests.rt.laws import RAW, SEVEN, count_to, endless, kernel
from tests.rt.layouts import ARMS
from tests.rt.test_compiled_loop import at

pytestmark = [
    pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning"),
    pytest.mark.usefixtures("no_thread_left"),
]


@pytest.fixture(params=[V10], ids=lambda d: d.label)
def arm(request):
    """One version is enough for what has nothing to do with the protocol."""
    return request.param


ROOT = Path(__file__).parents[2]
PATIENCE = 10.0  # s; nothing here takes that long


def loops_of(pid):
    """Process ids of the loops that a process runs."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in path.read_text().split() if name_of(child) == "franka_rt_loop"]
    return found


def name_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def run(robot, law, **options):
    robot.control_torques(law, compiled=True, **(RAW | options))


# -- the parent dies or stands still -------------------------------------------------------------------------------

PARENT = """
import sys
from franka_rt import KernelLaw, RealtimeConfig, Robot, kernel
memory = {"count": 0.0, "q": [0.0] * 7}
law = KernelLaw(kernel.load(sys.argv[3]), a=1.0, b=0.0, root=1.0, limit=10**9, memory=memory)
with Robot(sys.argv[1], RealtimeConfig.IGNORE, port=int(sys.argv[2])) as robot:
    try:
        robot.control_torques(law, compiled=True, watchdog=0.2, limit_rate=False, cutoff_frequency=1000.0)
    except Exception as error:
        print(type(error).__name__, error)
print(sorted({"jax", "franka_jax"} & set(sys.modules)))
"""


@contextlib.contextmanager
def parent(server, tmp_path):
    """A program of its own that runs a saved law; (process, id of its loop) once 30 commands have come."""
    path = tmp_path / "counting.kernel"
    kernel("counting").save(path)
    reached = threading.Event()
    at(server, 30, reached.set)
    command = [sys.executable, "-W", "ignore", "-c", PARENT, server.host, str(server.port), str(path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert reached.wait(PATIENCE)
        (loop,) = loops_of(process.pid)
        yield process, loop
    finally:
        process.kill()
        process.communicate()
    wait_for(lambda: is_gone(loop))


@pytest.mark.parametrize("arm", ARMS, indirect=True, ids=lambda d: d.label)
def test_the_parent_is_killed(server, tmp_path):
    with parent(server, tmp_path) as (process, _):
        process.kill()
        wait_for(lambda: server.move is None)
    assert server.commands[-1].finished
    assert server.commands[-1].record["control"]["tau_J_d"][0] == 1.0
    assert CommandName.STOP_MOVE not in server.asked()


def test_the_parent_is_killed_and_the_robot_does_not_end_regularly(server, tmp_path):
    with parent(server, tmp_path) as (process, _):
        server.on_command = lambda server, command: None
        process.kill()
        wait_for(lambda: CommandName.STOP_MOVE in server.asked())
    assert server.commands[-1].finished


def test_the_parent_stands_still_longer_than_the_watchdog(server, tmp_path):
    """It needs numpy alone, and hears of it when it goes on."""
    with parent(server, tmp_path) as (process, _):
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: server.move is None)
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate(timeout=PATIENCE)
    assert said.startswith(
        "ControlException franka_rt: the compiled loop ended the motion: no sign of life from Python"
    )
    assert said.endswith("[]\n")
    assert server.commands[-1].finished


# -- the program ends by itself ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_the_program_is_killed(server, robot, number):
    """By a crash of the law, by somebody else: the motion is stopped either way, once."""
    at(server, 10, lambda: os.kill(loops_of(os.getpid())[0], number))
    with raises(ControlException, f"the compiled loop crashed (ended by {number.name})") as error:
        run(robot, endless())
    assert len(error.value.log) >= 10
    assert server.asked().count(CommandName.STOP_MOVE) == 1
    run(robot, count_to(3))


def test_ctrl_c_at_the_terminal_is_for_python(server, robot):
    at(server, 10, lambda: os.kill(loops_of(os.getpid())[0], signal.SIGINT))
    run(robot, count_to(40))


def test_a_program_that_hangs_is_ended_by_force(server, robot, monkeypatch):
    """A program stopped by a signal cannot be asked any more: Python waits as long as for a state, then kills it."""
    monkeypatch.setattr("franka_rt.compiled_loop.loop._MARGIN", -0.8)
    loop: list[int] = []

    def stop():
        loop.extend(loops_of(os.getpid()))
        os.kill(loop[0], signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGINT)

    at(server, 10, stop)
    with pytest.raises(KeyboardInterrupt):
        run(robot, endless())
    assert is_gone(loop[0])
    assert server.asked().count(CommandName.STOP_MOVE) == 1


# -- scheduling ----------------------------------------------------------------------------------------------------


def test_it_is_scheduled_as_a_python_loop_would_be(server, robot):
    cpu, seen = max(os.sched_getaffinity(0)), []
    robot.scheduling = LoopScheduling(priority=1, cpu=cpu, lock_memory=False)

    def look():
        (pid,) = loops_of(os.getpid())
        seen.extend((os.sched_getaffinity(pid), os.sched_getscheduler(pid), os.sched_getparam(pid).sched_priority))

    at(server, 10, look)
    run(robot, count_to(30))
    allowed = not realtime.fifo_refusal()
    assert seen == [{cpu}, os.SCHED_FIFO if allowed else os.SCHED_OTHER, int(allowed)]


def test_a_refusal_is_an_error_only_if_realtime_is_enforced(server, robot):
    robot.scheduling = LoopScheduling(cpu=1000)
    run(robot, count_to(3))
    moves = server.asked().count(CommandName.MOVE)
    robot.realtime_config = RealtimeConfig.ENFORCE
    with raises(RealtimeException, "libfranka: unable to set realtime affinity: Invalid argument", "doctor"):
        run(robot, count_to(3))
    assert server.asked().count(CommandName.MOVE) == moves
    assert not loops_of(os.getpid())


# -- building ------------------------------------------------------------------------------------------------------


def test_the_program_compiles_without_a_warning():
    toolchain = find_compiler()
    assert toolchain is not None
    flags = (*program.FLAGS, "-Wall", "-Wextra", "-Werror")
    assert toolchain.program(program.sources(), program.MAIN, flags, program.LIBRARIES).startswith(b"\x7fELF")


def test_without_a_compiler_only_what_is_cached_runs(server, robot, tmp_path, monkeypatch):
    law = count_to(3)
    monkeypatch.setenv("FRANKA_JAX_CACHE", str(tmp_path))
    monkeypatch.setattr(program, "find_compiler", lambda: None)
    with raises(RealtimeException, "needs a C compiler", "pip install ziglang"):
        run(robot, law)
    assert CommandName.MOVE not in server.asked()
    monkeypatch.undo()
    monkeypatch.setenv("FRANKA_JAX_CACHE", str(tmp_path))
    run(robot, law)
    monkeypatch.setattr(program, "find_compiler", lambda: None)
    run(robot, law)
    (stored,) = tmp_path.iterdir()
    stored.write_bytes(b"damaged")
    with raises(RealtimeException, "needs a C compiler"):
        run(robot, law)


def test_a_failing_compiler_says_what_it_said(robot, tmp_path, monkeypatch):
    def fail(*_):
        raise CompilerError("the C compiler cc failed:\nno stdint.h")

    monkeypatch.setenv("FRANKA_JAX_CACHE", str(tmp_path))
    monkeypatch.setattr("franka_rt.toolchain.Toolchain.program", fail)
    with raises(RealtimeException, "could not be built", "no stdint.h"):
        run(robot, count_to(3))


# -- what it does not take -----------------------------------------------------------------------------------------


def test_what_cannot_run_in_it(server, robot, monkeypatch):
    mode = aot.compile_function(lambda q, message_id: q + message_id, SEVEN, 0.0)
    flat = aot.compile_function(lambda O_T_EE: O_T_EE[:7], np.zeros(16))
    for law, texts in {
        (lambda state, dt: SEVEN): ("runs a KernelLaw, not a Python function", "franka_jax.aot"),
        KernelLaw(mode): ("cannot give message_id of FCI version", "compiled=False"),
        KernelLaw(flat): ("O_T_EE is an array (4, 4) of float64, the law takes (16,) float64",),
    }.items():
        with raises(InvalidArgumentException, *texts):
            run(robot, law)
    with raises(InvalidArgumentException, "watchdog has to be at least 0.05"):
        run(robot, endless(), watchdog=0.0)
    monkeypatch.setattr("franka_jax.aot.compile.find_compiler", lambda cpu: None)
    with pytest.warns(aot.MissingCompilerWarning):
        slow = KernelLaw(aot.compile_function(lambda q: q, SEVEN))
    with raises(InvalidOperationException, "runs on XLA"):
        run(robot, slow)
    assert CommandName.MOVE not in server.asked()


def test_a_kernel_that_does_not_load(server, robot, monkeypatch):
    law = endless()
    monkeypatch.setattr(type(law.kernel), "library", b"not a library")
    with raises(KernelException, "cannot load the law's kernel"):
        run(robot, law)
    assert CommandName.MOVE not in server.asked()
    assert not loops_of(os.getpid())


def test_a_recorded_session_keeps_its_sockets(server, tmp_path):
    with (
        Recorder(tmp_path / "session.frec") as recorder,
        Robot(server.host, RealtimeConfig.IGNORE, port=server.port, recorder=recorder) as robot,
        raises(InvalidOperationException, "recorded or replayed", "compiled=False"),
    ):
        run(robot, endless())


class Deaf:
    """Another loop."""

    def change(self, values):
        pass

    def finish(self):
        pass


def test_a_law_runs_in_one_loop_at_a_time(server, robot):
    law = endless()
    at(server, 10, law.finish)
    values, *_ = law.lend(Deaf())
    assert len(values) == len(law.kernel.inputs)
    with raises(InvalidOperationException, "already runs in another loop"):
        run(robot, law)
    law.give_back(None, False)
    run(robot, law)
