"""RobotState against the wire layout, libfranka's derived values and texts."""

import copy
import pickle

import numpy as np
import pytest

from franka_rt import combined_load
from franka_rt.dialect import ControllerMode, GeneratorMode, RobotMode, unpack
from franka_rt.errors import InvalidArgumentException, ProtocolException
from franka_rt.gripper_dialect import DeviceStatus
from franka_rt.gripper_state import GripperState, VacuumGripperState
from franka_rt.layouts import ERROR_NAMES
from franka_rt.state import RobotState
from franka_rt.state_writer import StateWriter
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from tests.rt.layouts import ARMS, layout

FIELDS = [
    pytest.param(arm, field, id=f"v{arm.version}-{field['name']}")
    for arm in ARMS
    for field in layout(f"v{arm.version}")["structs"]["RobotState"]["fields"]
    if field["dtype"] in ("<f4", "<f8")
]
LOADS = {  # FCI protocol, section 21
    "m_ee": 0.73,
    "F_x_Cee": (-0.01, 0, -0.03),
    "I_ee": np.diag((0.001, 0.0025, 0.0017)),
    "m_load": 0.5,
    "F_x_Cload": (0.01, -0.2, 0.03),
    "I_load": np.diag((0.001, 0.025, 0.3)),
}


@pytest.fixture
def writer(arm):
    """A state with every number different."""
    writer = StateWriter(arm)
    rng = np.random.default_rng(3)
    for name in writer._flat:
        shape = writer.record[name].shape
        writer.record[name] = rng.uniform(-3, 3, shape)
    writer.update(message_id=123456789, robot_mode=RobotMode.IDLE, control_command_success_rate=0.5)
    return writer


@pytest.fixture
def state(arm, writer):
    return RobotState(arm, writer.datagram())


@pytest.mark.parametrize(("arm", "field"), FIELDS)
def test_field_shows_the_bytes_at_its_offset(arm, field):
    datagram = np.full(arm.state.itemsize, 0x3F, np.uint8)
    size = field["size"] // np.dtype(field["dtype"]).itemsize
    values = np.random.default_rng(2).uniform(-5, 5, size).astype(field["dtype"])
    datagram[field["offset"] : field["offset"] + field["size"]] = np.frombuffer(values.tobytes(), np.uint8)
    shown = np.asarray(getattr(RobotState(arm, datagram.tobytes()), field["name"]))
    column_major = "column-major" in field["unit"]
    assert shown.dtype == np.float64
    np.testing.assert_array_equal((shown.T if column_major else shown).ravel(), values.astype(np.float64))


