"""The program as a process: started, told to begin, watched, told to stop. Nothing of it stays behind."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import time
from io import FileIO
from types import TracebackType
from typing import Self

from franka_rt.compiled_loop.memory import Reason, Setup, SharedMemory
from franka_rt.errors import KernelException, RealtimeException
from franka_rt.scheduling import refusal

__all__ = ["LoopProcess"]

_START = 10.0  # s for loading a kernel and saying so
_SCHEDULING = {Setup.MEMORY_LOCK: "memory locking", Setup.AFFINITY: "affinity", Setup.SCHEDULER: "scheduling"}


def _owned(descriptor: int) -> FileIO:
    """Closed with the object at the latest, so that Ctrl-C at any moment leaves none open."""
    return FileIO(descriptor, "rb+")


def _in_memory(name: str, content: bytes) -> FileIO:
    """A file that has no place in any file system."""
    file = _owned(os.memfd_create(name))
    with open(file.fileno(), "wb", closefd=False) as writer:
        writer.write(content)
    return file


class LoopProcess:
    """One run of the program; use it in a ``with`` statement, which ends it if it has not ended.

    It has a session of its own, so that Ctrl-C at a terminal reaches Python alone.

    Args:
        program: its executable.
        kernel: shared object with the law.
        memory: with the plan in it.
        descriptors: sockets that the program uses, under the same numbers as here.
    """

    def __init__(self, program: bytes, kernel: bytes, memory: SharedMemory, descriptors: tuple[int, ...]) -> None:
        self.memory = memory
        with contextlib.ExitStack() as stack:
            own, self._link = socket.socketpair()
            stack.callback(own.close)
            stack.callback(memory.close_descriptor)
            files = [_in_memory("franka_rt_program", program), _in_memory("franka_rt_kernel", kernel)]
            for file in files:
                stack.enter_context(file)
            memory.plan["link"], memory.plan["kernel"] = own.fileno(), files[1].fileno()
            self._process = subprocess.Popen(
                ["franka_rt_loop", str(memory.descriptor)],
                executable=f"/proc/self/fd/{files[0].fileno()}",
                pass_fds=(own.fileno(), memory.descriptor, *(file.fileno() for file in files), *descriptors),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._ended = _owned(os.pidfd_open(self._process.pid))
        self._poll = select.poll()
        self._poll.register(self._ended, select.POLLIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._link.close()  # a program that still waits for its start ends by that
        if not self.ended(0.0 if kind is None else 0.2):
            self._process.kill()
        self._process.wait()
        self._ended.close()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Until everything is loaded; KernelException or RealtimeException if that failed."""
        self._link.settimeout(_START)
        try:
            ready = bool(self._link.recv(1))
        except OSError:
            ready = False
        if not ready:
            self.ended(0.2)
            self._raise_setup_failure()

    def _raise_setup_failure(self) -> None:
        report = self.memory.report
        what, text = Setup(int(report["setup"])), bytes(report["text"]).decode(errors="replace")
        if what in _SCHEDULING:
            raise refusal(_SCHEDULING[what], int(report["detail"]))
        if what is Setup.KERNEL:
            raise KernelException(f"franka_rt: the compiled loop cannot load the law's kernel: {text}")
        raise RealtimeException(f"franka_rt: the compiled loop did not start: {self.describe_end()}")

    def begin(self, last_id: int) -> None:
        """The motion is shown; the states after ``last_id`` are the program's."""
        self.memory.live["last_id"] = last_id
        self._link.send(b"g")

    def beat(self) -> None:
        """Tell the program that this process lives."""
        self.memory.live["heartbeat"] += 1

    def ended(self, timeout: float) -> bool:
        """Whether the program has ended; waits for it so many seconds, and lets other threads run meanwhile."""
        return bool(self._poll.poll(timeout * 1e3))

    def halt(self, patience: float) -> None:
        """Ask the program to hand back the motion as it is, at most ``patience`` seconds; then end it by force."""
        self.memory.live["halt"] = 1
        deadline = time.monotonic() + patience
        while not self.ended(0.0) and time.monotonic() < deadline:
            self._process.send_signal(signal.SIGUSR1)  # it may be waiting for a state that does not come
            self.beat()
            self.ended(0.01)
        if not self.ended(0.0):
            self._process.kill()
            self._process.wait()

    @property
    def reason(self) -> Reason:
        """Why it ended."""
        return Reason(int(self.memory.report["reason"]))

    def describe_end(self) -> str:
        """For messages about an end that nobody intended."""
        code = self._process.wait()
        number = int(self.memory.report["detail"]) if self.reason is Reason.CRASHED else max(-code, 0)
        return f"ended by {signal.Signals(number).name}" if number else f"ended with status {code}"
