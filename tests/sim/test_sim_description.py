"""The text that the simulated FR3 answers to GetRobotModel meets what the vendor's client needs (FCI protocol 19.2)."""

import itertools
from xml.etree import ElementTree

import pytest

from franka_rt.sim.model import load_model
from franka_rt.velocity_envelope import VelocityEnvelope


@pytest.fixture(scope="module")
def robot():
    return ElementTree.fromstring(load_model("fr3").description())


def test_one_root_and_every_link_reachable(robot):
    links = {link.get("name") for link in robot.findall("link")}
    children = [joint.find("child").get("link") for joint in robot.findall("joint")]
    assert robot.tag == "robot"
    assert not robot.get("name").startswith("tmr")
    assert len(children) == len(set(children))
    assert len(links - set(children)) == 1


def test_seven_revolute_joints_in_a_row_and_link8_at_the_end(robot):
    joints = robot.findall("joint")
    moving = [joint for joint in joints if joint.get("type") != "fixed"]
    assert [joint.get("type") for joint in moving] == ["revolute"] * 7
    for before, after in itertools.pairwise(moving):
        assert before.find("child").get("link") == after.find("parent").get("link")
    last = next(joint for joint in joints if joint.find("child").get("link") == "link8")
    assert last.get("type") == "fixed"
    assert last.find("parent").get("link") == moving[-1].find("child").get("link")


def test_limits_and_velocity_envelope(robot):
    for joint in robot.findall("joint"):
        if joint.get("type") == "revolute":
            assert {"effort", "velocity", "lower", "upper"} <= set(joint.find("limit").attrib)
            limits = joint.find("position_based_velocity_limits").attrib
            assert {"velocity_offset", "deceleration_limit"} <= set(limits)
    assert VelocityEnvelope.from_urdf(load_model("fr3").description()) is not None
