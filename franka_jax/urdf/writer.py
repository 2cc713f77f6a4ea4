"""Robot descriptions as text: a new one from a model's numbers, or another's with the inertials replaced in place.

The text is exact: reading it gives back the same ten parameters per link, bit for bit. URDF carries mass, centre and
the tensor about the centre, while the parameters are m, m c and the tensor about the frame origin, so the decimals are
chosen (shortest first) such that the reader's exact arithmetic rounds to the given parameters.
"""

import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from xml.etree.ElementTree import Element

import numpy as np

from ..description import ArmDescription, JointDescription
from .arm import Arm, find_arm, rotation_from_rpy, rpy_from_rotation
from .elements import TENSOR, parse_xml, read_elements
from .numbers import UrdfError, shortest_decimal


def write_arm(arm: Arm) -> str:
    """Description of an arm alone: seven links with inertials, seven revolute joints, the fixed flange."""
    description = arm.description
    robot = Element("robot", name=description.name)
    ElementTree.SubElement(robot, "link", name=description.joints[0].parent)
    for joint, R, p, phi in zip(description.joints, arm.rotation, arm.translation, arm.phi, strict=True):
        link = ElementTree.SubElement(robot, "link", name=joint.child)
        if np.any(phi):
            _add_inertial(link, phi)
        _add_joint(robot, joint, R, p)
    _add_flange(robot, description, arm)
    ElementTree.indent(robot)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(robot, encoding="unicode") + "\n"


def replace_inertials(text: str | bytes, phi: np.ndarray) -> str:
    """`text` with the `<inertial>` of the seven moving links replaced so that it reads as `phi` (7, 10).

    Everything else (meshes, limits, other links, comments outside inertials) stays. Links fixed to a moving link are
    part of its ten parameters; their own inertials are removed.
    """
    arm = find_arm(read_elements(text))
    builder = ElementTree.TreeBuilder(insert_comments=True)
    root = parse_xml(text, ElementTree.XMLParser(target=builder))
    links = {link.get("name"): link for link in root.findall("link")}
    children: dict[str | None, list[str | None]] = {}
    for joint in root.findall("joint"):
        if joint.get("type") == "fixed":
            ends = (joint.find("parent"), joint.find("child"))
            parent, child = (end.get("link") if end is not None else None for end in ends)
            children.setdefault(parent, []).append(child)
    for description, row in zip(arm.description.joints, np.asarray(phi, float), strict=True):
        group = [description.child]
        for name in group:
            group.extend(child for child in children.get(name, []) if child is not None)
        for name in group:
            for old in links[name].findall("inertial"):
                links[name].remove(old)
        if np.any(row):
            _add_inertial(links[description.child], row)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def inertial_text(phi: np.ndarray) -> tuple[str, list[str], list[str]]:
    """Decimals of mass, centre (3) and tensor about the centre (ixx, ixy, ixz, iyy, iyz, izz) that read as phi (10,).

    UrdfError if the body has no mass but a first moment, which mass and centre cannot express.
    """
    values = [float(x) for x in phi]
    if not np.isfinite(values).all():
        raise UrdfError("inertial parameters must be finite to be written")
    m_text = shortest_decimal(lambda x: float(x) == values[0], Fraction(values[0]))
    m = Fraction(m_text)
    if m == 0 and any(values[1:4]):
        raise UrdfError("a link with zero mass and a first moment cannot be written as mass and centre of mass")
    centers = []
    for h in values[1:4]:
        exact = Fraction(h) / m if m else Fraction(0)
        centers.append(shortest_decimal(lambda c, h=h: float(m * c) == h, exact))
    x, y, z = (Fraction(text) for text in centers)
    xx, xy, yy, xz, yz, zz = values[4:]
    shifts = (m * (y * y + z * z), -m * x * y, -m * x * z, m * (x * x + z * z), -m * y * z, m * (x * x + y * y))
    tensor = [
        shortest_decimal(lambda t, s=s, I=I: float(t + s) == I, Fraction(I) - s)
        for I, s in zip((xx, xy, xz, yy, yz, zz), shifts, strict=True)
    ]
    return m_text, centers, tensor


def _add_inertial(link: Element, phi: np.ndarray) -> None:
    mass, center, tensor = inertial_text(phi)
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "origin", rpy="0 0 0", xyz=" ".join(center))
    ElementTree.SubElement(inertial, "mass", value=mass)
    ElementTree.SubElement(inertial, "inertia", dict(zip(TENSOR, tensor, strict=True)))


def _origin(joint: Element, rpy: tuple[float, float, float], R: np.ndarray, p: np.ndarray) -> None:
    """The recorded angles where they still give R exactly, else the nearest angles."""
    angles = rpy if np.array_equal(rotation_from_rpy(rpy), R) else rpy_from_rotation(R)
    ElementTree.SubElement(joint, "origin", rpy=_join(angles), xyz=_join(p))


def _join(values) -> str:
    return " ".join(_number(x) for x in values)


def _number(x: float) -> str:
    return shortest_decimal(lambda t: float(t) == x, Fraction(float(x)))


def _add_joint(robot: Element, joint: JointDescription, R: np.ndarray, p: np.ndarray) -> None:
    element = ElementTree.SubElement(robot, "joint", name=joint.name, type="revolute")
    _origin(element, joint.rpy, R, p)
    ElementTree.SubElement(element, "parent", link=joint.parent)
    ElementTree.SubElement(element, "child", link=joint.child)
    ElementTree.SubElement(element, "axis", xyz="0 0 1")
    bounds = {key: getattr(joint, key) for key in ("effort", "lower", "upper", "velocity")}
    limits = {key: _number(value) for key, value in bounds.items() if np.isfinite(value)}
    if limits:
        ElementTree.SubElement(element, "limit", limits)
    if joint.velocity_offset is not None and joint.deceleration_limit is not None:
        envelope = {
            "deceleration_limit": _number(joint.deceleration_limit),
            "velocity_offset": _number(joint.velocity_offset),
        }
        ElementTree.SubElement(element, "position_based_velocity_limits", envelope)
    if joint.properties:
        ElementTree.SubElement(element, "dynamics", dict(joint.properties))


def _add_flange(robot: Element, description: ArmDescription, arm: Arm) -> None:
    ElementTree.SubElement(robot, "link", name=description.flange)
    joint = ElementTree.SubElement(robot, "joint", name=description.flange_joint, type="fixed")
    _origin(joint, description.flange_rpy, arm.flange_rotation, arm.flange_translation)
    ElementTree.SubElement(joint, "parent", link=description.joints[-1].child)
    ElementTree.SubElement(joint, "child", link=description.flange)
