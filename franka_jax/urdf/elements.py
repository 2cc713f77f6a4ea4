"""URDF text to its elements: links with their inertials, joints with their origins. No robot is assumed here.

Read leniently where the format allows it (any element order, missing halves of `<origin>`, missing `<inertial>`,
unknown tags and attributes, odd white space) and strictly where a wrong number would follow (malformed numbers,
duplicate names).
"""

import codecs
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from fractions import Fraction
from xml.etree.ElementTree import Element

from .numbers import UrdfError, read_numbers

Triple = tuple[Fraction, Fraction, Fraction]
ZERO: Triple = (Fraction(0), Fraction(0), Fraction(0))
MOVING = ("revolute", "continuous", "prismatic", "planar", "floating")


@dataclass(frozen=True)
class Origin:
    """`<origin>`: xyz in m, rpy in rad (fixed axes), exact."""

    xyz: Triple = ZERO
    rpy: Triple = ZERO


@dataclass(frozen=True)
class Inertial:
    """`<inertial>`: mass kg, tensor (ixx, ixy, ixz, iyy, iyz, izz) kg m^2 about the centre, in the origin's axes."""

    origin: Origin
    mass: Fraction
    tensor: tuple[Fraction, ...]


@dataclass(frozen=True)
class Joint:
    """`<joint>` with its element, for the attributes that only some joints need."""

    name: str
    type: str
    parent: str
    child: str
    origin: Origin
    element: Element


@dataclass(frozen=True)
class Elements:
    """A parsed description: robot name, inertials by link name (None where a link has none), joints."""

    name: str
    links: dict[str, Inertial | None]
    joints: tuple[Joint, ...]


TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def parse_xml(text: str | bytes, parser: ElementTree.XMLParser | None = None) -> Element:
    """The root element; white space and a byte-order mark before it do not matter. UrdfError if it is not XML."""
    blank = "\ufeff \t\r\n"
    start = text.lstrip(blank) if isinstance(text, str) else text.removeprefix(codecs.BOM_UTF8).lstrip()
    try:
        return ElementTree.fromstring(start, parser)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise UrdfError(f"the robot description is not readable XML: {error}") from None


def read_elements(text: str | bytes) -> Elements:
    """Parse a description. UrdfError for text that is not XML, not a `<robot>`, or has malformed parts."""
    root = parse_xml(text)
    if root.tag != "robot":
        raise UrdfError(f"a robot description starts with <robot>, found <{root.tag}>")
    links = {}
    for element in root.findall("link"):
        name = _attribute(element, "name", "<link>")
        if name in links:
            raise UrdfError(f"two links are named {name!r}")
        links[name] = _read_inertial(element, name)
    joints = tuple(_read_joint(element) for element in root.findall("joint"))
    for index, joint in enumerate(joints):
        if any(joint.name == other.name for other in joints[:index]):
            raise UrdfError(f"two joints are named {joint.name!r}")
    return Elements(root.get("name", ""), links, joints)


def number(element: Element | None, attribute: str, where: str, default: Fraction | None = None) -> Fraction:
    """One numeric attribute; `default` where it (or the element) is missing, UrdfError if there is no default."""
    text = None if element is None else element.get(attribute)
    if text is None:
        if default is not None:
            return default
        raise UrdfError(f"{where} lacks the attribute {attribute!r}")
    return read_numbers(text, 1, f"{attribute} of {where}")[0]


def _read_joint(element: Element) -> Joint:
    name = _attribute(element, "name", "<joint>")
    where = f"joint {name!r}"
    ends = {}
    for end in ("parent", "child"):
        child = element.find(end)
        if child is None:
            raise UrdfError(f"{where} lacks <{end}>")
        ends[end] = _attribute(child, "link", f"<{end}> of {where}")
    kind = _attribute(element, "type", where)
    if kind != "fixed" and kind not in MOVING:
        raise UrdfError(f"{where} has the unknown type {kind!r}")
    return Joint(name, kind, ends["parent"], ends["child"], _read_origin(element, where), element)


def _read_origin(element: Element, where: str) -> Origin:
    origin = element.find("origin")
    if origin is None:
        return Origin()
    x, y, z = read_numbers(origin.get("xyz", "0 0 0"), 3, f"origin xyz of {where}")
    roll, pitch, yaw = read_numbers(origin.get("rpy", "0 0 0"), 3, f"origin rpy of {where}")
    return Origin((x, y, z), (roll, pitch, yaw))


def _read_inertial(link: Element, name: str) -> Inertial | None:
    inertial = link.find("inertial")
    if inertial is None:
        return None
    where = f"<inertial> of link {name!r}"
    mass, tensor = inertial.find("mass"), inertial.find("inertia")
    if mass is None or tensor is None:
        raise UrdfError(f"{where} needs <mass> and <inertia>")
    entries = tuple(number(tensor, key, f"<inertia> of link {name!r}") for key in TENSOR)
    return Inertial(_read_origin(inertial, where), number(mass, "value", f"<mass> of link {name!r}"), entries)


def _attribute(element: Element, name: str, where: str) -> str:
    value = element.get(name)
    if not value:
        raise UrdfError(f"{where} lacks the attribute {name!r}")
    return value
