"""From the elements of a description to the seven-axis arm in it.

The arm is the path of joints from the root link to the flange, the link named `link8` (a prefix such as `fr3_` is
allowed). Links behind fixed joints belong to the moving link that carries them and are merged into it with full
rotation and parallel axis, as libfranka's reader does; what hangs on the base has no influence.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..description import ArmDescription, JointDescription
from .elements import Elements, Inertial, Joint, Origin, number
from .numbers import UrdfError, read_numbers

AXES = 7


@dataclass(frozen=True)
class Arm:
    """Numbers of a seven-axis arm: joint placements (7, 3, 3), (7, 3); phi (7, 10); flange on joint 7; description."""

    rotation: np.ndarray
    translation: np.ndarray
    phi: np.ndarray
    flange_rotation: np.ndarray
    flange_translation: np.ndarray
    description: ArmDescription


def find_arm(elements: Elements) -> Arm:
    """The arm in a description. UrdfError, one sentence, if it is not a seven-axis arm that ends in `link8`."""
    if elements.name.startswith("tmr"):
        raise UrdfError(
            f"{elements.name!r} is a mobile robot; a seven-axis arm that ends in the link 'link8' is needed"
        )
    flange = _flange_link(elements)
    path = _path_to(flange, elements)
    _check_tree(elements)
    moving = [joint for joint in path if joint.type != "fixed"]
    others = [joint for joint in elements.joints if joint.type != "fixed" and joint not in moving]
    _check_joints(elements.name, flange, moving, others)

    last = path.index(moving[-1])
    placements, start = [], 0
    for joint in moving:
        stop = path.index(joint) + 1
        placements.append(_compose([step.origin for step in path[start:stop]]))
        start = stop
    tail = path[last + 1 :]
    flange_rpy, flange_R, flange_p = _compose([step.origin for step in tail])
    parents = [moving[0].parent, *(joint.child for joint in moving[:-1])]  # frames between the links are merged
    steps = zip(moving, parents, placements, strict=True)
    joints = tuple(_describe(joint, parent, rpy) for joint, parent, (rpy, _, _) in steps)
    return Arm(
        np.stack([R for _, R, _ in placements]),
        np.stack([p for _, _, p in placements]),
        np.stack([_merged_phi(joint.child, elements) for joint in moving]),
        flange_R,
        flange_p,
        ArmDescription(elements.name, joints, flange, tail[-1].name if tail else "joint8", flange_rpy),
    )


def rotation_from_rpy(rpy: tuple[float, float, float]) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll); entries within 1e-15 of 0 or +-1 are taken as exact.

    A right angle has no exact decimal, so its cosine would come out as 6e-17; the exact value makes the model's
    structural zeros visible (and changes poses by less than their round-off).
    """
    (cr, cp, cy), (sr, sp, sy) = (np.array([_snap(f(x)) for x in rpy]) for f in (np.cos, np.sin))
    # + 0.0 turns -0.0 into 0.0
    return 0.0 + np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _snap(x: float) -> float:
    nearest = round(float(x))
    return float(nearest) if abs(x - nearest) < 1e-15 else float(x)


def _compose(origins: list[Origin]) -> tuple[tuple[float, float, float], np.ndarray, np.ndarray]:
    """Angles, rotation and translation of a run of origins; the rotation is exactly that of the returned angles."""
    if len(origins) == 1:
        rpy = _floats(origins[0].rpy)
        return rpy, rotation_from_rpy(rpy), np.array(_floats(origins[0].xyz))
    R, p = np.eye(3), np.zeros(3)
    for origin in origins:
        p = p + R @ np.array(_floats(origin.xyz))
        R = R @ rotation_from_rpy(_floats(origin.rpy))
    rpy = rpy_from_rotation(R)
    return rpy, rotation_from_rpy(rpy), p


