"""The motion state machine: whole motions through the table, from both ends, and what it forbids."""

import itertools

import pytest

from franka_rt.dialect import ControllerMode, GeneratorMode, RobotMode
from franka_rt.errors import ControlException, ProtocolException
from franka_rt.machine import TRANSITIONS, MotionMachine, Phase, Signal
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from tests.rt.layouts import ARMS

S = Signal
HISTORIES = {
    "finished": [S.STARTED, S.STILL, S.SHOWN, S.SHOWN, S.FINISH, S.SHOWN, S.FINISH, S.STILL, S.TERMINAL],
    "answer before state": [S.STARTED, S.SHOWN, S.FINISH, S.TERMINAL, S.FINISH, S.SHOWN, S.STILL],
    "rejected": [S.REJECTED],
    "failed before shown": [S.STARTED, S.STILL, S.TERMINAL],
    "reflex, then cancel": [S.STARTED, S.SHOWN, S.STILL, S.TERMINAL, S.STOP, S.STOPPED, S.STILL],
    "user stop": [S.STARTED, S.SHOWN, S.HALTED, S.STILL, S.TERMINAL],
    "stop, StopMove answered first": [S.STARTED, S.SHOWN, S.STOP, S.STOPPED, S.TERMINAL, S.SHOWN, S.STILL],
    "stop, Move answered first": [S.STARTED, S.SHOWN, S.STOP, S.TERMINAL, S.STILL, S.STOPPED, S.STILL],
    "stop before shown": [S.STARTED, S.STOP, S.STOPPED, S.STILL],
    "stop twice": [S.STARTED, S.SHOWN, S.STOP, S.STOPPED, S.STOP, S.TERMINAL, S.STOPPED, S.STILL],
    "stop while finishing": [S.STARTED, S.SHOWN, S.FINISH, S.STOP, S.TERMINAL, S.STOPPED, S.STILL],
}


@pytest.fixture(params=ARMS, ids=lambda d: d.label)
def machine(request):
    machine = MotionMachine(request.param)
    machine.request(GeneratorMode.JOINT_POSITION, ControllerMode.JOINT_IMPEDANCE)
    return machine


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES.keys())
def test_motion_ends_idle(machine, history):
    for signal in history[:-1]:
        machine.feed(signal)
    assert machine.phase is not Phase.IDLE or history[-1] is S.STILL
    assert machine.feed(history[-1]) is Phase.IDLE
    assert machine.generator is GeneratorMode.IDLE
    machine.request(GeneratorMode.JOINT_POSITION, ControllerMode.JOINT_IMPEDANCE)


def test_every_phase_is_reached_and_left():
    targets = {target for (phase, _), target in TRANSITIONS.items() if target is not phase}
    sources = {phase for (phase, _), target in TRANSITIONS.items() if target is not phase}
    assert targets == sources == set(Phase)


def test_every_phase_takes_every_kind_of_state():
    states = (S.SHOWN, S.HALTED, S.STILL, S.MIXED)
    assert all(key in TRANSITIONS for key in itertools.product(Phase, states))


def test_stop_is_possible_in_every_phase():
    assert all(TRANSITIONS[phase, S.STOP] is Phase.CANCELLING for phase in Phase)


def test_one_motion_at_a_time(machine):
    with pytest.raises(ControlException, match="libfranka robot: Attempted to start multiple motions!"):
        machine.request(GeneratorMode.JOINT_POSITION, ControllerMode.JOINT_IMPEDANCE)


def test_second_motion_started(machine):
    machine.feed(S.STARTED)
    with pytest.raises(ProtocolException, match="Move received unexpected motion started message"):
        machine.feed(S.STARTED)


def test_unexpected_answers(machine):
    machine.feed(S.STARTED)
    with pytest.raises(ProtocolException, match="Unexpected reply to a Move command"):
        machine.feed(S.STOPPED)


def test_states_drive_the_machine(machine):
    still, shown = (0, 3, RobotMode.IDLE), (1, 0, RobotMode.MOVE)
    machine.feed(S.STARTED)
    assert machine.observe(still) is Phase.STARTING
    assert machine.observe(shown) is Phase.RUNNING
    assert machine.observe(shown) is Phase.RUNNING
    assert machine.observe((1, 0, RobotMode.REFLEX)) is Phase.ENDED
    assert machine.observe(still) is Phase.ENDED


@pytest.mark.parametrize("modes", [(0, 0, 2), (1, 1, 2), (1, 0, 4), (2, 0, 2), (5, 3, 1)])
def test_any_change_breaks_a_motion(machine, modes):
    machine.feed(S.STARTED)
    machine.observe((1, 0, RobotMode.MOVE))
    assert machine.observe(modes) is Phase.ENDED


def test_stop_without_a_motion_settles(machine):
    machine.reset()
    machine.feed(S.STOP)
    machine.feed(S.STOPPED)
    assert machine.observe((0, int(ControllerMode.OTHER), RobotMode.REFLEX)) is Phase.IDLE


def test_what_counts_as_still():
    external, other = int(ControllerMode.EXTERNAL_CONTROLLER), int(ControllerMode.OTHER)
    for arm, none_is_still in ((V5, False), (V10, True)):
        machine = MotionMachine(arm)
        assert machine.is_still((0, other, 1))
        assert machine.is_still((0, 0, 1))
        assert not machine.is_still((0, external, 1))
        assert not machine.is_still((1, other, 1))
        assert machine.is_still((5, other, 1)) == none_is_still


@pytest.mark.parametrize(
    ("generator", "controller", "motion", "torque", "problem"),
    [
        (GeneratorMode.NONE, ControllerMode.EXTERNAL_CONTROLLER, True, False, "send motion command"),
        (GeneratorMode.JOINT_POSITION, ControllerMode.JOINT_IMPEDANCE, True, True, "send control command"),
        (GeneratorMode.JOINT_POSITION, ControllerMode.EXTERNAL_CONTROLLER, True, False, "send partial robot command"),
        (GeneratorMode.JOINT_POSITION, ControllerMode.EXTERNAL_CONTROLLER, False, True, "send partial robot command"),
        (GeneratorMode.NONE, ControllerMode.EXTERNAL_CONTROLLER, False, True, None),
        (GeneratorMode.JOINT_POSITION, ControllerMode.JOINT_IMPEDANCE, True, False, None),
        (GeneratorMode.JOINT_POSITION, ControllerMode.EXTERNAL_CONTROLLER, True, True, None),
    ],
)
def test_commands_have_to_fit_the_motion(generator, controller, motion, torque, problem):
    machine = MotionMachine(V10)
    machine.request(generator, controller)
    if problem is None:
        machine.check_command(motion, torque)
    else:
        with pytest.raises(ControlException, match=f"libfranka robot: Trying to {problem}"):
            machine.check_command(motion, torque)


def test_commands_without_a_motion():
    machine = MotionMachine(V5)
    machine.check_command(motion=False, torque=False)
    with pytest.raises(ControlException, match="no motion generator running"):
        machine.check_command(motion=True, torque=False)
