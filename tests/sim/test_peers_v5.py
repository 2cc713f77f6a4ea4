"""The vendor's own client of version 5 (libfranka 0.9 inside panda-python) against the simulated FER."""

import jax
import numpy as np
import pytest

from tests.reference import READY
from tests.sim.peer import Peer

pytestmark = pytest.mark.peer

FRAMES = {f"kJoint{i}": f"joint{i}" for i in range(1, 8)}
FRAMES |= {"kFlange": "flange", "kEndEffector": "end_effector", "kStiffness": "stiffness"}


@pytest.fixture
def peer(fer):
    return Peer("panda_py", fer.host)


@pytest.fixture(scope="module")
def model_values(fer_sim):
    """One session asks for the model library, evaluates it, and once more at a state with a load."""
    return Peer("panda_py", fer_sim.host).run("model")


def matrix(flat, n=4):
    return np.reshape(flat, (-1, n)).T


def payload(m, c, I):
    from franka_jax import Payload

    return Payload(m, c, np.reshape(I, (3, 3)).T)


def test_states(peer):
    seen = peer.run("connect_and_read")
    assert seen["version"] == 5
    for state in seen["states"]:
        assert state["mode"] == "RobotMode.kIdle"
        np.testing.assert_allclose(state["q"], READY, atol=1e-9)


@pytest.mark.parametrize("case", [0, 1], ids=["no load", "load"])
def test_dynamics_of_the_served_library_equal_ours(model_values, fer_model, case):
    """Our FER model, as C in a shared object, evaluated by the vendor's code."""
    seen = model_values["cases"][case]
    q, dq, load = seen["q"], seen["dq"], payload(seen["m"], seen["c"], seen["I"])
    np.testing.assert_allclose(matrix(seen["mass"], 7), fer_model.mass(q, load), atol=1e-12, rtol=0)
    np.testing.assert_allclose(seen["coriolis"], fer_model.coriolis(q, dq, load), atol=1e-12, rtol=0)
    gravity = fer_model.gravity(q, load, (2.9, -4.1, -8.4))
    np.testing.assert_allclose(seen["gravity"], gravity, atol=1e-12, rtol=0)


@pytest.fixture(scope="module")
def kinematics(fer_model):
    """Pose and both Jacobians of all frames, compiled once."""
    functions = fer_model.pose, fer_model.body_jacobian, fer_model.zero_jacobian
    return jax.jit(lambda q, F, K: {name: [f(frame, q, F, K) for f in functions] for name, frame in FRAMES.items()})


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("case", [0, 1], ids=["no load", "load"])
def test_kinematics_of_the_served_library_equal_ours(model_values, kinematics, case, name):
    seen = model_values["cases"][case]
    ours = kinematics(*(np.array(seen[key]) for key in ("q", "F", "K")))[name]
    for theirs, mine, rows in zip(seen[name], ours, (4, 6, 6), strict=True):
        np.testing.assert_allclose(matrix(theirs, rows), mine, atol=1e-12, rtol=0)


def test_model_at_a_state_with_load(model_values, fer_model):
    state, seen = model_values["state"], model_values["at_state"]
    load = payload(state["m_total"], state["F_x_Ctotal"], state["I_total"])
    gravity = fer_model.gravity(state["q"], load)
    np.testing.assert_allclose(matrix(seen["mass"], 7), fer_model.mass(state["q"], load), atol=1e-12, rtol=0)
    np.testing.assert_allclose(seen["coriolis"], fer_model.coriolis(state["q"], state["dq"], load), atol=1e-12, rtol=0)
    np.testing.assert_allclose(seen["gravity"], gravity, atol=1e-12, rtol=0)
    np.testing.assert_allclose(state["tau_J"], gravity, atol=1e-4)  # the arm stands still


def test_setters_are_echoed_and_validated(peer):
    seen = peer.run("setters")
    state = seen["state"]
    np.testing.assert_allclose(matrix(state["EE_T_K"])[:3, 3], (0.01, 0.02, 0.03))
    assert matrix(state["F_T_EE"])[2, 3] == pytest.approx(0.1034 + 0.05)
    assert state["m_total"] == pytest.approx(1.23)
    assert [text is not None and text.endswith("rejected: invalid argument!") for text in seen["refused"]] == [True] * 2


def test_torque_control_for_a_second(peer):
    seen = peer.run("torque")
    assert (seen["cycles"], seen["largest_dt"], seen["rate"]) == (1001, 1, 1.0)
    np.testing.assert_allclose(seen["end"]["q"], READY, atol=1e-5)


def test_joint_position_motion_arrives(peer):
    seen = peer.run("joint_position")
    assert seen["rate"] == 1.0
    np.testing.assert_allclose(seen["end"]["q_d"], READY + 0.1, atol=1e-4)
    np.testing.assert_allclose(seen["end"]["q"], READY + 0.1, atol=1e-3)


@pytest.mark.parametrize(("scenario", "way"), [("cartesian_pose", (0, 0, 0.05)), ("cartesian_velocity", (0, 0.05, 0))])
def test_cartesian_motions_arrive(peer, scenario, way):
    seen = peer.run(scenario)
    begin, end = (matrix(seen[name]["O_T_EE"]) for name in ("begin", "end"))
    np.testing.assert_allclose(end[:3, 3] - begin[:3, 3], way, atol=2e-3)


def test_stop_from_another_thread_preempts(peer):
    seen = peer.run("stop")
    assert seen["text"] == "libfranka: Move command preempted!"
    assert seen["end"]["mode"] == "RobotMode.kIdle"


def test_failures_and_recoveries_in_one_session(peer):
    seen = peer.run("recovery")
    assert len(seen["texts"]) == len(seen["refusals"]) == 5
    assert all("controller_torque_discontinuity" in text for text in seen["texts"])
    assert all("control_command_success_rate: 1" in text for text in seen["texts"])
    assert all('not possible in the current mode ("Reflex")' in text for text in seen["refusals"])
    assert seen["end"]["mode"] == "RobotMode.kIdle"


def test_gripper(fer, peer):
    fer.hold_object(0.03)
    seen = peer.run("gripper")
    fer.hold_object(0.0)
    assert seen == {"version": 3, "homing": True, "move": True, "grasp": True, "grasped": True, "width": 0.03}
