"""Rate limiters and filters against libfranka's own outputs (1500 recorded cases, known answers) and at their edges."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from franka_rt import filters, limits, rotations
from franka_rt.errors import InvalidArgumentException
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from franka_rt.velocity_envelope import VelocityEnvelope
from tests.rt.expect import raises
from tests.rt.layouts import DATA

ENVELOPE = VelocityEnvelope.from_urdf((DATA / "fr3_vendor.urdf").read_text())
CUTOFF_GAIN = 0.3858695450950375


def flat(pose):
    """(4,4) to the wire's order, as plain floats."""
    return pose.T.ravel().tolist()


def square(values):
    return np.reshape(values, (4, 4)).T


# -- libfranka's recorded outputs ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cases():
    with np.load(DATA / "v10_rate_limit_libfranka_0_21.npz") as file:
        return dict(file)


def each(cases, function, *names):
    """One output per case, the inputs as plain lists."""
    return np.array([function(*values) for values in zip(*(cases[name].tolist() for name in names), strict=True)])


def test_recorded_torques(cases):
    out = each(cases, lambda tau, last: limits.limit_torques(tau, last, V10.limits), "tau_c", "tau_last")
    np.testing.assert_allclose(out, cases["tau_limited"], rtol=0, atol=1e-12)


def test_recorded_joint_velocities(cases):
    def limited(q, dq, last, a_last):
        return limits.limit_joint_velocities(dq, last, a_last, V10.limits, *ENVELOPE.bounds(q))

    out = each(cases, limited, "q_last", "dq_c", "dq_last", "ddq_last")
    np.testing.assert_allclose(out, cases["dq_limited"], rtol=0, atol=1e-12)


def test_recorded_joint_positions(cases):
    def limited(q, last, v_last, a_last):
        return limits.limit_joint_positions(q, last, v_last, a_last, V10.limits, *ENVELOPE.bounds(last))

    out = each(cases, limited, "q_c", "q_last", "dq_last", "ddq_last")
    np.testing.assert_allclose(out, cases["q_limited"], rtol=0, atol=1e-12)


def test_recorded_twists(cases):
    out = each(cases, lambda x, v, a: limits.limit_twist(x, v, a, V10.limits), "dP_c", "dP_last", "ddP_last")
    np.testing.assert_allclose(out, cases["dP_limited"], rtol=0, atol=1e-12)