def test_arrays_are_read_only_c_ordered_float64(state):
    for name, value in ((n, getattr(state, n)) for n in state.to_dict()):
        if isinstance(value, np.ndarray) and name not in ("F_x_Ctotal", "I_total"):
            assert value.flags.c_contiguous
            assert not value.flags.writeable, name
            assert value.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        state.q[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        state.O_T_EE[0, 3] = 1.0


def test_poses_are_rows_first(arm):
    writer, pose = StateWriter(arm), np.eye(4)
    pose[:3, 3] = (0.25, 0.5, 0.75)
    pose[0, 1] = -1.0
    writer["O_T_EE"] = pose
    np.testing.assert_array_equal(RobotState(arm, writer.datagram()).O_T_EE, pose)
    assert writer.record["O_T_EE"][12] == 0.25
    assert writer.record["O_T_EE"][4] == -1.0


def test_derived_load_matches_the_reference_implementation():
    writer = StateWriter(V5)
    writer.update(**LOADS)
    state = RobotState(V5, writer.datagram())
    assert state.m_total == 0.73 + 0.5
    np.testing.assert_allclose(
        state.F_x_Ctotal, (-0.00186991869918699, -0.0813008130081301, -0.00560975609756098), rtol=1e-13
    )
    flat = (0.0149382113821138, 0.0011869918699187, -0.00035609756097561, 0.0011869918699187, 0.0286869918699187)
    flat += (0.0035609756097561, -0.00035609756097561, 0.0035609756097561, 0.313688617886179)
    np.testing.assert_allclose(state.I_total.T.ravel(), flat, rtol=1e-12)


def test_derived_inertia_is_added_in_the_order_of_the_loops_in_c():
    """To the last bit, which np.dot is not."""
    none, still = (0.0, np.zeros(3), np.zeros((3, 3))), np.zeros(3)
    for c in np.random.default_rng(0).normal(size=(200, 3)):
        x, y, z = c.tolist()
        inertia = combined_load.inertia((1.0, c, np.zeros((3, 3))), none, 1.0, still)
        assert inertia[1, 1] == (x * x + y * y + z * z) - y * y


def test_derived_mass_is_added_in_single_precision_on_v10():
    writer = StateWriter(V10)
    writer.update(m_ee=0.73, m_load=0.1)
    state = RobotState(V10, writer.datagram())
    assert state.m_total == float(np.float32(0.73) + np.float32(0.1))
    assert state.m_total != float(np.float32(0.73)) + float(np.float32(0.1))


def test_no_mass_no_inertia(arm):
    writer = StateWriter(arm)
    writer["I_load"] = np.eye(3)
    state = RobotState(arm, writer.datagram())
    assert state.m_total == 0.0
    assert not state.F_x_Ctotal.any()
    assert not state.I_total.any()


def test_inertia_of_a_massless_part_does_not_count(arm):
    writer = StateWriter(arm)
    writer.update(m_load=1.0, I_ee=np.eye(3), I_load=2 * np.eye(3))
    np.testing.assert_array_equal(RobotState(arm, writer.datagram()).I_total, 2 * np.eye(3))


@pytest.mark.parametrize("index", range(41))
@pytest.mark.parametrize("field", ["errors", "reflex_reason"])
def test_one_error_byte_is_exactly_one_name(arm, index, field):
    datagram = bytearray(arm.state.itemsize)
    datagram[arm.offsets[field] + index] = 1
    state = RobotState(arm, bytes(datagram))
    errors = state.current_errors if field == "errors" else state.last_motion_errors
    other = state.last_motion_errors if field == "errors" else state.current_errors
    name = layout(f"v{arm.version}")["errors"][index]
    assert list(errors) == [name["public_attribute"]]
    assert str(errors) == f'["{name["name"]}"]'
    assert bool(errors)
    assert not other
    assert [n for n in ERROR_NAMES if getattr(errors, n)] == [name["public_attribute"]]


def test_unknown_error_name_is_an_error(state):
    with pytest.raises(AttributeError, match="joint_reflexes"):
        _ = state.current_errors.joint_reflexes
    with pytest.raises(KeyError):
        assert "nonsense" not in state.current_errors
    with pytest.raises(InvalidArgumentException, match="nonsense"):
        StateWriter(state.dialect)["errors"] = {"nonsense"}


def test_modes(arm, writer):
    writer.update(motion_generator_mode=2, controller_mode=2, robot_mode=4)
    state = RobotState(arm, writer.datagram())
    assert state.modes == (2, 2, 4)
    assert state.motion_generator_mode is GeneratorMode.JOINT_VELOCITY
    assert state.controller_mode is ControllerMode.EXTERNAL_CONTROLLER
    assert state.robot_mode is RobotMode.REFLEX
    assert state.needs_recovery


def test_undefined_modes_are_shown_not_raised(arm, writer):
    writer.update(motion_generator_mode=77, controller_mode=78, robot_mode=79)
    state = RobotState(arm, writer.datagram())
    assert (state.motion_generator_mode, state.controller_mode, state.robot_mode) == (77, 78, RobotMode.OTHER)
    assert "OTHER" in repr(state)


def test_recovery_is_visible_without_current_errors(arm):
    writer = StateWriter(arm)
    writer.update(robot_mode=RobotMode.REFLEX, reflex_reason={"cartesian_reflex"})
    state = RobotState(arm, writer.datagram())
    assert state.needs_recovery
    assert not state.current_errors
    text = repr(state)
    assert "REFLEX" in text
    assert "cartesian_reflex" in text


@pytest.mark.parametrize(
    "duplicate", [lambda s: s.copy(), copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_duplicates_are_equal(state, duplicate):
    other = duplicate(state)
    assert other == state
    assert other.datagram == state.datagram
    for name, value in state.to_dict().items():
        np.testing.assert_array_equal(value, other.to_dict()[name])


def test_a_copy_is_writable_and_independent(state):
    other, before = state.copy(), state.q[0]
    other.q[0] = 42.0
    other.O_T_EE[0, 3] = 43.0
    assert (state.q[0], other.q[0], other.O_T_EE[0, 3]) == (before, 42.0, 43.0)
    again = pickle.loads(pickle.dumps(other))
    assert (again.q[0], again.O_T_EE[0, 3]) == (42.0, 43.0)
    assert other != state
    assert other == again
    other.q[0] = before
    assert other != state


def test_dictionary_and_text(arm, state):
    fields = state.to_dict()
    assert ("accelerometer_top" in fields) == (arm is V10)
    assert fields["time"] == 123456.789
    assert fields["robot_mode"] == "idle"
    text = str(state)
    assert text.startswith('{"O_T_EE": [')
    assert text.endswith('"control_command_success_rate": 0.5, "robot_mode": "Idle", "time": 123456789}')
    first = text[len('{"O_T_EE": [') : text.index("]")].split(",")
    np.testing.assert_allclose([float(x) for x in first], state.O_T_EE.T.ravel(), rtol=1e-5)


def test_accelerometers_belong_to_v10(state, arm):
    if arm is V10:
        assert state.accelerometer_top.shape == state.accelerometer_bottom.shape == (6, 3)
    else:
        with pytest.raises(AttributeError, match="FCI version 5 has no accelerometer_top"):
            _ = state.accelerometer_top


def test_state_does_not_follow_the_callers_buffer(arm, writer):
    buffer = bytearray(writer.datagram())
    state = RobotState(arm, buffer)
    before = state.q.copy()
    buffer[:] = bytes(len(buffer))
    np.testing.assert_array_equal(state.q, before)


def test_missing_attribute(state):
    with pytest.raises(AttributeError, match="qq"):
        _ = state.qq


def test_gripper_state():
    state = GripperState(70000, 0.04, 0.08, True, 31)
    assert len(state.datagram()) == 23
    assert GripperState.from_datagram(state.datagram()) == state
    assert state.to_dict() == {"width": 0.04, "max_width": 0.08, "is_grasped": True, "temperature": 31, "time": 70.0}
    with pytest.raises(ProtocolException, match="incorrect object size"):
        GripperState.from_datagram(bytes(24))


def test_vacuum_gripper_state():
    state = VacuumGripperState(5, True, False, True, DeviceStatus.ORANGE, 90, 500)
    assert VacuumGripperState.from_datagram(state.datagram()) == state
    odd = VacuumGripperState.from_datagram(VacuumGripperState(5, True, False, True, 9, 70000, -1).datagram())
    assert (odd.device_status, odd.actual_power, odd.vacuum) == (9, 70000 - 65536, 65535)
    assert pickle.loads(pickle.dumps(state)) == state


def test_writer_agrees_with_the_record(arm, writer):
    record = unpack(arm.state, writer.datagram())
    np.testing.assert_array_equal(record["q_d"], writer["q_d"])
