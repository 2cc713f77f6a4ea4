"""Compiled laws as callbacks: the same torques as the same law in numpy, for an arm that they were made for."""

import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import Payload, aot
from franka_rt import KernelLaw
from franka_rt.dialect import CommandName
from franka_rt.errors import InvalidArgumentException, InvalidOperationException
from tests.rt.expect import raises
from tests.rt.scripted import URDF

pytestmark = pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")

SEVEN, Q = np.zeros(7), np.array([0, -0.7, 0, -2.3, 0, 1.5, 0.7])
GAINS = {"k": np.linspace(10, 70, 7), "d": np.linspace(1, 7, 7)}
RAW = {"limit_rate": False, "cutoff_frequency": 1000.0}


def spring(q, dq, O_T_EE, dt, target, gains):
    """Ordinary state fields, a matrix, dt and parameters."""
    return gains["k"] * (target - q) - gains["d"] * dq + O_T_EE[0, 3] + dt


def counting(q, memory, limit):
    """Remembers, and ends by itself."""
    count = memory["count"] + 1.0
    return {"tau": jnp.full(7, count), "memory": {"count": count, "q": q}, "finished": count >= limit}


@pytest.fixture(scope="module")
def springs():
    return aot.compile_function(spring, SEVEN, SEVEN, np.eye(4), 0.0, SEVEN, GAINS)


@pytest.fixture(scope="module")
def counter():
    return aot.compile_function(counting, SEVEN, {"count": 0.0, "q": SEVEN}, 0.0)


def law_of(kernel, **options):
    return KernelLaw(kernel, target=Q + 0.01, gains=GAINS, **options)


def torques(server):
    return np.array([c.record["control"]["tau_J_d"] for c in server.commands])


def run(robot, law, cycles):
    """Run it and end it after so many; what the loop was given."""
    seen = []

    def callback(state, dt):
        seen.append((state, dt))
        if len(seen) == cycles:
            law.finish()
        return law(state, dt)

    robot.control_torques(callback, **RAW)
    return seen


def test_the_same_torques_as_in_numpy(server, robot, springs):
    pose = np.eye(4)
    pose[0, 3] = 0.25
    server.state.update(q=Q, dq=np.full(7, 0.1), O_T_EE=pose)
    law = law_of(springs)
    seen = run(robot, law, 10)
    expected = [spring(s.q, s.dq, s.O_T_EE, dt, Q + 0.01, GAINS) for s, dt in seen]
    np.testing.assert_allclose(torques(server)[:10], expected, rtol=0, atol=1e-13)


def test_the_model_in_the_law(server, robot, fr3_model, fer_model, arm):
    """Coriolis torques and payload inside the kernel: the same as the model's own calls on the same states."""
    model = {"fr3": fr3_model, "fer": fer_model}[arm.robot]

    def law(q, dq, m_total, F_x_Ctotal, I_total, target):
        return 50.0 * (target - q) + model.coriolis(q, dq, Payload(m_total, F_x_Ctotal, I_total))

    zeros = SEVEN, SEVEN, 0.0, np.zeros(3), np.zeros((3, 3)), SEVEN
    server.state.update(q=Q, dq=np.linspace(-1, 1, 7), m_load=1.2, F_x_Cload=(0.01, 0.02, 0.05))
    seen = run(robot, KernelLaw(aot.compile_function(law, *zeros), target=Q, robot=arm.robot), 3)
    state = seen[0][0]
    expected = 50.0 * (Q - state.q) + robot.load_model().coriolis(state)
    assert np.abs(expected).max() > 0.05
    np.testing.assert_allclose(torques(server)[0], expected, rtol=0, atol=1e-11)


def test_parameters_change_while_it_runs(server, robot, springs):
    law = law_of(springs)
    assert law.parameters == ("target", "gains")
    law.set(gains={"k": np.zeros(7), "d": np.zeros(7)})
    run(robot, law, 3)
    np.testing.assert_allclose(torques(server)[0], 0.0, atol=1e-15)


def test_memory_and_its_own_end(server, robot, counter):
    law = KernelLaw(counter, memory={"count": 2.0, "q": SEVEN}, limit=6.0)
    robot.control_torques(law, **RAW)
    np.testing.assert_array_equal(torques(server)[:4, 0], [3, 4, 5, 6])
    assert server.commands[-1].finished
    assert [c.finished for c in server.commands[:3]] == [False] * 3
    law.set(memory={"count": 0.0, "q": SEVEN})
    robot.control_torques(law, **RAW)


