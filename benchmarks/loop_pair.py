"""One measurement of the loop benchmark: a server and a client, each a process of its own with a hard time limit.

    python -m benchmarks.loop_pair kernel 10 --seconds 2 --result cycles.npz

prints what server and client said, as JSON, and writes the cycles.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.loop_schedule import Schedule, policy_of, schedules

START, END = 60.0, 30.0  # s: for imports, compiling and connecting; for what comes after the motion
SETTLING = 0.5  # s at the beginning of a motion that are not evaluated


_PAIRS = itertools.count()


class Failed(RuntimeError):
    """A process of the pair ended badly or not at all."""


def address() -> str:
    """A loopback address that nobody else uses: the vendors' clients insist on port 1337."""
    pid = os.getpid()
    return f"127.{10 + (pid // 62500 + 40 * next(_PAIRS)) % 240}.{pid // 250 % 250}.{1 + pid % 250}"


def _start(module: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-m", f"benchmarks.{module}", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _finish(process: subprocess.Popen[str], name: str, limit: float) -> dict[str, Any]:
    """The last line of a process that has to end within the limit."""
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failed(f"the {name} did not end within {limit:g} s") from None
    if process.returncode:
        raise Failed(f"the {name} ended with {process.returncode}: {err.strip()[-1500:]}")
    return json.loads(out.strip().splitlines()[-1])


class Watch(threading.Thread):
    """Sees how the threads of a client are scheduled, from outside."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self.seen, self.over = pid, set[str](), threading.Event()

    def run(self) -> None:
        """Until told to end."""
        while not self.over.wait(0.05):
            try:
                for thread in self._threads(self._pid):
                    self.seen.add(policy_of(thread))
            except OSError:  # gone meanwhile
                continue

    def _threads(self, process: int) -> Iterator[int]:
        """Of a process and of those that it started."""
        for thread in map(int, os.listdir(f"/proc/{process}/task")):
            yield thread
            for child in Path(f"/proc/{process}/task/{thread}/children").read_text(encoding="ascii").split():
                yield from self._threads(int(child))


def measure(
    client: str, version: int, seconds: float, result: Path, server: Schedule, own: Schedule, hostile: bool
) -> dict[str, Any]:
    """Run the pair; what both said. Raises Failed."""
    host, length = address(), seconds + SETTLING + 0.02
    common = ["--version", str(version), "--seconds"]
    robot = _start("loop_server", host, *common, str(length + 20), "--result", str(result), *server.arguments())
    processes = [robot]
    try:
        assert robot.stdout is not None
        if not robot.stdout.readline():
            raise Failed(f"the server did not start: {robot.communicate()[1][-1500:]}")
        options = [*common, str(length), *own.arguments(), *(["--hostile"] if hostile else [])]
        processes.append(_start("loop_clients", client, host, *options))
        watch = Watch(processes[1].pid)
        watch.start()
        try:
            said = _finish(processes[1], f"client {client}", START + length + END)
        except Failed as error:
            robot.kill()
            raise Failed(f"{error}\nThe server said: {robot.communicate()[1].strip()[-1500:] or 'nothing'}") from None
        finally:
            watch.over.set()
        return {"client": said, "server": _finish(robot, "server", END), "policies": sorted(watch.seen)}
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    """Run one pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client")
    parser.add_argument("version", type=int)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--ordinary", action="store_true")
    parser.add_argument("--hostile", action="store_true")
    o = parser.parse_args()
    begin = time.monotonic()
    try:
        said = measure(o.client, o.version, o.seconds, o.result, *schedules(o.ordinary), o.hostile)
    except Failed as error:
        raise SystemExit(str(error)) from None
    print(json.dumps({**said, "wall": time.monotonic() - begin}))


if __name__ == "__main__":
    main()