def assert_poses(out, expected):
    np.testing.assert_allclose(out[..., :3, 3], expected[..., :3, 3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-9)


def test_recorded_poses(cases):
    """The recording called libfranka with rotational limits that were already reduced to 99 %; its own 99 % came on top
    (the known answers below, and the control loops, have it once)."""
    recorded = dataclasses.replace(V10.limits, rotational=tuple(0.99 * x for x in V10.limits.rotational))

    def limited(pose, last, twist, acceleration):
        return square(limits.limit_pose(flat(np.array(pose)), flat(np.array(last)), twist, acceleration, recorded))

    assert_poses(each(cases, limited, "O_T_EE_c", "O_T_EE_last", "dP_last", "ddP_last"), cases["O_T_EE_limited"])


def test_recorded_filters(cases):
    def filtered(tau, last, cutoff):
        return filters.low_pass(tau, last, filters.low_pass_gain(cutoff))

    def filtered_pose(pose, last, cutoff):
        gain = filters.low_pass_gain(cutoff)
        return square(filters.low_pass_pose(flat(np.array(pose)), flat(np.array(last)), gain))

    out = each(cases, filtered, "tau_c", "tau_last", "cutoff")
    np.testing.assert_allclose(out, cases["tau_lowpass"], rtol=0, atol=1e-12)
    assert_poses(each(cases, filtered_pose, "O_T_EE_c", "O_T_EE_last", "cutoff"), cases["O_T_EE_lowpass"])


# -- known answers of both versions --------------------------------------------------------------------------------

TAU, TAU_LAST = [5, -3, 0.5, 10, 1, 0, -2], [0, 0, 0, 9.5, 0.5, 0, 0]
V, V_LAST = [0.1, -0.5, 2.5, 0.002, -3, 0, 1], [0, -0.49, 1.99, 0, -2, 0.05, 0.9]
A_LAST = [0, -5, 3, 0, -1, 2, 9]
Q, Q_LAST = [0.001, 0.5, -1, -2, 0.3, 1.5, 0.7], [0, 0.499, -1.001, -2, 0.31, 1.5, 0.7005]
TWIST, TWIST_LAST = [0.1, -0.2, 0.05, 0.3, 0, -0.4], [0.09, -0.19, 0.04, 0.28, 0.01, -0.39]
DTWIST_LAST = [1, -2, 0.5, 3, -1, 2]
U10 = [2.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0]


def about_z(angle, *translation):
    c, s = math.cos(angle), math.sin(angle)
    return [c, s, 0.0, 0.0, -s, c, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, *translation, 1.0]


POSE, POSE_LAST = about_z(0.305, 0.4005, 0.1, 0.499), about_z(0.3, 0.4, 0.1, 0.5)


def bounds(arm):
    upper = U10 if arm.limits.joint_velocity is None else arm.limits.joint_velocity.tolist()
    return upper, [-u for u in upper]


# fmt: off
TWIST_V10 = [0.0936405239481039, -0.194347132398315, 0.0432872197229986,
             0.289373621020765, 0.00562573004783006, -0.392499026602893]
TWIST_V5 = [0.0948140904080538, -0.195390302584937, 0.0445259843196123,
            0.292372972442226, 0.00403783811882163, -0.394616215841571]
# fmt: on
KNOWN = {
    "torques": (
        lambda arm: limits.limit_torques(TAU, TAU_LAST, arm.limits),
        [0.999999, -0.999999, 0.5, 10, 1, 0, -0.999999],
        [0.999999, -0.999999, 0.5, 10, 1, 0, -0.999999],
    ),
    "joint velocities": (
        lambda arm: limits.limit_joint_velocities(V, V_LAST, A_LAST, arm.limits, *bounds(arm)),
        [0.004999999, -0.499999, 1.99500049904991, 0.002, -2.005999999, 0.047000001, 0.909999],
        [0.007499999, -0.497499, 1.997999999, 0.002, -2.008499999, 0.042000001, 0.918999999],
    ),
    "joint positions": (
        lambda arm: limits.limit_joint_positions(Q, Q_LAST, V_LAST, A_LAST, arm.limits, *bounds(arm)),
        [4.999999e-06, 0.498509999999, -0.999011999999, -2, 0.307994000001, 1.500047000001, 0.701404000001],
        [7.499999e-06, 0.498508749999, -0.999011999999, -2, 0.307991500001, 1.500042000001, 0.701399000001],
    ),
    "twist": (
        lambda arm: limits.limit_twist(TWIST, TWIST_LAST, DTWIST_LAST, arm.limits),
        TWIST_V10,
        TWIST_V5,
    ),
    "pose": (
        lambda arm: limits.limit_pose(POSE, POSE_LAST, TWIST_LAST, DTWIST_LAST, arm.limits)[12:15],
        [0.400092622492464, 0.0998087616590539, 0.500036372363304],
        [0.400093343600386, 0.0998091001742642, 0.500034537857699],
    ),
    "filter": (
        lambda arm: filters.low_pass([1.0], [0.5], filters.low_pass_gain(arm.cutoff_frequency)),
        [0.69293477254751878],
        [0.69293477254751878],
    ),
    "pose filter": (
        lambda arm: filters.low_pass_pose(POSE, POSE_LAST, filters.low_pass_gain(arm.cutoff_frequency))[12:15],
        [0.400192934772548, 0.1, 0.499614130454905],
        [0.400192934772548, 0.1, 0.499614130454905],
    ),
    "beyond the limit": (
        lambda arm: limits.limit_twist([4, 0, 0] * 2, [3.5, 0, 0] * 2, [0, 5, 0] * 2, arm.limits)[:3],
        [3.216656094449, -0.312008933567372, 0],
        [3.50649967402442, 0.00493500325975577, 0],
    ),
}
ORIENTATIONS = {
    "pose": (
        lambda arm: limits.limit_pose(POSE, POSE_LAST, TWIST_LAST, DTWIST_LAST, arm.limits)[:3],
        [0.955448599093682, 0.295157532319758, 7.48654221852534e-05],
        [0.955447431872426, 0.295161310695882, 7.48109272217279e-05],
    ),
    "pose filter": (
        lambda arm: filters.low_pass_pose(POSE, POSE_LAST, CUTOFF_GAIN)[:3],
        [0.954764550177346, 0.297362831780723, 0],
        [0.954764550177346, 0.297362831780723, 0],
    ),
}


@pytest.mark.parametrize("case", KNOWN)
def test_known_answers(arm, case):
    function, *answers = KNOWN[case]
    np.testing.assert_allclose(function(arm), answers[0 if arm is V10 else 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", ORIENTATIONS)
def test_known_orientations(arm, case):
    function, *answers = ORIENTATIONS[case]
    np.testing.assert_allclose(function(arm), answers[0 if arm is V10 else 1], rtol=0, atol=1e-9)


def test_arrays_are_taken_too():
    out = limits.limit_torques(np.array(TAU, float), np.array(TAU_LAST), V5.limits)
    assert out == limits.limit_torques(TAU, TAU_LAST, V5.limits)


# -- edges ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cutoff", "gain"), [(100.0, CUTOFF_GAIN), (999.9, 0.8627), (math.nextafter(0, 1), 0.0), (1e6, 0.99984)]
)
def test_gain(cutoff, gain):
    assert filters.low_pass_gain(cutoff) == pytest.approx(gain, abs=5e-5 if cutoff != 100.0 else 1e-16)


@pytest.mark.parametrize("cutoff", [0.0, -1.0, math.nan, math.inf])
def test_bad_cutoffs(cutoff):
    with raises(InvalidArgumentException, "lowpass-filter: cutoff_frequency is zero, negative, infinite or NaN."):
        filters.low_pass_gain(cutoff)


@pytest.mark.parametrize("sample_time", [-1e-3, math.nan, math.inf])
def test_bad_sample_times(sample_time):
    with raises(InvalidArgumentException, "lowpass-filter: sample_time is negative, infinite or NaN."):
        filters.low_pass_gain(100.0, sample_time)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("argument", [0, 1])
def test_filters_refuse_what_is_not_finite(bad, argument):
    inputs = [TAU, TAU_LAST]
    inputs[argument] = [*inputs[argument][:6], bad]
    text = "lowpass-filter: current or past input value of the signal to be filtered is infinite or NaN."
    with raises(InvalidArgumentException, text):
        filters.low_pass(inputs[0], inputs[1], CUTOFF_GAIN)
    poses = [list(POSE), list(POSE_LAST)]
    poses[argument][13] = bad
    with raises(InvalidArgumentException, "Cartesian " + text):
        filters.low_pass_pose(poses[0], poses[1], CUTOFF_GAIN)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_limiters_refuse_what_is_not_finite(arm, bad):
    seven, six, pose = [bad, *[0.0] * 6], [*[0.0] * 5, bad], [*POSE[:12], bad, *POSE[13:]]
    calls = {
        "Commanding value is infinite or NaN.": lambda: limits.limit_torques(seven, TAU_LAST, arm.limits),
        "commanded_velocities is infinite or NaN.": lambda: limits.limit_joint_velocities(
            seven, V_LAST, A_LAST, arm.limits, *bounds(arm)
        ),
        "commanded_positions is infinite or NaN.": lambda: limits.limit_joint_positions(
            seven, Q_LAST, V_LAST, A_LAST, arm.limits, *bounds(arm)
        ),
        "commanded_position is infinite or NaN.": lambda: limits.limit_elbow(bad, 0.0, 0.0, 0.0, arm.limits),
        "O_dP_EE_c is infinite or NaN.": lambda: limits.limit_twist(six, TWIST_LAST, DTWIST_LAST, arm.limits),
        "O_T_EE_c is infinite or NaN.": lambda: limits.limit_pose(pose, POSE_LAST, TWIST_LAST, DTWIST_LAST, arm.limits),
    }
    for text, call in calls.items():
        with raises(InvalidArgumentException, text):
            call()


def test_pose_limiter_refuses_what_is_no_transform(arm):
    scaled, row = [1.1 * x for x in POSE], [*POSE[:3], 0.1, *POSE[4:]]
    for pose in (scaled, row):
        with raises(InvalidArgumentException, "O_T_EE_c is invalid transformation matrix. Has to be column major!"):
            limits.limit_pose(pose, POSE_LAST, TWIST_LAST, DTWIST_LAST, arm.limits)


def test_holding_still_is_left_alone(arm):
    """Zero acceleration and a repeated command: no division by zero, nothing moves."""
    zero = [0.0] * 7
    assert limits.limit_joint_velocities(zero, zero, zero, arm.limits, *bounds(arm)) == zero
    assert limits.limit_joint_positions(Q, Q, zero, zero, arm.limits, *bounds(arm)) == Q
    assert limits.limit_twist(zero[:6], zero[:6], zero[:6], arm.limits) == zero[:6]
    assert limits.limit_twist(TWIST, TWIST, zero[:6], arm.limits) == TWIST
    np.testing.assert_allclose(limits.limit_pose(POSE, POSE, zero[:6], zero[:6], arm.limits), POSE, atol=1e-15)
    assert limits.limit_elbow(0.3, 0.3, 0.0, 0.0, arm.limits) == 0.3


def test_faster_than_the_limit_heading_away_is_not_nan(arm):
    """|v'| > V and u perpendicular: the root does not exist, the step is |a| T as libfranka's comparisons leave it."""
    out = limits.limit_twist([0, 9, 0] * 2, [4, 0, 0] * 2, [0, 5, 0] * 2, arm.limits)
    assert out[0] != 4
    assert np.isfinite(out).all()
    a = np.array([-4e3, 9e3 - 5e0, 0]) / 1e-3  # towards the command
    jerk = arm.limits.translational[0]
    step = np.array([0, 5, 0]) + (a / np.linalg.norm(a)) * jerk * 1e-3
    velocity = arm.limits.translational[2]
    u = step / np.linalg.norm(step)
    assert (u[0] * 4) ** 2 - 16 + velocity**2 < 0, "the case that is meant"
    np.testing.assert_allclose(out[:3], np.array([4, 0, 0]) + step * 1e-3, rtol=0, atol=1e-12)


@pytest.mark.parametrize("past", [2.9007, 2.95, 4.0])
def test_past_a_position_limit(past):
    """The envelope is (almost) zero there, and a velocity towards the limit is braked, never NaN."""
    q = [past, *[0.0] * 6]
    upper, lower = ENVELOPE.bounds(q)
    assert (upper[0], lower[0]) == (-1e-3, -2.62 + 1e-3)
    out = limits.limit_joint_velocities([1.0] * 7, [0.0] * 7, [0.0] * 7, V10.limits, upper, lower)
    assert out[0] <= 0.0
    assert np.isfinite(out).all()


@pytest.mark.parametrize(
    ("joint", "q", "limit"), [(1, 0.0, 2.62), (1, 2.7, 0.89990), (1, 2.76, 0.64738), (2, 1.7, 0.58883)]
)
def test_envelope_of_the_real_robot(joint, q, limit):
    values = [0.0] * 7
    values[joint - 1] = q
    assert ENVELOPE.bounds(values)[0][joint - 1] + 1e-3 == pytest.approx(limit, abs=5e-6)


# -- rotations -----------------------------------------------------------------------------------------------------


IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def random_rotations(n=200):
    rng = np.random.default_rng(3)
    for _ in range(n):
        w, x, y, z = (v := rng.normal(size=4)) / np.linalg.norm(v)
        yield rotations.from_quaternion((w, x, y, z)), rng


def nine(matrix) -> Any:
    """Row by row, as a tuple."""
    return tuple(matrix.ravel().tolist())


def by_svd(m):
    u, _, vt = np.linalg.svd(np.reshape(m, (3, 3)))
    return (u @ np.diag([1, 1, np.linalg.det(u @ vt)]) @ vt).ravel()


@pytest.mark.parametrize("noise", [0.0, 1e-12, 3e-8, 1e-5, 1e-2, 0.5])
def test_nearest_rotation(noise):
    for rotation, rng in random_rotations():
        matrix = nine(np.array(rotation) + noise * rng.normal(size=9))
        np.testing.assert_allclose(rotations.nearest_rotation(matrix), by_svd(matrix), rtol=0, atol=3e-14)


def test_nearest_rotation_of_mirrored_and_sheared_matrices():
    for matrix in (np.diag([1.0, 1.0, -1.0]), np.diag([1.1, 1.1, 1.1]), np.eye(3) + np.eye(3, k=1)):
        flattened = nine(matrix + 1e-3 * np.arange(9).reshape(3, 3))
        np.testing.assert_allclose(rotations.nearest_rotation(flattened), by_svd(flattened), rtol=0, atol=1e-14)
    assert all(map(math.isnan, rotations.nearest_rotation(nine(np.full(9, math.nan)))))


def test_quaternions_and_axes_there_and_back():
    for rotation, _ in random_rotations():
        back = rotations.from_quaternion(rotations.quaternion(rotation))
        np.testing.assert_allclose(back, rotation, rtol=0, atol=4e-15)
        axis, angle = rotations.axis_angle(rotation)
        assert 0.0 <= angle <= math.pi
        np.testing.assert_allclose(rotations.rotated(IDENTITY, axis, angle), rotation, rtol=0, atol=2e-14)
        assert rotations.rotated(rotation, (0.0, 0.0, 0.0), 1e-3) == rotation
    assert rotations.axis_angle(IDENTITY) == ((1.0, 0.0, 0.0), 0.0)


def test_slerp_takes_the_shorter_arc():
    p, q = (1.0, 0.0, 0.0, 0.0), (-math.cos(0.5), -math.sin(0.5), 0.0, 0.0)
    np.testing.assert_allclose(rotations.slerp(p, q, 0.25), [math.cos(0.125), math.sin(0.125), 0, 0], atol=1e-15)
    assert rotations.slerp(p, p, 0.25) == p