def test_filter_and_limiter_work_on_a_law_too(server, robot, counter):
    robot.control_torques(KernelLaw(counter, memory={"count": 500.0, "q": SEVEN}, limit=504.0), limit_rate=True)
    assert torques(server).max() < 1.0


WRONG = {
    "missing": ({"target": Q}, "needs values for gains"),
    "unknown": ({"target": Q, "gains": GAINS, "speed": 1}, "speed is none of target, gains"),
    "state field": ({"target": Q, "gains": GAINS, "q": Q}, "q is none of target, gains"),
    "shape": ({"target": Q[:6], "gains": GAINS}, "target has shape (6,), the kernel takes (7,)"),
    "structure": ({"target": Q, "gains": {"k": SEVEN}}, "gains: ['d', 'k'] were expected"),
    "NaN": ({"target": Q * np.nan, "gains": GAINS}, "target has a number that is infinite or NaN."),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parameters(springs, case):
    parameters, complaint = WRONG[case]
    with raises(InvalidArgumentException, complaint):
        KernelLaw(springs, **parameters)


def test_a_bad_change_changes_nothing(springs):
    law = law_of(springs)
    before = [x.copy() for x in law.bound.inputs]
    with raises(InvalidArgumentException, "infinite or NaN"):
        law.set(target=Q, gains={"k": SEVEN, "d": SEVEN * np.nan})
    for a, b in zip(before, law.bound.inputs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_results_that_are_no_torques():
    for function in (lambda q: q[:6], lambda q: {"force": q}, lambda q: (q, q)):
        with raises(InvalidArgumentException, "has to give 7 torques"):
            KernelLaw(aot.compile_function(function, SEVEN))
    kernel = aot.compile_function(lambda q, memory: q, SEVEN, SEVEN)
    with raises(InvalidArgumentException, "memory"):
        KernelLaw(kernel, memory=SEVEN)


IMPRECISE = {
    "field": (lambda q: q["a"] + q["b"], ({"a": SEVEN, "b": SEVEN},), "q of lambda has to be one array"),
    "torques": (lambda q: jnp.where(q > 0.0, 1, -1), (SEVEN,), "has to give 7 torques as floats"),
    "dt": (lambda q, dt: q * dt, (SEVEN, 0), "takes dt as int64, not as float"),
    "steps": (lambda q, dt: q * dt, (SEVEN, SEVEN), "dt of lambda has to be one number"),
    "memory": (lambda q, memory: {"tau": q, "memory": memory + 0.5}, (SEVEN, 0), "the memory that lambda gives back"),
    "end": (lambda q: {"tau": q, "finished": q > 0.0}, (SEVEN,), "finished of lambda has to be one number"),
}  # fmt: skip


@pytest.mark.parametrize("case", IMPRECISE)
def test_whole_numbers_are_not_read_as_real_ones(case):
    """What is one word for numpy is other bits for the loops in C: nothing is guessed."""
    function, arguments, complaint = IMPRECISE[case]
    with raises(InvalidArgumentException, complaint):
        KernelLaw(aot.compile_function(function, *arguments))


def test_other_arms_refuse_it(arm, server, robot, springs):
    other = {"fer": "fr3", "fr3": "fer"}[arm.robot]
    with raises(InvalidArgumentException, f"made for the {other}, not for the {arm.robot}"):
        robot.control_torques(law_of(springs, robot=other))
    if robot.serves_urdf:
        with raises(InvalidArgumentException, "another URDF"):
            robot.control_torques(law_of(springs, urdf="<robot/>"))
    assert CommandName.MOVE not in server.asked()
    law = law_of(springs, robot=arm.robot, urdf=URDF.decode())
    law.finish()
    robot.control_torques(law)
    assert server.commands[-1].finished


def test_not_finite_torques_are_not_sent(server, robot):
    law = KernelLaw(aot.compile_function(lambda q, scale: scale / (q - q), SEVEN, 1.0), scale=1.0)
    with raises(InvalidArgumentException, "infinite or NaN"):
        robot.control_torques(law, **RAW)
    assert server.commands == []
    assert repr(law).startswith("<KernelLaw <kernel ")


@pytest.mark.parametrize("compiled", [False, True])
def test_a_law_runs_in_one_loop_at_a_time(robot, counter, compiled):
    """Its memory is that of one arm."""
    law = KernelLaw(counter, memory={"count": 0.0, "q": SEVEN}, limit=3.0)
    with law.running(), raises(InvalidOperationException, "already runs in another loop"):
        robot.control_torques(law, compiled=compiled)
    robot.control_torques(law, compiled=compiled, **RAW)
