"""Faults as data, and the links that carry datagrams with them."""

import itertools

import pytest

from franka_rt import errors
from franka_rt.dialect import CommandName, Status
from franka_rt.sim.faults import Faults, Link

DATAGRAMS = [bytes([k]) for k in range(200)]


def carried(faults, seed=0, direction="states"):
    """What comes out when one datagram goes in every millisecond."""
    link, out = Link(faults, direction, seed), []
    for datagram in DATAGRAMS:
        out.append((*link.tick(), *link.carry(datagram)))
    return out


@pytest.mark.parametrize("bad", [{"drop_states": 1.5}, {"refuse": {"Fly": "Success"}}, {"refuse": {"Move": "Perhaps"}}])
def test_nonsense_faults(bad):
    with pytest.raises(errors.InvalidArgumentException):
        Faults(**bad)


def test_faults_travel_as_plain_values():
    faults = Faults(drop_states=0.5, refuse={CommandName.MOVE: Status.REFLEX_ABORTED}, cut_tcp_after=3)
    assert Faults(**faults.to_dict()) == faults


def test_without_faults_everything_passes():
    assert carried(Faults()) == [(datagram,) for datagram in DATAGRAMS]
    assert carried(Faults(drop_commands=1.0)) == [(datagram,) for datagram in DATAGRAMS]


def test_dropped():
    assert carried(Faults(drop_states=1.0)) == [()] * 200
    assert 60 < sum(len(out) for out in carried(Faults(drop_states=0.5))) < 140


def test_duplicated():
    assert carried(Faults(duplicate_states=1.0)) == [(datagram, datagram) for datagram in DATAGRAMS]


def test_delayed():
    out = carried(Faults(delay_states=1.0, delay_ticks=3))
    assert out == [()] * 3 + [(datagram,) for datagram in DATAGRAMS[:-3]]


def test_reordered():
    out = [datagram for step in carried(Faults(reorder_states=0.5)) for datagram in step]
    swapped = sum(a > b for a, b in itertools.pairwise(out))
    assert 20 < swapped < 90
    assert abs(len(out) - 200) <= 1
    assert len(set(out)) == len(out)


def test_the_seed_decides():
    faults = Faults(drop_states=0.3, duplicate_states=0.3)
    assert carried(faults, seed=7) == carried(faults, seed=7)
    assert carried(faults, seed=7) != carried(faults, seed=8)
