"""One suite for every model backend: reference values, the state form against the q form, and each other."""

import os
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import franka_jax
from franka_rt import RealtimeConfig, Robot, VersionPolicy
from franka_rt.dialect import CommandName
from franka_rt.errors import InvalidArgumentException, InvalidOperationException, ModelException
from franka_rt.frames import FRAMES
from franka_rt.model import JaxBackend, Model, Payload
from franka_rt.model_library import SWITCH, SYMBOLS, ModelLibrary
from franka_rt.state import RobotState
from franka_rt.state_writer import StateWriter
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from tests.rt import stub_library
from tests.rt.expect import raises
from tests.rt.scripted import URDF, ScriptedServer

REAL_LIBRARY = "FRANKA_FER_MODEL_LIBRARY"
BACKENDS = [("fr3", "compiled"), ("fr3", "jax"), ("fer", "compiled"), ("fer", "jax"), ("fer", "library")]
ROWS = {"compiled": range(0, 60, 3), "library": range(60), "jax": range(0, 60, 30)}
SOME = ("joint5", "stiffness")  # every frame is compiled anew; all ten are compared where the kernels are tested
FRAMES_OF = {"compiled": SOME, "library": FRAMES, "jax": SOME}
CLOSE = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def library_path(tmp_path_factory):
    return stub_library.build(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module", params=BACKENDS, ids=lambda p: f"{p[0]}-{p[1]}")
def case(request, fr3_reference, fer_reference):
    """A model with its reference and the configurations that its speed allows."""
    robot, backend = request.param
    if backend == "library":
        model = Model(ModelLibrary(request.getfixturevalue("library_path")), robot)
    else:
        jax_model = franka_jax.fer() if robot == "fer" else franka_jax.Model.from_urdf(URDF.decode())
        model = Model(JaxBackend(jax_model) if backend == "jax" else franka_jax.compile_model(jax_model), robot)
    reference = fr3_reference if robot == "fr3" else fer_reference
    return SimpleNamespace(model=model, reference=reference, rows=ROWS[backend], backend=backend, robot=robot)


def payload_of(reference, load):
    return Payload(*(reference[name][load] for name in ("m_total", "F_x_Ctotal", "I_total")))


def loads_of(reference):
    return range(len(reference["m_total"]))


def state_of(dialect, reference, row, load):
    """A state at a reference configuration, the payload as an external load."""
    writer = StateWriter(dialect)
    writer.update(
        q=reference["q"][row],
        dq=reference["dq"][row],
        F_T_EE=reference["F_T_EE"][load],
        EE_T_K=reference["EE_T_K"][load],
        m_load=reference["m_total"][load],
        F_x_Cload=reference["F_x_Ctotal"][load],
        I_load=reference["I_total"][load],
        O_ddP_O=(0.1, -0.2, -9.7),
    )
    return RobotState(dialect, writer.datagram())


@pytest.mark.parametrize("call", ["pose", "zero_jacobian", "body_jacobian"])
def test_kinematics_match_the_reference(case, call):
    for row in case.rows:
        for load in loads_of(case.reference):
            for frame in FRAMES_OF[case.backend]:
                tools = case.reference["F_T_EE"][load], case.reference["EE_T_K"][load]
                value = getattr(case.model, call)(frame, case.reference["q"][row], *tools)
                np.testing.assert_allclose(value, case.reference[call][row, load, FRAMES.index(frame)], **CLOSE)


def test_dynamics_match_the_reference(case):
    """Loaded mass and Coriolis of the FER follow its library's rule, which the reference does not have."""
    for row in case.rows:
        q, dq = case.reference["q"][row], case.reference["dq"][row]
        for load in loads_of(case.reference):
            payload = payload_of(case.reference, load)
            gravity = case.model.gravity(q, payload, case.reference["gravity_tilted_vector"])
            np.testing.assert_allclose(gravity, case.reference["gravity_tilted"][row, load], **CLOSE)
            if case.robot == "fr3" or payload.m_total == 0:
                np.testing.assert_allclose(case.model.mass(q, payload), case.reference["mass"][row, load], **CLOSE)
                coriolis = case.model.coriolis(q, dq, payload)
                np.testing.assert_allclose(coriolis, case.reference["coriolis"][row, load], **CLOSE)


def test_fer_matches_its_own_library_with_and_without_load(case, library_samples):
    if case.robot != "fer":
        return
    payload = SimpleNamespace(**{k: np.array(v) for k, v in library_samples["payload"].items()})
    for sample in library_samples["samples"]:
        for key, load in (("no_load", None), ("payload", payload)):
            expected = sample[key]
            np.testing.assert_allclose(case.model.mass(sample["q"], load), expected["mass"], rtol=0, atol=1e-13)
            coriolis = case.model.coriolis(sample["q"], sample["dq"], load)
            np.testing.assert_allclose(coriolis, expected["coriolis"], rtol=0, atol=1e-13)


@pytest.mark.parametrize("dialect", [V5, V10], ids=lambda d: d.label)
def test_state_form_is_the_q_form_of_the_states_numbers(case, dialect):
    for row in list(case.rows)[:3]:
        for load in (0, 2, 1, 2):
            state = state_of(dialect, case.reference, row, load)
            own = Payload(state.m_total, state.F_x_Ctotal, state.I_total)
            model, q, dq = case.model, state.q.copy(), state.dq.copy()
            np.testing.assert_array_equal(model.mass(state), model.mass(q, own))
            np.testing.assert_array_equal(model.coriolis(state), model.coriolis(q, dq, own))
            np.testing.assert_array_equal(model.gravity(state), model.gravity(q, own, state.O_ddP_O))
            upright = (0, 0, -9.81)
            np.testing.assert_array_equal(model.gravity(state, gravity_earth=upright), model.gravity(q, own, upright))
            for frame in ("end_effector", "stiffness"):
                for call in (model.pose, model.zero_jacobian, model.body_jacobian):
                    np.testing.assert_array_equal(call(frame, state), call(frame, q, state.F_T_EE, state.EE_T_K))


def test_evaluate_is_all_calls_at_once(case):
    state = state_of(V5, case.reference, 0, 2)
    result = case.model.evaluate(state)
    again = case.model.evaluate(state, out=result)
    expected = {
        "O_T_EE": case.model.pose("end_effector", state),
        "zero_jacobian": case.model.zero_jacobian("end_effector", state),
        "mass": case.model.mass(state),
        "coriolis": case.model.coriolis(state),
        "gravity": case.model.gravity(state),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(again, name), value, **CLOSE)


def test_evaluate_fills_what_it_is_given(case):
    """Again and again, whatever arrays they are, also those of two callers in turn."""
    states = [state_of(V5, case.reference, i, i) for i in range(3)]
    results = [case.model.evaluate(state) for state in states]
    shapes = [array.shape for array in results[0]]
    mine = case.model.evaluate(states[0])
    rows = mine._replace(zero_jacobian=np.zeros((7, 6)).T)
    narrow = [np.zeros(shape, np.float32) for shape in shapes]
    kinds = {"an earlier result": mine, "one turned around": rows, "a list": [np.zeros(s) for s in shapes]}
    for state, expected in [*zip(states, results, strict=True)] * 2:
        for kind, out in kinds.items():
            assert case.model.evaluate(state, out=out) is out
            for got, wanted in zip(out, expected, strict=True):
                np.testing.assert_array_equal(got, wanted, err_msg=kind)
        for got, wanted in zip(case.model.evaluate(state, out=narrow), expected, strict=True):
            np.testing.assert_array_equal(got, wanted.astype(np.float32))


def test_a_changed_copy_of_a_state_counts(case):
    state = state_of(V5, case.reference, 0, 1)
    before = case.model.gravity(state)
    changed = state.copy()
    changed.F_x_Cload[2] += 0.1
    changed.q[1] += 0.1
    expected = case.model.gravity(changed.q, changed, changed.O_ddP_O)
    np.testing.assert_array_equal(case.model.gravity(changed), expected)
    assert np.abs(case.model.gravity(changed) - before).max() > 0.1
    np.testing.assert_array_equal(case.model.gravity(state), before)


def test_no_payload_is_never_remembered(case):
    q, payload = case.reference["q"][1], payload_of(case.reference, 1)
    unloaded = case.model.gravity(q)
    case.model.mass(q, payload)
    case.model.gravity(q, payload)
    np.testing.assert_array_equal(case.model.gravity(q), unloaded)
    np.testing.assert_allclose(case.model.gravity(q, Payload(0.0, np.ones(3), np.zeros((3, 3)))), unloaded, **CLOSE)


def test_results_are_writable_and_independent(case):
    q = case.reference["q"][1]
    for call in (lambda: case.model.mass(q), lambda: case.model.pose("flange", q), lambda: case.model.gravity(q)):
        first, second = call(), call()
        assert first.dtype == np.float64
        assert first.flags.c_contiguous
        first[0] += 1.0
        np.testing.assert_array_equal(second, call())


@pytest.mark.parametrize("frame", ["joint8", "hand", "EE", 10, -1, None, ["joint1"]], ids=str)
def test_unknown_frames_are_refused(case, frame):
    for q in (np.zeros(7), RobotState(V5, StateWriter(V5).datagram())):
        with raises(InvalidArgumentException, "Invalid frame given.", "joint1, joint2", "stiffness"):
            case.model.pose(frame, q)


@pytest.mark.parametrize("gravity", [-9.81, [-9.81], (0.0, -9.81)], ids=str)
def test_gravity_is_three_numbers(case, gravity):
    """In all forms: one number would not be a vector, but its like in every direction."""
    state = RobotState(V5, StateWriter(V5).datagram())
    for q in (state, state.q):
        with raises(ValueError, "gravity_earth"):
            case.model.gravity(q, gravity_earth=gravity)


def test_the_wrong_number_of_joints(case):
    """No backend reads beyond what it was given."""
    short, q = np.zeros(6), np.zeros(7)
    model = case.model
    calls = (model.mass, model.gravity, lambda x: model.pose("joint5", x), lambda x: model.coriolis(x, q))
    for call in (*calls, lambda x: model.coriolis(q, x), lambda x: model.zero_jacobian("joint5", x)):
        with raises(ValueError, "q has shape (6,)" if case.backend != "library" else "q needs 7 numbers"):
            call(short)


def test_frames_of_franka_jax_are_understood(case):
    q = case.reference["q"][1]
    np.testing.assert_array_equal(case.model.pose(franka_jax.Frame.JOINT5, q), case.model.pose("joint5", q))


def test_end_effector_transform_is_used_as_it_is(case):
    q, F_T_EE = case.reference["q"][1], np.eye(4)
    F_T_EE[:2, :2] = 0.7071 * np.array([[1, 1], [-1, 1]])
    pose = case.model.pose("end_effector", q, F_T_EE)
    np.testing.assert_allclose(pose, case.model.pose("flange", q) @ F_T_EE, rtol=0, atol=1e-15)


def test_zero_gravity_in_the_state_is_zero_with_a_warning(case):
    state = RobotState(V5, StateWriter(V5).datagram())
    with pytest.warns(RuntimeWarning, match="O_ddP_O is zero"):
        assert not case.model.gravity(state).any()


# -- the shared object ---------------------------------------------------------------------------------------------


def test_thirty_symbols():
    assert len(SYMBOLS) == len(set(SYMBOLS)) == 30


def test_library_from_bytes_leaves_no_file(library_path, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    library = ModelLibrary.from_bytes(library_path.read_bytes())
    assert list(tmp_path.iterdir()) == []
    assert library.gravity(np.zeros(7)).shape == (7,)


def test_library_file_is_private_while_it_exists(library_path, monkeypatch):
    seen = []

    def look(self, path):
        seen.append((os.stat(path).st_mode & 0o777, os.stat(os.path.dirname(path)).st_mode & 0o777))

    monkeypatch.setattr(ModelLibrary, "__init__", look)
    ModelLibrary.from_bytes(b"data")
    assert seen == [(0o600, 0o700)]


def test_what_is_no_library(tmp_path):
    with raises(ModelException, "libfranka: Cannot load model library:"):
        ModelLibrary.from_bytes(b"this is no shared object")


def test_missing_symbol(tmp_path):
    with raises(ModelException, "libfranka: Symbol cannot be found: g_NE"):
        ModelLibrary(stub_library.build(tmp_path, "-DWITHOUT_GRAVITY"))


def test_environment_switch(library_path, monkeypatch):
    monkeypatch.setenv(SWITCH, "off")
    with raises(InvalidOperationException, SWITCH):
        ModelLibrary(library_path)


def test_real_library_if_there_is_one(fer_reference, library_samples):
    path = os.environ.get(REAL_LIBRARY)
    if path is None:
        warnings.warn(f"{REAL_LIBRARY} names no library of a real FER: nothing was compared with one", stacklevel=1)
        return
    real, ours = Model(ModelLibrary(path)), Model(franka_jax.compile_model(franka_jax.fer()))
    for row in range(len(fer_reference["q"])):
        q, dq = fer_reference["q"][row], fer_reference["dq"][row]
        for load in loads_of(fer_reference):
            payload = payload_of(fer_reference, load)
            np.testing.assert_allclose(ours.mass(q, payload), real.mass(q, payload), **CLOSE)
            np.testing.assert_allclose(ours.coriolis(q, dq, payload), real.coriolis(q, dq, payload), **CLOSE)
            np.testing.assert_allclose(ours.gravity(q, payload), real.gravity(q, payload), **CLOSE)


# -- from a robot --------------------------------------------------------------------------------------------------


def connect(server, dialect):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        version = VersionPolicy.exact(dialect.fci_version)
        return Robot(server.host, RealtimeConfig.IGNORE, version, server.port)


def test_library_of_the_robot(library_path, fer_reference):
    with ScriptedServer(V5) as server:
        data = library_path.read_bytes()
        server.on[CommandName.LOAD_MODEL_LIBRARY] = lambda s, r: s.answer(r, data=data)
        with connect(server, V5) as robot:
            model = robot.load_model_from_robot()
    np.testing.assert_allclose(model.mass(fer_reference["q"][1]), fer_reference["mass"][1, 0], **CLOSE)


def test_switch_forbids_before_sending(monkeypatch):
    monkeypatch.setenv(SWITCH, "off")
    with ScriptedServer(V5) as server, connect(server, V5) as robot:
        with raises(InvalidOperationException, SWITCH):
            robot.load_model_from_robot()
        assert CommandName.LOAD_MODEL_LIBRARY not in server.asked()


@pytest.mark.parametrize("backend", ["compiled", "jax"])
@pytest.mark.parametrize("dialect", [V5, V10], ids=lambda d: d.label)
def test_load_model_picks_the_arm_of_the_session(dialect, backend, fr3_reference, fer_reference):
    reference = {V5: fer_reference, V10: fr3_reference}[dialect]
    with ScriptedServer(dialect) as server, connect(server, dialect) as robot:
        model = robot.load_model(backend)
    assert dialect.robot in repr(model)
    np.testing.assert_allclose(model.gravity(reference["q"][1]), reference["gravity"][1, 0], **CLOSE)


def test_mobile_robot_has_no_arm_model():
    with ScriptedServer(V10) as server:
        text = URDF.replace(b'robot name="', b'robot name="tmrv0_')
        server.on[CommandName.GET_ROBOT_MODEL] = lambda s, r: s.answer(r, data=text)
        with (
            connect(server, V10) as robot,
            raises(InvalidOperationException, "loadModel() is not available for mobile"),
        ):
            robot.load_model()