def rpy_from_rotation(R: np.ndarray) -> tuple[float, float, float]:
    """Angles with rotation_from_rpy(rpy) = R to round-off."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if np.hypot(R[0, 0], R[1, 0]) < 1e-9:  # pitch +-90 degrees: only roll -+ yaw is defined, take yaw = 0
        return float(np.arctan2(-R[1, 2], R[1, 1])), float(pitch), 0.0
    return float(np.arctan2(R[2, 1], R[2, 2])), float(pitch), float(np.arctan2(R[1, 0], R[0, 0]))


def _floats(values: tuple[Fraction, Fraction, Fraction]) -> tuple[float, float, float]:
    x, y, z = values
    return float(x), float(y), float(z)


# --- the tree -------------------------------------------------------------------------------------------------------


def _flange_link(elements: Elements) -> str:
    found = [name for name in elements.links if name == "link8" or name.endswith("_link8")]
    if len(found) == 1:
        return found[0]
    what = "no link named 'link8'" if not found else f"{len(found)} links named link8 ({', '.join(sorted(found))})"
    raise UrdfError(f"found {what} in {elements.name!r}; one seven-axis arm that ends in the link 'link8' is needed")


def _path_to(link: str, elements: Elements) -> list[Joint]:
    """The joints from the root down to `link`."""
    above = {}
    for joint in elements.joints:
        for end in (joint.parent, joint.child):
            if end not in elements.links:
                raise UrdfError(f"joint {joint.name!r} refers to the link {end!r}, which does not exist")
        if joint.child in above:
            raise UrdfError(
                f"the link {joint.child!r} hangs on two joints: {above[joint.child].name!r} and {joint.name!r}"
            )
        above[joint.child] = joint
    path: list[Joint] = []
    while link in above:
        path.append(above[link])
        link = above[link].parent
        if len(path) > len(elements.joints):
            raise UrdfError(f"the joints of {elements.name!r} form a loop through the link {link!r}")
    return path[::-1]


def _check_tree(elements: Elements) -> None:
    children = {joint.child for joint in elements.joints}
    roots = sorted(name for name in elements.links if name not in children)
    if len(roots) != 1:
        raise UrdfError(
            f"found {len(roots)} root links ({', '.join(roots)}) in {elements.name!r}; exactly one is needed"
        )


def _check_joints(name: str, flange: str, moving: list[Joint], others: list[Joint]) -> None:
    need = f"seven revolute joints between the base and {flange!r} and no other moving joint are needed"
    if len(moving) != AXES:
        raise UrdfError(f"found {len(moving)} moving joints on the way to {flange!r} in {name!r}; {need}")
    if others:
        listed = ", ".join(f"{joint.name} ({joint.type})" for joint in others)
        raise UrdfError(f"found further moving joints in {name!r}: {listed}; {need} (make them fixed)")
    for joint in moving:
        if joint.type != "revolute":
            raise UrdfError(f"joint {joint.name!r} is {joint.type}; {need}")
        axis = joint.element.find("axis")
        xyz = "1 0 0" if axis is None else axis.get("xyz", "1 0 0")
        if not _is_z(xyz):
            raise UrdfError(
                f"joint {joint.name!r} turns about {xyz.strip()!r}; every joint of the arm turns about '0 0 1'"
            )


def _is_z(text: str) -> bool:
    x, y, z = read_numbers(text, 3, "<axis xyz>")
    return x == 0 and y == 0 and z > 0


# --- inertia --------------------------------------------------------------------------------------------------------


def _merged_phi(link: str, elements: Elements) -> np.ndarray:
    """Parameters (10,) of a moving link and everything fixed to it, about the link's frame."""
    bodies = []
    _collect(link, Origin(), np.eye(3), np.zeros(3), elements, bodies)
    if len(bodies) == 1 and bodies[0][1] is None:
        return np.array([float(x) for x in exact_phi(bodies[0][0])])
    total = np.zeros(10)
    for inertial, placement in bodies:
        R, p = placement if placement is not None else (np.eye(3), np.zeros(3))
        total += _placed_phi(inertial, R, p)
    return total


def _collect(link, step, R, p, elements, bodies) -> None:
    """All inertials of `link` and of links fixed to it; placement None where it is the moving link's own frame."""
    inertial = elements.links[link]
    here = step == Origin() and np.array_equal(R, np.eye(3)) and not p.any()
    if inertial is not None:
        plain = here and inertial.origin.rpy == Origin().rpy
        bodies.append((inertial, None if plain else (R, p)))
    for joint in elements.joints:
        if joint.parent == link and joint.type == "fixed":
            xyz, turn = np.array(_floats(joint.origin.xyz)), rotation_from_rpy(_floats(joint.origin.rpy))
            _collect(joint.child, joint.origin, R @ turn, p + R @ xyz, elements, bodies)


def exact_phi(inertial: Inertial) -> tuple[Fraction, ...]:
    """phi of an inertial whose axes are the link's, without rounding."""
    m, (x, y, z) = inertial.mass, inertial.origin.xyz
    ixx, ixy, ixz, iyy, iyz, izz = inertial.tensor
    shift = (m * (y * y + z * z), -m * x * y, m * (x * x + z * z), -m * x * z, -m * y * z, m * (x * x + y * y))
    about_origin = (a + b for a, b in zip((ixx, ixy, iyy, ixz, iyz, izz), shift, strict=True))
    return (m, m * x, m * y, m * z, *about_origin)


def _placed_phi(inertial: Inertial, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """phi of an inertial in a frame in which its link is placed at (R, p)."""
    m = float(inertial.mass)
    c = p + R @ np.array(_floats(inertial.origin.xyz))
    turn = R @ rotation_from_rpy(_floats(inertial.origin.rpy))
    xx, xy, xz, yy, yz, zz = (float(x) for x in inertial.tensor)
    I = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    I = I + m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *(m * c), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


# --- limits ---------------------------------------------------------------------------------------------------------


def _describe(joint: Joint, parent: str, rpy: tuple[float, float, float]) -> JointDescription:
    """Names, limits and properties; a missing position limit is infinite, as is a missing velocity or effort limit."""
    limit, where = joint.element.find("limit"), f"<limit> of joint {joint.name!r}"
    envelope = joint.element.find("position_based_velocity_limits")
    dynamics = joint.element.find("dynamics")

    def bound(attribute: str, missing: float) -> float:
        return float(number(limit, attribute, where)) if limit is not None and attribute in limit.attrib else missing

    def envelope_number(attribute: str) -> float | None:
        if envelope is None:
            return None
        return float(number(envelope, attribute, f"<position_based_velocity_limits> of joint {joint.name!r}"))

    infinite = float("inf")
    return JointDescription(
        joint.name,
        parent,
        joint.child,
        rpy,
        bound("lower", -infinite),
        bound("upper", infinite),
        bound("velocity", infinite),
        bound("effort", infinite),
        envelope_number("velocity_offset"),
        envelope_number("deceleration_limit"),
        tuple(sorted(dynamics.attrib.items())) if dynamics is not None else (),
    )
