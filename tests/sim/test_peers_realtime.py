"""The vendor's clients against robots that run by the clock, in processes of their own."""

import pytest

from franka_rt.sim import SimulatedRobot
from tests.sim.conftest import address
from tests.sim.peer import Peer

pytestmark = pytest.mark.peer

ATTEMPTS = 3  # a machine that leaves the client waiting for 20 ms loses the motion, as a robot's user would


@pytest.mark.parametrize(("robot", "client", "number"), [("fr3", "pylibfranka", 20), ("fer", "panda_py", 25)])
def test_torque_control_by_the_clock(robot, client, number):
    with SimulatedRobot(robot, address(number)) as sim:
        peer = Peer(client, sim.host)
        failures = []
        while len(failures) < ATTEMPTS:
            process = peer.start("torque")
            try:
                seen = Peer.finish(process)
                break
            except AssertionError as error:
                failures.append(str(error))
                assert "communication_constraints_violation" in failures[-1]
                sim.place(sim.state().q_d)
        else:
            pytest.fail(failures[-1])
        assert seen["end"]["success_rate"] == 0.0
        assert 0 < seen["cycles"] <= 1001
        assert not sim.statistics()["moving"]
