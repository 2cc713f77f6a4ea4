"""Every struct, id, status table and constant of the four protocols against literal numbers."""

import numpy as np
import pytest

from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, RobotMode, arm_dialect
from franka_rt.errors import InvalidArgumentException, InvalidOperationException, ProtocolException
from franka_rt.gripper_dialect import DeviceStatus, VacuumProfile
from franka_rt.layouts import DEFAULT_DEVIATION, ERROR_NAMES, ERROR_TEXTS
from franka_rt.versions import FciVersion
from tests.rt.layouts import ARMS, DIALECTS, layout

COMMANDS = [(name, command) for name in DIALECTS for command in layout(name)["commands"]]
SNAKE = {"SetEEToK": "SET_EE_TO_K", "SetNEToEE": "SET_NE_TO_EE"}


def command_name(identifier):
    """SetLoad -> CommandName.SET_LOAD."""
    snake = "".join(f"_{c}" if c.isupper() else c.upper() for c in identifier).lstrip("_")
    return CommandName[SNAKE.get(identifier, snake)]


def flattened(dtype, prefix="", base=0):
    """Leaf fields of a numpy struct as (name, offset, base dtype, shape)."""
    for name in dtype.names or ():
        field, offset = dtype.fields[name][:2]
        if field.names:
            yield from flattened(field, f"{prefix}{name}.", base + offset)
        else:
            yield f"{prefix}{name}", base + offset, field.base.str.replace("|", ""), list(field.shape)


def expected(name, struct):
    entry = layout(name)["structs"][struct]
    fields = entry.get("flat_fields", entry["fields"])
    return [(f["name"], f["offset"], f["dtype"], f["shape"]) for f in fields if f.get("dtype") != "bytes"]


def assert_struct(name, struct, dtype):
    wanted = [f for f in expected(name, struct) if f[2] is not None]
    assert list(flattened(dtype)) == wanted
    size = layout(name)["structs"][struct].get("size")
    assert dtype.itemsize == (layout(name)["structs"][struct]["min_size"] if size is None else size)


@pytest.mark.parametrize("name", DIALECTS)
def test_header_and_state(name):
    dialect, data = DIALECTS[name], layout(name)
    assert_struct(name, data["header_struct"], dialect.header)
    assert dialect.header_struct.size == data["header_size"]
    assert_struct(name, data["state_struct"], dialect.state)
    assert dialect.state.itemsize == data["state_size"]
    assert dialect.port == data["ports"]["command_tcp"]
    assert dialect.version == data.get("fci_version", data.get("protocol_version"))


@pytest.mark.parametrize("dialect", ARMS, ids=lambda d: d.label)
def test_command_datagram(dialect):
    assert_struct(f"v{dialect.version}", "RobotCommand", dialect.command)
    assert dialect.command.itemsize == {5: 370, 10: 371}[dialect.version]


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_command(name, command):
    spec, entry = DIALECTS[name].spec(command_name(command)), layout(name)["commands"][command]
    assert spec.wire_id == entry["id"]
    if entry.get("display_name"):
        assert spec.name.value == entry["display_name"]
    assert spec.request.itemsize == entry["request_payload_size"]
    assert_struct(name, entry["request"], spec.request)
    response = [f for f in expected(name, entry["response"]) if f[2] not in (None, "bytes")]
    assert list(flattened(spec.response)) == response[: len(spec.response.names or ())]
    assert spec.trailing == (entry["response_message_size"] is None)
    if not spec.trailing:
        assert spec.response.itemsize == entry["response_payload_size"]
    assert {f"k{status.value}": n for n, status in enumerate(spec.statuses)} == entry["statuses"]


@pytest.mark.parametrize("name", DIALECTS)
def test_no_command_is_missing_or_invented(name):
    assert {command_name(c) for c in layout(name)["commands"]} == set(DIALECTS[name].commands)


@pytest.mark.parametrize("dialect", ARMS, ids=lambda d: d.label)
def test_modes(dialect):
    enums = layout(f"v{dialect.version}")["enums"]

    def table(name):
        return {key[1:].upper(): value for key, value in enums[name]["values"].items()}

    def ours(members):
        return {key.name.replace("_", ""): value for key, value in members}

    assert ours((m, m.value) for m in RobotMode) == table("RobotMode")
    assert ours((m, m.value) for m in ControllerMode) == table("ControllerMode")
    assert ours(dialect.move_generators.items()) == table("Move.MotionGeneratorMode")
    state_modes = {m for m in GeneratorMode if m in dialect.move_generators or m is GeneratorMode.IDLE}
    assert ours((m, m.value) for m in state_modes) == table("MotionGeneratorMode")
    move_controllers = {m for m in ControllerMode if m is not ControllerMode.OTHER}
    assert ours((m, m.value) for m in move_controllers) == table("Move.ControllerMode")


