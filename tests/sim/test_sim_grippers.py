"""The simulated hand and vacuum gripper over real sockets."""

import pytest

from franka_rt.dialect import CommandName, Status
from franka_rt.gripper_dialect import GRIPPER, VACUUM_GRIPPER
from franka_rt.gripper_state import GripperState, VacuumGripperState
from tests.sim.bare import Client


@pytest.fixture
def hand(sim):
    hand = Client(sim.host, sim.gripper_port, GRIPPER)
    yield hand
    hand.close()
    sim.hold_object(0.0)


@pytest.fixture
def sucker(sim):
    sucker = Client(sim.host, sim.vacuum_gripper_port, VACUUM_GRIPPER)
    yield sucker
    sucker.close()
    sim.offer_part(False)


def grasp(hand, width, inner=0.005, outer=0.005, force=20.0):
    return hand.ask(CommandName.GRASP, width=width, epsilon=(inner, outer), speed=1.0, force=force)


def test_gripper_moves_grasps_and_misses(sim, hand):
    assert hand.ask(CommandName.MOVE, width=0.05, speed=1.0) is Status.SUCCESS
    sim.hold_object(0.03)
    assert grasp(hand, 0.032) is Status.SUCCESS
    while not (state := GripperState.from_datagram(hand.udp.recv(100))).is_grasped:
        pass
    assert state.width == 0.03
    assert grasp(hand, 0.04) is Status.UNSUCCESSFUL
    assert grasp(hand, 0.04, inner=0.02) is Status.SUCCESS
    assert hand.ask(CommandName.HOMING) is Status.SUCCESS


@pytest.mark.parametrize("fields", [{"width": 0.2, "speed": 0.1}, {"width": 0.02, "speed": 0.0}])
def test_impossible_gripper_moves_fail(hand, fields):
    assert hand.ask(CommandName.MOVE, **fields) is Status.FAIL


def test_stop_aborts_the_gripper(hand):
    hand.ask(CommandName.MOVE, width=0.08, speed=1.0)
    slow = hand.send(CommandName.MOVE, width=0.0, speed=0.001)
    assert hand.ask(CommandName.STOP) is Status.SUCCESS
    assert hand.wait(slow).status is Status.ABORTED


def test_vacuum_gripper(sim, sucker):
    assert sucker.ask(CommandName.VACUUM, vacuum=10, profile=0, timeout=50) is Status.UNSUCCESSFUL  # nothing there
    sim.offer_part()
    assert sucker.ask(CommandName.VACUUM, vacuum=10, profile=0, timeout=2000) is Status.SUCCESS
    while not (state := VacuumGripperState.from_datagram(sucker.udp.recv(100))).part_present:
        pass
    assert state.vacuum >= 50
    assert sucker.ask(CommandName.DROP_OFF, timeout=2000) is Status.SUCCESS
    endless = sucker.send(CommandName.VACUUM, vacuum=200, profile=0, timeout=100000)
    assert sucker.ask(CommandName.STOP) is Status.SUCCESS
    assert sucker.wait(endless).status is Status.ABORTED
