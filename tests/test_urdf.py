"""Robot descriptions in and out; public bug reports on URDF readers (pitfalls U2-U15) as tests."""

import locale
import random
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

from franka_jax import Model, UrdfError
from franka_jax.urdf import Arm, read_arm, replace_inertials, write_arm
from franka_jax.urdf.arm import rotation_from_rpy, rpy_from_rotation
from franka_jax.urdf.numbers import shortest_decimal


def assert_same(a: Arm, b: Arm) -> None:
    for name in ("rotation", "translation", "phi", "flange_rotation", "flange_translation"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def edit(text: str, pattern: str, replacement: str, count: int = 1) -> str:
    """Replace a pattern that must occur."""
    result, n = re.subn(pattern, replacement, text, count=count, flags=re.S)
    assert n >= 1, pattern
    return result


def chain_urdf(joints: int = 7, name: str = "arm", prefix: str = "", extra: str = "", flange: str = "link8") -> str:
    """A small arm: `joints` revolute joints, the fixed flange, and whatever `extra` adds."""
    text = [f'<robot name="{name}"><link name="{prefix}link0"/>']
    for i in range(1, joints + 1):
        inertial = (
            f'<inertial><origin xyz="0.0{i} 0 -0.01"/><mass value="{i}"/>'
            '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.01"/></inertial>'
        )
        text.append(
            f'<link name="{prefix}link{i}">{inertial}</link><joint name="{prefix}joint{i}" type="revolute">'
            f'<origin xyz="0 0 0.2" rpy="0 {0.1 * i} 0"/><parent link="{prefix}link{i - 1}"/>'
            f'<child link="{prefix}link{i}"/><axis xyz="0 0 1"/></joint>'
        )
    if flange:
        text.append(
            f'<link name="{prefix}{flange}"/><joint name="{prefix}joint{joints + 1}" type="fixed">'
            f'<origin xyz="0 0 0.107"/><parent link="{prefix}link{joints}"/><child link="{prefix}{flange}"/></joint>'
        )
    return "".join([*text, extra, "</robot>"])


def body(name: str, parent: str, inertial: str, origin: str = "", kind: str = "fixed") -> str:
    return (
        f'<link name="{name}">{inertial}</link><joint name="{name}_joint" type="{kind}">{origin}'
        f'<parent link="{parent}"/><child link="{name}"/></joint>'
    )


INERTIA = '<inertia ixx="1e-3" iyy="2e-3" izz="2.5e-3" ixy="1e-4" ixz="0" iyz="-2e-4"/>'
BODY = f'<inertial><origin xyz="0.1 0.02 -0.03"/><mass value="0.5"/>{INERTIA}</inertial>'


# --- round trips ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["fr3_vendor.urdf", "fer_identified_reference.urdf"])
def test_written_text_reads_back_exactly(data, file):
    arm = read_arm(data / file)
    text = write_arm(arm)
    assert_same(read_arm(text), arm)
    assert read_arm(text).description == arm.description
    assert write_arm(read_arm(text)) == text


def test_any_parameters_and_placements_round_trip():
    """Rotations about three axes, parameters without round decimals, links that are no bodies, a massless link."""
    arm = read_arm(chain_urdf())
    rng = np.random.default_rng(1)
    for _ in range(20):
        phi = rng.normal(size=(7, 10)) * 10.0 ** rng.integers(-9, 3, (7, 10))
        phi[3, :4] = 0.0
        phi[5, 6] = 0.0
        rpy = [(float(x), float(y), float(z)) for x, y, z in rng.uniform(-1.5, 1.5, (7, 3))]
        joints = tuple(replace(j, rpy=angles) for j, angles in zip(arm.description.joints, rpy, strict=True))
        changed = replace(
            arm,
            rotation=np.stack([rotation_from_rpy(angles) for angles in rpy]),
            translation=rng.normal(size=(7, 3)),
            phi=phi,
            description=replace(arm.description, joints=joints),
        )
        assert_same(read_arm(write_arm(changed)), changed)


def test_runs_of_fixed_joints_round_trip():
    """A joint that hangs on fixed frames has no angles of its own; written once, it stays."""
    text = chain_urdf().replace(
        '<parent link="link3"/>',
        '<parent link="mount"/>',
        1,
    )
    text = text.replace(
        "</robot>", body("mount", "link3", BODY, '<origin xyz="0 0.1 0" rpy="0.3 -0.2 0.9"/>') + "</robot>"
    )
    arm = read_arm(text)
    assert_same(read_arm(write_arm(arm)), arm)


def test_package_data_are_the_reference_descriptions(data, fr3_model, fer_model):
    """The FR3's figures are the vendor's; the FER's are this project's identification of the published set."""
    robots = (fr3_model, "fr3_vendor.urdf", 0.0), (fer_model, "fer_identified_reference.urdf", 1e-12)
    for model, file, tolerance in robots:
        arm = read_arm(data / file)
        np.testing.assert_allclose(model.phi, arm.phi, rtol=0, atol=tolerance)
        np.testing.assert_array_equal(model.chain.placement.rotation, arm.rotation)
        np.testing.assert_array_equal(model.chain.placement.translation, arm.translation)
        assert model.description == arm.description
        assert_same(read_arm(model.to_urdf()), replace(arm, phi=np.asarray(model.phi)))


def test_inertials_are_replaced_in_place(vendor_urdf):
    arm = read_arm(vendor_urdf)
    phi = arm.phi * np.linspace(0.9, 1.3, 70).reshape(7, 10)
    text = replace_inertials(vendor_urdf.replace("</robot>", "<!-- kept --><gazebo/></robot>"), phi)
    changed = read_arm(text)
    assert_same(changed, replace(arm, phi=phi))
    assert changed.description == arm.description
    assert "<!-- kept -->" in text
    assert "<gazebo" in text
    assert text.count("accelerometer_top") == vendor_urdf.count("accelerometer_top")


def test_replacing_inertials_absorbs_fixed_links():
    text = chain_urdf(extra=body("tool", "link8", BODY, '<origin rpy="0.3 0.2 0.1" xyz="0 0 0.1"/>'))
    phi = read_arm(text).phi * 1.01
    np.testing.assert_array_equal(read_arm(replace_inertials(text, phi)).phi, phi)


def test_a_first_moment_without_mass_cannot_be_written(fr3_model):
    phi = np.array(fr3_model.phi)
    phi[2, 0] = 0.0
    with pytest.raises(UrdfError, match="zero mass and a first moment"):
        fr3_model.with_phi(phi).to_urdf()


@pytest.mark.parametrize("x", [0.1, -2.9007, 1e-5, 4.2e-7, 1.5e17, 5e-324, 1 / 3, 0.0, 1e16, 123456.0])
def test_shortest_decimals(x):
    from fractions import Fraction

    text = shortest_decimal(lambda t: float(t) == x, Fraction(x))
    assert float(text) == x
    assert len(text.lstrip("-").replace(".", "").strip("0")) <= len(repr(x))


# --- lenient where the format is ------------------------------------------------------------------------------------


def test_missing_origin_of_an_inertial_is_zero():
    """U2."""
    plain = f'<inertial><mass value="0.5"/>{INERTIA}</inertial>'
    with_origin = f'<inertial><origin xyz="0 0 0" rpy="0 0 0"/><mass value="0.5"/>{INERTIA}</inertial>'
    arms = [
        read_arm(edit(chain_urdf(), r'<link name="link7">.*?</link>', f'<link name="link7">{i}</link>'))
        for i in (plain, with_origin)
    ]
    assert_same(*arms)
    np.testing.assert_allclose(arms[0].phi[6], [0.5, 0, 0, 0, 1e-3, 1e-4, 2e-3, 0, -2e-4, 2.5e-3], rtol=1e-15)


def test_link_without_inertial_has_no_mass():
    """U3."""
    arm = read_arm(edit(chain_urdf(), r'<link name="link4">.*?</link>', '<link name="link4"/>'))
    assert (arm.phi[3] == 0).all()
    assert np.isfinite(arm.phi).all()


def test_halves_of_an_origin_may_be_missing(vendor_urdf):
    """U6."""
    text = edit(vendor_urdf, r'<origin rpy="0 0 0" xyz="0 0 0.333"/>', '<origin xyz="0 0 0.333" mystery="1"/>')
    text = edit(text, r'<origin rpy="-1.570796326794897 0 0" xyz="0 0 0"/>', '<origin rpy="-1.570796326794897 0 0"/>')
    text = edit(text, r'<axis xyz="0 0 1"/>', '<axis unit="none" xyz="0 0 1"/>')
    assert_same(read_arm(text), read_arm(vendor_urdf))
    no_origin = edit(vendor_urdf, r'(<joint name="base_joint".*?)<origin rpy="0 0 0" xyz="0 0 0"/>', r"\1")
    assert_same(read_arm(no_origin), read_arm(vendor_urdf))


@pytest.mark.parametrize("xyz", ["  0   .0&#10;3.33e-1 ", "0\t0\n0.333", "+0 -0 +0.333", "0 0 333E-3", "0. 0 .333"])
def test_odd_white_space_and_number_forms(vendor_urdf, xyz):
    """U7, what is right."""
    assert_same(read_arm(edit(vendor_urdf, 'xyz="0 0 0.333"', f'xyz="{xyz}"')), read_arm(vendor_urdf))


@pytest.mark.parametrize(
    "xyz", ["0 0", "0 0 0 0", "0,0,0.333", "nan 0 0", "inf 0 0", "0x1 0 0", "", "0 0 1e9999", "0 0 1_0", "０ 0 0"]
)
def test_malformed_numbers_name_the_element(vendor_urdf, xyz):
    """U7, what is wrong."""
    with pytest.raises(UrdfError, match=r"origin xyz of joint 'joint1' must be 3 decimal numbers"):
        read_arm(edit(vendor_urdf, 'xyz="0 0 0.333"', f'xyz="{xyz}"'))


def test_decimal_comma_locale(vendor_urdf):
    """U8: neither reading nor writing asks the locale (a comma locale where the machine has one)."""
    before = read_arm(vendor_urdf)
    old = locale.setlocale(locale.LC_ALL)
    try:
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"):
            try:
                locale.setlocale(locale.LC_ALL, name)
                break
            except locale.Error:
                continue
        assert_same(read_arm(vendor_urdf), before)
        assert_same(read_arm(write_arm(before)), before)
    finally:
        locale.setlocale(locale.LC_ALL, old)


def test_element_order_does_not_matter(vendor_urdf):
    """U11."""
    root = ElementTree.fromstring(vendor_urdf)
    children = list(root)
    random.Random(0).shuffle(children)
    root[:] = children
    shuffled = ElementTree.tostring(root, encoding="unicode")
    assert_same(read_arm(shuffled), read_arm(vendor_urdf))
    assert read_arm(shuffled).description == read_arm(vendor_urdf).description


@pytest.mark.parametrize("prefix", ["fr3_", "left_fr3_", "panda_"])
def test_prefixes(vendor_urdf, prefix):
    text = re.sub(r'"((?:link|joint)\d)', rf'"{prefix}\1', vendor_urdf)
    arm = read_arm(text)
    assert_same(arm, read_arm(vendor_urdf))
    assert arm.description.flange == f"{prefix}link8"
    assert arm.description.joints[6].name == f"{prefix}joint7"


@pytest.mark.parametrize(
    "encode",
    [
        str,
        lambda t: "\ufeff" + t,
        lambda t: "\n  " + t,
        lambda t: t.encode(),
        lambda t: b"\n  " + t.encode(),
        lambda t: t.encode("utf-8-sig"),
        lambda t: t.replace("?>", ' encoding="utf-16"?>').encode("utf-16"),
    ],
    ids=["text", "bom", "blank", "bytes", "blank bytes", "bom bytes", "utf-16"],
)
def test_text_and_bytes(vendor_urdf, encode):
    arm, text = read_arm(vendor_urdf), encode(vendor_urdf.lstrip())
    assert_same(read_arm(text), arm)
    assert_same(read_arm(replace_inertials(text, arm.phi)), arm)


def test_fixed_links_are_merged_with_rotation_and_parallel_axis():
    """A tool behind two fixed joints equals the hand-computed sum."""
    tool = body("adapter", "link8", "", '<origin xyz="0 0 0.05" rpy="0 0 0.7"/>')
    tool += body(
        "tool",
        "adapter",
        BODY.replace('<origin xyz="0.1 0.02 -0.03"/>', '<origin xyz="0.1 0.02 -0.03" rpy="0.4 -0.3 0.2"/>'),
        '<origin rpy="0.5 0.1 0"/>',
    )
    bare, loaded = read_arm(chain_urdf()), read_arm(chain_urdf(extra=tool))
    np.testing.assert_array_equal(loaded.phi[:6], bare.phi[:6])
    R = rotation_from_rpy((0, 0, 0.7)) @ rotation_from_rpy((0.5, 0.1, 0))
    c = np.array([0, 0, 0.107 + 0.05]) + R @ [0.1, 0.02, -0.03]
    turn = R @ rotation_from_rpy((0.4, -0.3, 0.2))
    I = turn @ np.array([[1e-3, 1e-4, 0], [1e-4, 2e-3, -2e-4], [0, -2e-4, 2.5e-3]]) @ turn.T
    I += 0.5 * (c @ c * np.eye(3) - np.outer(c, c))
    added = [0.5, *(0.5 * c), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    np.testing.assert_allclose(loaded.phi[6] - bare.phi[6], added, atol=1e-15)


def test_what_hangs_on_the_base_does_not_matter(vendor_urdf):
    text = vendor_urdf.replace("</robot>", body("table", "base", BODY) + "</robot>")
    assert_same(read_arm(text), read_arm(vendor_urdf))


def test_base_placement_moves_the_arm(vendor_urdf):
    text = edit(vendor_urdf, r'<origin rpy="0 0 0" xyz="0 0 0"/>', '<origin rpy="0 0 1.2" xyz="1 2 3"/>')
    arm = read_arm(text)
    np.testing.assert_allclose(arm.translation[0], [1, 2, 3.333], rtol=1e-15)
    np.testing.assert_allclose(arm.rotation[0], rotation_from_rpy((0, 0, 1.2)), atol=1e-15)


def test_unused_joint_properties_stay_readable(vendor_urdf):
    """U14: friction changes no number of the model."""
    rough = read_arm(vendor_urdf.replace('friction="0.2"', 'friction="20"'))
    assert_same(rough, read_arm(vendor_urdf))
    assert dict(rough.description.joints[0].properties)["friction"] == "20"
    assert dict(rough.description.joints[0].properties)["mu_viscous"] == "16"


def test_velocity_envelope_is_optional(vendor_urdf, fr3_model, fer_model):
    """U15."""
    envelope = fr3_model.velocity_envelope
    assert envelope.velocity_offset[0] == 0.652
    assert envelope.deceleration_limit[6] == 17.0
    text = re.sub(r"<position_based_velocity_limits[^>]*>", "", vendor_urdf)
    model = Model.from_urdf(text)
    np.testing.assert_array_equal(model.phi, fr3_model.phi)
    for bare in (model, fer_model):
        with pytest.raises(ValueError, match="position_based_velocity_limits"):
            _ = bare.velocity_envelope


def test_limits_are_readable(fr3_model, fer_model, fr3_reference, fer_reference):
    for model, reference in ((fr3_model, fr3_reference), (fer_model, fer_reference)):
        np.testing.assert_array_equal(model.limits.lower, reference["q_lower"])
        np.testing.assert_array_equal(model.limits.upper, reference["q_upper"])
        np.testing.assert_array_equal(model.limits.velocity, reference["dq_limit"])
        np.testing.assert_array_equal(model.limits.effort, [87, 87, 87, 87, 12, 12, 12])
    assert fr3_model.link_masses[0] == 2.9274653454


@pytest.mark.parametrize(
    "rpy", [(0.3, -0.2, 0.9), (np.pi / 2, 0, 0), (0.4, np.pi / 2, 0.2), (-3.0, -np.pi / 2, 1.0)], ids=str
)
def test_angles_of_a_rotation(rpy):
    R = rotation_from_rpy(rpy)
    np.testing.assert_allclose(rotation_from_rpy(rpy_from_rotation(R)), R, atol=1e-15)


# --- strict where a wrong robot would follow ------------------------------------------------------------------------

TWO_ARMS = chain_urdf(prefix="left_").replace("</robot>", "") + re.sub(
    r"^<robot[^>]*>", "", chain_urdf(prefix="right_")
)
BAD = {
    "empty": ("", "cannot read the robot description"),
    "not xml": ("<robot", "not readable XML"),
    "not a robot": ("<sdf/>", "starts with <robot>, found <sdf>"),
    "mobile": (chain_urdf(name="tmrv0_2"), "mobile robot; a seven-axis arm"),
    "two arms": (TWO_ARMS, "found 2 links named link8"),
    "six joints": (chain_urdf(6), "found 6 moving joints on the way to 'link8'"),
    "eight joints": (chain_urdf(8, flange="tip"), "found 8 moving joints on the way to 'link8'"),
    "no flange": (chain_urdf(flange=""), "no link named 'link8'"),
    "fingers": (
        chain_urdf(extra=body("finger", "link8", "", kind="prismatic")),
        r"further moving joints in 'arm': finger_joint \(prismatic\)",
    ),
    "continuous": (chain_urdf().replace('"revolute"', '"continuous"', 1), "joint 'joint1' is continuous"),
    "axis": (chain_urdf().replace('axis xyz="0 0 1"', 'axis xyz="0 1 0"', 1), "joint 'joint1' turns about '0 1 0'"),
    "no axis": (chain_urdf().replace('<axis xyz="0 0 1"/>', "", 1), "joint 'joint1' turns about '1 0 0'"),
    "down axis": (chain_urdf().replace('axis xyz="0 0 1"', 'axis xyz="0 0 -1"', 1), "joint 'joint1' turns about"),
    "two roots": (chain_urdf(extra='<link name="lost"/>'), "found 2 root links"),
    "dangling": (chain_urdf().replace('child link="link3"', 'child link="link33"'), "refers to the link 'link33'"),
    "two parents": (
        chain_urdf(extra='<joint name="j" type="fixed"><parent link="link0"/><child link="link5"/></joint>'),
        "hangs on two joints",
    ),
    "loop": (chain_urdf().replace('<parent link="link0"/>', '<parent link="link8"/>'), "form a loop"),
    "duplicate": (chain_urdf(extra='<link name="link3"/>'), "two links are named 'link3'"),
    "duplicate joint": (chain_urdf().replace('name="joint3"', 'name="joint2"'), "two joints are named 'joint2'"),
    "encoding": (b'<?xml version="1.0" encoding="klingon"?><robot/>', "not readable XML"),
    "too large": (chain_urdf().replace('mass value="4"', 'mass value="4e999"'), "<mass> of link 'link4' is too large"),
    "type": (chain_urdf().replace('type="revolute"', 'type="hinge"', 1), "unknown type 'hinge'"),
    "no child": (chain_urdf().replace('<child link="link3"/>', ""), "joint 'joint3' lacks <child>"),
    "no name": (chain_urdf().replace('joint name="joint3"', "joint"), "<joint> lacks the attribute 'name'"),
    "no mass": (chain_urdf().replace('<mass value="4"/>', ""), "link 'link4' needs <mass> and <inertia>"),
    "tensor": (chain_urdf().replace('ixy="0" ', "", 1), "link 'link1' lacks the attribute 'ixy'"),
    "mass": (
        chain_urdf().replace('mass value="4"', 'mass value="heavy"'),
        "<mass> of link 'link4' must be one decimal number",
    ),
    "limit": (chain_urdf().replace("<axis", '<limit lower="low"/><axis', 1), "lower of <limit> of joint 'joint1'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_descriptions_give_one_sentence(case):
    """U12 and its kin."""
    text, message = BAD[case]
    with pytest.raises(UrdfError, match=message) as caught:
        read_arm(text)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_missing_file_names_the_path(tmp_path):
    with pytest.raises(UrdfError, match=r"nowhere\.urdf"):
        read_arm(tmp_path / "nowhere.urdf")
