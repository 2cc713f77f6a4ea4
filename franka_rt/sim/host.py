"""Where a simulation runs: a thread of this process, or a process of its own that is talked to in lines of JSON.

The process reads its configuration and then operations from standard input and answers on standard output; it ends
when its input ends, so it cannot outlive its parent.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, TextIO

from franka_rt import errors
from franka_rt.sim.simulation import Configuration, Simulation

__all__ = ["Host", "ProcessHost", "ThreadHost", "serve_parent"]

_START = 120.0  # s for the start of a process: importing and compiling the model
_ANSWER = 20.0  # s for an operation


class Host(Protocol):
    """Both kinds."""

    ports: list[int]

    def operate(self, name: str, *arguments: Any) -> Any:
        """An operation of ``Simulation.operate`` with plain values."""

    def close(self) -> None:
        """End the simulation."""


class ThreadHost:
    """A simulation in a thread."""

    def __init__(self, configuration: Configuration) -> None:
        self._simulation = Simulation(configuration)
        self.ports = self._simulation.ports()
        self._thread = threading.Thread(target=self._simulation.run, name="SimulatedRobot", daemon=True)
        self._thread.start()

    def operate(self, name: str, *arguments: Any) -> Any:
        """An operation of ``Simulation.operate``; raises what it raises."""
        if not self._thread.is_alive():
            raise errors.InvalidOperationException("franka_rt: the simulated robot has stopped.")
        future: Future[Any] = Future()
        self._simulation.call(lambda: self._simulation.operate(name, *arguments), future.set_result)
        result = future.result(_ANSWER)
        if isinstance(result, Exception):
            raise result
        return result

    def close(self) -> None:
        """Stop; returns when the thread has ended."""
        if self._thread.is_alive():
            self._simulation.stop()
            self._thread.join(_ANSWER)


class ProcessHost:
    """A simulation in a process of its own."""

    def __init__(self, configuration: Configuration) -> None:
        # The same import path; a session of its own, so that Ctrl-C at a terminal reaches the client alone.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "franka_rt.sim"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        self._lock = threading.Lock()
        try:
            self.ports = self._exchange(configuration.to_dict(), _START)
        except BaseException:
            self.close()
            raise

    def operate(self, name: str, *arguments: Any) -> Any:
        """An operation of ``Simulation.operate``; raises FrankaException with the text of what it raises."""
        return self._exchange([name, *arguments], _ANSWER)

    def close(self) -> None:
        """Stop; returns when the process has ended."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(OSError):  # what could not be written to a process that has ended
                self._process.stdin.close()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _exchange(self, message: Any, timeout: float) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(timeout, self._process.kill)
        timer.start()
        try:
            with self._lock:
                self._process.stdin.write(json.dumps(message) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
        except OSError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            raise errors.NetworkException("franka_rt: the process of the simulated robot has ended.")
        answer = json.loads(line)
        if "error" in answer:
            raise getattr(errors, answer["kind"], errors.FrankaException)(answer["error"])
        return answer["result"]


def serve_parent() -> None:
    """The other end: simulate as standard input says until it ends."""
    lines, answers, sys.stdout = sys.stdin, sys.stdout, sys.stderr
    answer = functools.partial(_answer, answers)
    try:
        simulation = Simulation(Configuration.from_dict(json.loads(lines.readline())))
    except Exception as error:
        return answer(error)
    answer(simulation.ports())
    threading.Thread(target=_listen, args=(simulation, lines, answer), daemon=True).start()
    simulation.run()


def _listen(simulation: Simulation, lines: TextIO, answer: Callable[[Any], None]) -> None:
    for line in lines:
        name, *arguments = json.loads(line)
        simulation.call(functools.partial(simulation.operate, name, *arguments), answer)
    simulation.stop()


def _answer(answers: TextIO, result: Any) -> None:
    if isinstance(result, Exception):
        message = {"error": str(result), "kind": type(result).__name__}
    else:
        message = {"result": result}
    answers.write(json.dumps(message) + "\n")
    answers.flush()
