"""Every fault of the table in benchmarks/faults.py, on both simulated robots, with shorter waits."""

import pytest

from benchmarks.fault_runs import ACTIVE, KINDS, POSITIONS, TORQUES, Result, run
from benchmarks.faults import FAULTS, VERSIONS, table
from franka_rt.sim import SimulatedRobot

SILENCE = 0.2  # s instead of libfranka's 1 s


@pytest.fixture(scope="module", params=["fer", "fr3"])
def sim(request):
    with SimulatedRobot(request.param, port=0, gripper_port=None, realtime=False, patience=0.01) as sim:
        yield sim


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_ends_well(sim, fault, monkeypatch):
    """The right exception in bounded time, the arm stopped, the program goes on, no thread and no descriptor left."""
    monkeypatch.setattr("franka_rt.motion._AFTER_SILENCE", SILENCE)
    for kind in KINDS:
        run(sim, fault, kind, SILENCE)


def test_the_table_has_a_row_for_every_outcome():
    rows = [
        Result("a", TORQUES, VERSIONS[0], "arrives", 1.0),
        Result("a", TORQUES, VERSIONS[1], "arrives", 2.4),
        Result("a", ACTIVE, VERSIONS[1], "arrives", 3.4),
        Result("a", POSITIONS, VERSIONS[1], "falls", 4.0),
    ]
    assert list(table(rows))[2:] == [
        f"| a | {TORQUES}, {ACTIVE} | arrives | 1 ms | 3 ms |",
        f"| a | {POSITIONS} | falls |  | 4 ms |",
    ]
