"""The vendor's own client of version 10 (pylibfranka, libfranka 0.21) against the simulated FR3."""

import itertools
import time

import numpy as np
import pytest

from tests.reference import READY
from tests.sim.peer import Peer

pytestmark = pytest.mark.peer


@pytest.fixture
def peer(fr3):
    return Peer("pylibfranka", fr3.host)


def matrix(flat):
    return np.reshape(flat, (4, 4)).T


def test_states_are_consistent_and_a_millisecond_apart(peer, fr3_model):
    states = peer.run("connect_and_read")["states"]
    times = [state["time"] for state in states]
    assert all(later > earlier for earlier, later in itertools.pairwise(times))
    state = states[-1]
    assert state["mode"] == "RobotMode.Idle"
    assert state["reasons"] == []
    q = np.array(state["q"])
    np.testing.assert_allclose(q, READY, atol=1e-6)
    np.testing.assert_allclose(state["O_ddP_O"], (0, 0, float(np.float32(-9.81))), atol=0)
    pose = fr3_model.pose("end_effector", q, matrix(state["F_T_EE"]))
    np.testing.assert_allclose(matrix(state["O_T_EE"]), pose, atol=1e-6)
    np.testing.assert_allclose(state["q_d"], q, atol=1e-6)
    np.testing.assert_allclose(state["O_T_EE_c"], state["O_T_EE"], atol=1e-6)
    assert np.abs(np.array(state["theta"]) - q).max() < 5e-3


def test_model_values_equal_ours(peer, fr3_model):
    """libfranka's own model of the text that GetRobotModel served, at a state with a load, against ours there."""
    from franka_jax import Payload

    seen = peer.run("model")
    state, model = seen["state"], fr3_model
    q, dq = np.array(state["q"]), np.array(state["dq"])
    load = Payload(state["m_total"], state["F_x_Ctotal"], np.reshape(state["I_total"], (3, 3)).T)
    gravity = model.gravity(q, load, state["O_ddP_O"])
    np.testing.assert_allclose(np.reshape(seen["mass"], (7, 7)), model.mass(q, load), atol=1e-12)
    np.testing.assert_allclose(seen["coriolis"], model.coriolis(q, dq, load), atol=1e-12)
    np.testing.assert_allclose(seen["gravity"], gravity, atol=1e-12)
    jacobian = model.zero_jacobian("end_effector", q, matrix(state["F_T_EE"]))
    np.testing.assert_allclose(np.reshape(seen["zero_jacobian"], (7, 6)).T, jacobian, atol=1e-12)
    np.testing.assert_allclose(state["tau_J"], gravity, atol=1e-4)  # the arm stands still


def test_setters_are_echoed_and_validated(peer):
    seen = peer.run("setters")
    state = seen["state"]
    np.testing.assert_allclose(matrix(state["EE_T_K"])[:3, 3], (0.01, 0.02, 0.03), atol=1e-7)
    assert matrix(state["F_T_EE"])[2, 3] == pytest.approx(0.1034 + 0.05, abs=1e-6)
    assert state["m_load"] == pytest.approx(0.5)
    assert state["m_total"] == pytest.approx(1.23)
    assert all("command rejected: invalid argument!" in text for text in seen["refused"])
    assert len(seen["refused"]) == 5


def test_torque_control_for_a_second(peer):
    seen = peer.run("torque")
    assert seen["cycles"] == 1001
    assert seen["largest_dt"] == 1
    assert seen["rate"] == 1.0
    np.testing.assert_allclose(seen["end"]["q"], READY, atol=1e-5)  # gravity is compensated


@pytest.mark.parametrize(("scenario", "distance"), [("joint_position", 0.1), ("joint_velocity", 0.05)])
def test_joint_motions_arrive(peer, scenario, distance):
    seen = peer.run(scenario)
    assert seen["rate"] == 1.0
    np.testing.assert_allclose(seen["end"]["q_d"], READY + distance, atol=1e-4)
    np.testing.assert_allclose(seen["end"]["q"], READY + distance, atol=1e-3)


