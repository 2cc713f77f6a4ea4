"""The exception tree: one base, texts and hints, attributes, and the way through a pickle."""

import copy
import pickle

import numpy as np
import pytest

import franka_rt
from franka_rt import RobotState, Status, errors
from franka_rt.answers import check_answer, failure_text
from franka_rt.dialect import CommandName, RobotMode
from franka_rt.log import Log
from franka_rt.state_writer import StateWriter
from franka_rt.v5 import V5
from tests.rt.expect import raises
from tests.rt.layouts import ARMS

TREE = [getattr(errors, name) for name in errors.__all__]


def test_one_base():
    assert all(issubclass(kind, errors.FrankaException) for kind in TREE)
    assert issubclass(errors.InvalidArgumentException, ValueError)
    assert len(TREE) == 11
    assert franka_rt.errors is errors


@pytest.mark.parametrize("kind", TREE, ids=lambda k: k.__name__)
def test_text_and_hint_survive_a_pickle(kind):
    error = kind("what happened.", "what to do.")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "what happened.\nwhat to do."
    assert (again.text, again.hint) == (error.text, error.hint)
    assert str(kind("alone.")) == "alone."


def test_a_control_exception_with_its_log_survives_a_pickle():
    state = RobotState(V5, StateWriter(V5).datagram())
    log = Log(V5, [(state, b""), (state, bytes(370))])
    error = errors.ControlException("text", log=log, reasons=["joint_reflex"], status=Status.REFLEX_ABORTED)
    again = pickle.loads(pickle.dumps(error))
    assert (again.reasons, again.status) == (("joint_reflex",), Status.REFLEX_ABORTED)
    np.testing.assert_array_equal(again.log.command_array("tau_J_d"), np.zeros((2, 7)))
    assert [record.state for record in again.log] == [state, state]
    assert again.log[-1].state == state
    assert len(again.log[0:1]) == 1
    assert "2 records" in repr(again.log)


def test_an_empty_log():
    log = Log(V5, [])
    assert (len(log), log.to_csv(), repr(log)) == (0, "", "<Log, empty>")


def test_dialects_are_single_objects():
    for arm in ARMS:
        assert copy.deepcopy(arm) is arm
        assert pickle.loads(pickle.dumps(arm)) is arm


def test_every_failing_answer_of_every_command_has_words():
    for arm in ARMS:
        for name, spec in arm.commands.items():
            for status in set(spec.statuses) - {Status.SUCCESS, Status.MOTION_STARTED}:
                if name is not CommandName.CONNECT:
                    text, _ = failure_text(name, status, RobotMode.IDLE)
                    assert text.startswith("libfranka: ")
                    assert "{" not in text


@pytest.mark.parametrize(
    ("command", "status", "text"),
    [
        (
            CommandName.SET_LOAD,
            Status.REJECTED_DUE_TO_SAFETY,
            "libfranka: Set Load command rejected due to activated "
            "safety function! Please disable all safety functions. ",
        ),
        (
            CommandName.GET_ROBOT_MODEL,
            Status.REJECTED_DUE_TO_SAFETY,
            "libfranka: Get Robot Model command rejected due "
            "to activated safety function! Please disable all safety functions.",
        ),
        (
            CommandName.STOP_MOVE,
            Status.REJECTED_DUE_TO_SAFETY,
            "libfranka: Move command rejected due to activated safety function! Please disable all safety functions.",
        ),
        (
            CommandName.STOP_MOVE,
            Status.ABORTED,
            "libfranka: Stop Move command rejected: command not possible in the "
            'current mode ("Other")! Did you open the brakes?',
        ),
        (
            CommandName.AUTOMATIC_ERROR_RECOVERY,
            Status.MANUAL_ERROR_RECOVERY_REQUIRED_REJECTED,
            "libfranka: Automatic Error Recovery command rejected: manual error recovery required!",
        ),
        (
            CommandName.MOVE,
            Status.INVALID_ARGUMENT_REJECTED,
            "libfranka: Move command rejected: maximum path deviation out of range!",
        ),
    ],
)
def test_the_vendors_words(command, status, text):
    with pytest.raises(errors.CommandException) as error:
        check_answer(command, status, RobotMode.OTHER)
    assert error.value.text == text


def test_undefined_mode_has_empty_quotes():
    with raises(errors.CommandException, 'current mode ("")!'):
        check_answer(CommandName.SET_LOAD, Status.COMMAND_NOT_POSSIBLE_REJECTED, 77)


def test_no_model_library():
    with raises(errors.ModelException, "libfranka: Server reports error when loading model library."):
        check_answer(CommandName.LOAD_MODEL_LIBRARY, Status.ERROR)
