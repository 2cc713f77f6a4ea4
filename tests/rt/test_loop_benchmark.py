"""The loop benchmark runs with this project's own clients, compares the same law, and counts what it should."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import loop_report
from benchmarks.loop import CLIENTS, COMPARED, IN_PROCESS
from benchmarks.loop_clients import CLIENTS as RUNNABLE
from benchmarks.loop_pair import measure
from benchmarks.loop_schedule import Schedule

ORDINARY = Schedule(0)


PAIRS = [("python", 5), ("compiled", 10)]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_client_runs_against_the_server(pair, tmp_path):
    result = tmp_path / "cycles.npz"
    said = measure(pair[0], pair[1], 0.3, result, ORDINARY, ORDINARY, hostile=False)
    with np.load(result) as file:
        run = loop_report.evaluate({name: file[name] for name in file})
    assert run["cycles"] > 300
    assert 0.0 < run["p50"] <= run["p99"]
    assert said["client"]["cycles"] + said["client"]["skipped"] >= 300
    assert np.isfinite(said["server"]["torques"]).all()
    assert said["policies"] == ["ordinary"]


def test_lost_cycles_are_those_without_a_command_in_time():
    period, us = 1_000_000, 1000
    cycles = {
        "sent": np.arange(6) * period,
        "turnaround": np.array([50 * us, period + 1, 70 * us, -1, 80 * us, -1]),
        "tick": np.zeros(6, np.int64),
    }
    run = loop_report.evaluate(cycles)
    assert run["lost"] == 3
    assert run["p50"] == 1000.001
    assert run["p99"] == np.inf


def test_report_puts_ours_next_to_theirs(tmp_path, monkeypatch):
    monkeypatch.setattr(loop_report, "RESULTS", tmp_path)
    common = {"p99": 90.0, "p99.9": 99.0, "lost": 0, "cycles": 1000, "server late p99.9": 1.0}
    common |= {"policies": ["SCHED_FIFO 99", "ordinary"], "torques": [1.0] * 7}
    runs = {case: [{**common, "p50": p50}] for case, p50 in (("python 10", 50.0), ("pylibfranka 10", 100.0))}
    assert "0.50 (aim: <= 1, met)" in loop_report.ratios(runs)
    assert "differ by at most 0.0e+00 Nm" in loop_report.same_law(runs)
    assert "SCHED_FIFO 99" in loop_report.table(runs)
    saved = loop_report.save("loop", {}, runs)
    assert json.loads(saved.read_text(encoding="utf-8"))["medians"]["python 10"]["p50"] == [50.0, 50.0, 50.0]
    assert loop_report.chart("loop", {case: np.array([1e5, -1, 2e5]) for case in runs}, "title").stat().st_size > 1000


def test_every_client_that_is_offered_can_run():
    assert set(CLIENTS) == set(RUNNABLE)
    assert {*COMPARED, *IN_PROCESS, loop_report.YARDSTICK} == set(CLIENTS)


def test_unknown_client_is_one_line():
    command = [sys.executable, "-m", "benchmarks.loop", "--clients", "ros"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2], timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.strip().startswith("There is no client 'ros'")


def test_times_inside_a_process_are_compared_with_the_yardstick():
    def run(p50):
        return [{"statistics": {"p50": p50 * 1e-6, "p99": 1e-4}}]

    runs = {"model-kernel 10": run(20.0), f"{loop_report.YARDSTICK} 10": run(50.0)}
    line = loop_report.in_process(runs, IN_PROCESS).splitlines()[1]
    assert "18  MISSED; 0.40 of pylibfranka's (aim 0.55)" in line
