"""Control loops side by side: how long after a state its command is at the robot, and how many cycles are lost.

    python -m benchmarks.loop                          # all clients that are installed, five interleaved runs of 10 s
    python -m benchmarks.loop --clients python,pylibfranka --versions 10 --runs 3 --seconds 5
    python -m benchmarks.loop --hostile --runs 1 --seconds 60     # while another thread keeps the interpreter busy
    python -m benchmarks.loop --in-process             # state received to command sent, with the model in the loop

All clients run the same law against the same server on loopback, one after the other in turn, each in a process of its
own, with the same scheduling (SCHED_FIFO for server and loops where permitted, else ordinary; --ordinary: ordinary).
Table to standard output; results/loop.json, results/loop.png.

Each measurement is a command of its own; ``--prefix`` puts another in front of it (a lock, for example), and
``--append`` adds the runs to those of the file, so that a long series can be split.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import loop_report as report
from benchmarks.harness import RESULTS
from benchmarks.loop_pair import SETTLING
from benchmarks.loop_schedule import schedules

CLIENTS = {  # client -> (module that has to be installed, versions)
    "python": ("franka_rt", (5, 10)),
    "active": ("franka_rt", (5, 10)),
    "kernel": ("franka_rt", (5, 10)),
    "compiled": ("franka_rt.compiled_loop", (5, 10)),
    "pylibfranka": ("pylibfranka", (10,)),
    "panda": ("panda_py", (5,)),
    "franka-rs": ("franka", (5, 10)),
}
COMPARED = tuple(CLIENTS)
IN_PROCESS = {"model-five": 30.0, "model-one": 30.0, "model-joint": 30.0, "model-kernel": 18.0}
"""Clients with all five quantities of the model in the loop; us that the median of a cycle should not exceed."""
CLIENTS |= dict.fromkeys(IN_PROCESS, ("franka_rt", (5, 10)))
CLIENTS[report.YARDSTICK] = "pylibfranka", (10,)
HOSTILE = ("compiled", "kernel", "python")


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def cases(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """(client, version) of what is wanted and installed; says what is not."""
    everybody = HOSTILE if options.hostile else (*IN_PROCESS, report.YARDSTICK) if options.in_process else COMPARED
    wanted = options.clients.split(",") if options.clients else everybody
    versions = [int(v) for v in options.versions.split(",")]
    for client in wanted:
        if client not in CLIENTS:
            raise SystemExit(f"There is no client {client!r}; there are {', '.join(CLIENTS)}.")
        module, spoken = CLIENTS[client]
        if not _installed(module):
            print(f"NOT MEASURED: {client} ({module} is not installed)", flush=True)
            continue
        yield from ((client, version) for version in versions if version in spoken)


def measure(
    client: str, version: int, options: argparse.Namespace, folder: Path
) -> tuple[report.Run, np.ndarray] | None:
    """One run in a process; its figures and turnarounds (ns). None, with a line that says why, if it failed."""
    path = folder / "cycles.npz"
    command = [*shlex.split(options.prefix), sys.executable, "-m", "benchmarks.loop_pair", client, str(version)]
    command += ["--seconds", str(options.seconds), "--result", str(path)]
    command += [f"--{flag}" for flag in ("ordinary", "hostile") if getattr(options, flag)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"FAILED: {client} v{version}: {done.stderr.strip()[-800:]}", flush=True)
        return None
    said = json.loads(done.stdout.strip().splitlines()[-1])
    settling = int(1000 * SETTLING)
    with np.load(path) as file:
        cycles = {key: file[key][settling : settling + int(1000 * options.seconds)] for key in file}
    run = report.evaluate(cycles)
    run |= {"policies": said["policies"], "torques": said["server"]["torques"], "statistics": said["client"]}
    return run, cycles["turnaround"]


def series(options: argparse.Namespace, runs: dict[str, list[report.Run]]) -> dict[str, np.ndarray]:
    """All runs in turn, added to ``runs``; the turnarounds (ns) of each case."""
    wanted, seen = list(cases(options)), {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.runs):
            for client, version in wanted:
                case = f"{client} {version}"
                measured = measure(client, version, options, Path(folder))
                if measured is None:
                    continue
                run, turnaround = measured
                runs.setdefault(case, []).append(run)
                seen[case] = np.concatenate([seen.get(case, turnaround[:0]), turnaround])
                text = f"p50 {run['p50']:6.1f} us, p99 {run['p99']:6.1f} us, lost {run['lost']} of {run['cycles']}"
                print(f"run {number + 1} of {options.runs}: {report.label(case):44} {text}", flush=True)
    return seen


def side_by_side(options: argparse.Namespace) -> None:
    """Run and report."""
    server, client = schedules(options.ordinary)
    setting: dict[str, Any] = {"server": str(server), "client": str(client), "seconds": options.seconds}
    setting |= {"hostile thread": options.hostile}
    kind = "_hostile" if options.hostile else "_in_process" if options.in_process else ""
    name = options.name or f"loop{kind}"
    print(f"server: {server}; every client: {client}; {options.runs} runs of {options.seconds:g} s in turn", flush=True)
    runs: dict[str, list[report.Run]] = {}
    if options.append and (RESULTS / f"{name}.json").exists():
        runs = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["runs"]
    seen = series(options, runs)
    if not runs:
        raise SystemExit("Nothing was measured.")
    texts = [report.table(runs), report.same_law(runs), report.ratios(runs)]
    if options.in_process:
        texts = [report.in_process(runs, IN_PROCESS)]
    print("\n".join(texts))
    title = f"Turnaround at 1 kHz on loopback, {client}{', hostile thread' if options.hostile else ''}"
    print(report.save(name, setting, runs), report.chart(name, seen, title) if seen else "")


def main() -> None:
    """Parse, run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", default="", help=f"of {', '.join(CLIENTS)}; all without")
    parser.add_argument("--versions", default="5,10")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--ordinary", action="store_true", help="ordinary scheduling for all")
    parser.add_argument("--hostile", action="store_true", help="with a thread that keeps the interpreter busy")
    parser.add_argument("--in-process", action="store_true", help="state received to command sent")
    parser.add_argument("--prefix", default="", help="command in front of every measurement")
    parser.add_argument("--append", action="store_true", help="add to the runs of the file")
    parser.add_argument("--name", default="", help="of the files in results/")
    side_by_side(parser.parse_args())


if __name__ == "__main__":
    main()
