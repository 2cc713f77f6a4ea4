"""franka-rs, an independent implementation in Rust, against both simulated robots, with its own fallback."""

import numpy as np
import pytest

from tests.reference import READY
from tests.sim.peer import Peer

pytestmark = pytest.mark.peer


@pytest.fixture(params=["fer", "fr3"])
def robot(request):
    """Name and simulation."""
    return request.param, request.getfixturevalue(request.param)


def test_session_and_model(robot, request):
    """It falls back to version 5 by itself; its model, over the session or built in, equals ours."""
    name, sim = robot
    seen = Peer("franka", sim.host).run("session")
    model = request.getfixturevalue(f"{name}_model")
    assert seen["version"] == sim.dialect.version
    q, dq = np.array(seen["state"]["q"]), seen["dq"]
    np.testing.assert_allclose(q, READY, atol=1e-6)
    np.testing.assert_allclose(seen["mass"], model.mass(q), atol=1e-12, rtol=0)
    np.testing.assert_allclose(seen["coriolis"], model.coriolis(q, dq), atol=1e-12, rtol=0)
    np.testing.assert_allclose(seen["gravity"], model.gravity(q), atol=1e-12, rtol=0)


def test_joint_targets(robot):
    """A motion by torques and one by the robot's own controller."""
    seen = Peer("franka", robot[1].host).run("motions")
    there, back = (np.array(state["q"]) for state in seen["reached"])
    np.testing.assert_allclose(there, READY + 0.1, atol=1e-2)
    np.testing.assert_allclose(back, there - 0.1, atol=1e-2)


def test_hand(robot):
    assert Peer("franka", robot[1].host).run("hand")["width"] == pytest.approx(0.05)