def test_vacuum_gripper_enums():
    enums = layout("vacuum_gripper")["enums"]
    assert {f"k{m.name.capitalize()}": m.value for m in DeviceStatus} == enums["DeviceStatus"]["values"]
    assert {f"k{m.name}": m.value for m in VacuumProfile} == enums["Profile"]["values"]


@pytest.mark.parametrize("dialect", ARMS, ids=lambda d: d.label)
def test_error_names(dialect):
    errors = layout(f"v{dialect.version}")["errors"]
    assert [e["public_attribute"] for e in errors] == list(ERROR_NAMES)
    assert [e["name"] for e in errors] == [ERROR_TEXTS.get(n, n) for n in ERROR_NAMES]


@pytest.mark.parametrize("dialect", ARMS, ids=lambda d: d.label)
def test_constants(dialect):
    client = layout(f"v{dialect.version}")["client_constants"]
    rates, limits = client["rate_limiting"], dialect.limits
    np.testing.assert_array_equal(limits.torque_rate, rates["kMaxTorqueRate"])
    np.testing.assert_array_equal(limits.joint_jerk, rates["kMaxJointJerk"])
    np.testing.assert_array_equal(limits.joint_acceleration, rates["kMaxJointAcceleration"])
    if "kMaxJointVelocity" in rates:
        np.testing.assert_array_equal(limits.joint_velocity, rates["kMaxJointVelocity"])
    else:
        assert limits.joint_velocity is None
    for ours, kind in (
        (limits.translational, "Translational"),
        (limits.rotational, "Rotational"),
        (limits.elbow, "Elbow"),
    ):
        assert ours == tuple(rates[f"kMax{kind}{what}"] for what in ("Jerk", "Acceleration", "Velocity"))
    assert dialect.limit_rate is client["default_limit_rate"]
    assert dialect.cutoff_frequency == client["default_cutoff_frequency_hz"]
    assert dialect.tcp_timeout == client["tcp_connect_send_recv_timeout_s"]
    assert dialect.udp_timeout == client["udp_receive_timeout_s"]
    assert (
        dict(zip(("translation", "rotation", "elbow"), DEFAULT_DEVIATION, strict=True)) == client["default_deviation"]
    )


def test_wire_ids_by_version():
    assert CommandName.SET_FILTERS.command(FciVersion.V5) == 11
    assert CommandName.SET_FILTERS.command(FciVersion.V10) is None
    assert CommandName.AUTOMATIC_ERROR_RECOVERY.command(FciVersion.V5) == 12
    assert CommandName.AUTOMATIC_ERROR_RECOVERY.command(FciVersion.V10) == 10


def test_missing_command_has_the_vendors_sentence():
    with pytest.raises(InvalidOperationException) as error:
        arm_dialect(5).spec(CommandName.GET_ROBOT_MODEL)
    assert error.value.text == "libfranka: Get Robot Model is not available on FCI version 5."


@pytest.mark.parametrize("dialect", ARMS, ids=lambda d: d.label)
@pytest.mark.parametrize("number", range(21))
def test_move_status_table(dialect, number):
    spec, table = dialect.spec(CommandName.MOVE), layout(f"v{dialect.version}")["enums"]["Move.Status"]["values"]
    if number in table.values():
        assert f"k{spec.status(number).value}" == next(k for k, v in table.items() if v == number)
        assert spec.status_number(spec.status(number)) == number
    else:
        with pytest.raises(ProtocolException, match="libfranka: Unexpected response while handling Move command!"):
            spec.status(number)


def test_status_that_a_version_lacks_cannot_be_sent():
    status = arm_dialect(10).spec(CommandName.SET_LOAD).statuses[3]
    with pytest.raises(InvalidArgumentException):
        arm_dialect(5).spec(CommandName.SET_LOAD).status_number(status)


def test_unknown_version():
    with pytest.raises(ValueError, match="9"):
        arm_dialect(9)