@pytest.mark.parametrize(
    ("scenario", "way"), [("cartesian_pose", (0.05, 0, 0.05)), ("cartesian_velocity", (0, 0.05, 0))]
)
def test_cartesian_motions_arrive(peer, scenario, way):
    seen = peer.run(scenario)
    begin, end = (matrix(seen[name]["O_T_EE"]) for name in ("begin", "end"))
    np.testing.assert_allclose(end[:3, 3] - begin[:3, 3], way, atol=2e-3)
    np.testing.assert_allclose(end[:3, :3], begin[:3, :3], atol=5e-3)


def test_asynchronous_target_is_reached(peer):
    seen = peer.run("asynchronous")
    assert seen["statuses"] == ["TargetStatus.kExecuting", "TargetStatus.kTargetReached"]
    np.testing.assert_allclose(seen["end"]["q_d"], READY + 0.1, atol=2e-3)


def test_stop_during_a_motion_preempts_it(peer):
    seen = peer.run("stop")
    assert seen["text"] == "libfranka: Move command preempted!"
    assert seen["end"]["mode"] == "RobotMode.Idle"
    assert np.abs(seen["end"]["dq_d"]).max() == 0.0


JUMPS = {
    "position": "joint_motion_generator_velocity_discontinuity",
    "start_pose": "joint_position_motion_generator_start_pose_invalid",
    "velocity": "joint_motion_generator_velocity_discontinuity",
    "pose": "cartesian_motion_generator_velocity_discontinuity",
    "twist": "cartesian_motion_generator_velocity_discontinuity",
    "torque": "controller_torque_discontinuity",
}


def test_a_jump_ends_in_the_right_reflex_and_can_be_recovered(peer):
    seen = peer.run("discontinuity")
    assert set(seen) == set(JUMPS)
    for kind, flag in JUMPS.items():
        text, end, recovered = seen[kind]["text"], seen[kind]["end"], seen[kind]["recovered"]
        assert text.startswith("libfranka: Move command aborted: motion aborted by reflex!"), kind
        assert flag in text
        assert flag in end["reasons"]
        assert end["mode"] == "RobotMode.Reflex"
        assert end["success_rate"] == 0.0
        assert recovered["mode"] == "RobotMode.Idle"
        assert recovered["reasons"] == end["reasons"]  # they describe the last motion


def test_ten_failures_and_recoveries_in_one_session(peer):
    seen = peer.run("recovery")
    assert len(seen["texts"]) == len(seen["refusals"]) == 10
    assert all("controller_torque_discontinuity" in text for text in seen["texts"])
    assert all('not possible in the current mode ("Reflex")' in text for text in seen["refusals"])
    assert seen["end"]["mode"] == "RobotMode.Idle"
    assert seen["end"]["reasons"] == []


def test_twenty_missing_commands_end_the_motion(fr3, peer):
    assert "communication_constraints_violation" in peer.run("silence")["text"]
    fr3.place(READY)


def test_a_push_beyond_the_thresholds_is_a_collision(fr3, peer):
    process = peer.start("pushed")
    end = time.monotonic() + 20.0
    while not fr3.statistics()["moving"] and time.monotonic() < end:
        time.sleep(0.01)
    fr3.push([0, 0, -60, 0, 0, 0], 1.0)
    seen = Peer.finish(process)
    assert "cartesian_reflex" in seen["text"]
    assert seen["end"]["mode"] == "RobotMode.Reflex"


def test_gripper(fr3, peer):
    fr3.hold_object(0.03)
    seen = peer.run("gripper")
    fr3.hold_object(0.0)
    assert seen["version"] == 3
    assert (seen["homing"], seen["move"], seen["grasp"], seen["missed"], seen["stop"]) == (
        True,
        True,
        True,
        False,
        True,
    )
    assert (seen["width"], seen["grasp_width"], seen["grasped"]) == (0.05, 0.03, True)
    assert seen["too_wide"] == "libfranka gripper: Command failed!"


def test_a_second_client_is_turned_away_and_does_not_disturb_the_first(peer):
    seen = peer.run("second_client")
    assert "reset by peer" in seen["text"] or "interrupted" in seen["text"]
    assert seen["end"]["mode"] == "RobotMode.Idle"
