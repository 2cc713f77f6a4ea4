"""Fields of states in fixed arrays are what the attributes of the state show, for every field and both versions."""

import math

import numpy as np
import pytest

from franka_rt import checks
from franka_rt.field_copies import FieldCopies
from franka_rt.state import RobotState
from franka_rt.state_fields import state_fields
from franka_rt.v5 import V5
from franka_rt.v10 import V10

COMPUTED = ("time", "message_id", "m_total", "F_x_Ctotal", "I_total", "control_command_success_rate")


def states_of(arm):
    """Endless states with different numbers everywhere."""
    rng = np.random.default_rng(1)
    while True:
        record = arm.new_state()
        for name in state_fields(arm).wire:
            record[name] = rng.normal(size=record[name].shape) * 10.0 ** rng.integers(-3, 3)
        record["message_id"], record["control_command_success_rate"] = rng.integers(1, 10**6), rng.random()
        yield RobotState(arm, record.tobytes())


@pytest.fixture
def states(arm):
    return states_of(arm)


def arrays_for(names, state, apart):
    """(name, array) side by side in one block, with ``apart`` words between them."""
    block, first, fields = np.full(1000, np.nan), 0, []
    for name in names:
        shape = np.shape(getattr(state, name))
        size = math.prod(shape)
        fields.append((name, block[first : first + size].reshape(shape)))
        first += size + apart
    return block, fields


def check(fields, state):
    for name, array in fields:
        np.testing.assert_array_equal(array, getattr(state, name), err_msg=name)


@pytest.mark.parametrize("apart", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_every_field(states, arm, seed, apart):
    """In any order, with computed ones in between; what lies between the arrays is left alone."""
    names = [*state_fields(arm).wire, *COMPUTED]
    np.random.default_rng(seed).shuffle(names)
    block, fields = arrays_for(names, next(states), apart)
    copies = FieldCopies(fields)
    for _ in range(3):
        state = next(states)
        copies(state)
        check(fields, state)
    assert np.count_nonzero(np.isnan(block)) == 1000 - sum(array.size for _, array in fields)


def test_a_changed_copy_counts_as_it_is(states):
    state = next(states).copy()
    _, fields = arrays_for(("q", "O_T_EE", "m_ee", "dq"), state, 0)
    state.q[2], state.O_T_EE[1, 3] = 17.0, 18.0
    FieldCopies(fields)(state)
    check(fields, state)
    assert fields[0][1][2] == 17.0
    assert fields[1][1][1, 3] == 18.0
    assert state.numbers("O_T_EE")[13] == 18.0


def test_states_of_both_versions_in_turn():
    _, fields = arrays_for(("q", "F_T_EE", "tau_J"), next(states_of(V5)), 0)
    copies, sources = FieldCopies(fields), [states_of(V5), states_of(V10)]
    for source in sources * 2:
        state = next(source)
        copies(state)
        check(fields, state)


def test_what_does_not_fit_is_refused(states):
    with pytest.raises(ValueError, match="broadcast"):
        FieldCopies([("q", np.zeros(6))])(next(states))


def test_numbers_are_those_of_the_wire(states, arm):
    state = next(states)
    for name in state_fields(arm).wire:
        shown = np.asarray(getattr(state, name))
        order = "F" if shown.shape in ((4, 4), (3, 3)) else "C"
        np.testing.assert_array_equal(state.numbers(name), shown.ravel(order), err_msg=name)


@pytest.mark.parametrize(
    ("numbers", "finite"),
    [([1e308] * 7, True), ([0.0, math.inf], False), ([math.inf, -math.inf], False), ([math.nan, math.inf], False)],
)
def test_finite(numbers, finite):
    """Also where the sum of squares overflows."""
    assert checks.finite(numbers) is finite
    assert checks.finite(np.array(numbers)) is finite
