"""The robot that the loop benchmark's clients are measured against: states at 1 kHz and a stopwatch, no physics.

It runs in a process of its own, one session long; the millisecond loop and the stopwatch are C (loop_server.c), built
by the project's toolchain, everything on TCP is Python. A motion lasts until its finished command or StopMove; every
state shows the same numbers. When the client has gone, one line of JSON says what was seen:

    python -m benchmarks.loop_server 127.0.0.5 --version 10 --seconds 10
"""

from __future__ import annotations

import argparse
import ctypes
import json
import socket
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loop_schedule import Schedule
from benchmarks.loop_stopwatch import Arrays, library
from franka_rt.connection import ServerConnection
from franka_rt.dialect import ArmDialect, CommandName, ControllerMode, GeneratorMode, RobotMode, Status, arm_dialect
from franka_rt.errors import ProtocolException
from franka_rt.events import Request
from franka_rt.state_writer import StateWriter

TCP, FINISHED = 1, 2
PATIENCE = 60.0  # s in which the client has to connect
SO_TIMESTAMPNS = 35
IDLE = {
    "motion_generator_mode": GeneratorMode.IDLE,
    "controller_mode": ControllerMode.OTHER,
    "robot_mode": RobotMode.IDLE,
}
POSTURE = np.array([0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4])
"""rad; off the law's goal, so that its torques are not zero."""
VELOCITY = np.array([0.1, -0.2, 0.1, 0.2, -0.1, 0.1, 0.05])
"""rad/s; not zero, so that there are Coriolis torques."""


class LoopServer:
    """One session.

    Args:
        dialect: protocol version.
        host, port: where to listen; port 0 takes a free one.
        seconds: how long a motion may be.
    """

    def __init__(self, dialect: ArmDialect, host: str, port: int, seconds: float) -> None:
        self.dialect = dialect
        self.listener = socket.create_server((host, port))
        self.listener.settimeout(PATIENCE)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((host, 0))
        self.udp.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.connection = ServerConnection(dialect)
        self.capacity = int(1000 * seconds)
        self.next_id = 1000
        self.client = b""
        self.move: Request | None = None
        self.motions: list[tuple[Arrays, bytes]] = []
        self.state = StateWriter(dialect)
        self.state.update(**_standing())
        self._command = bytearray(dialect.command.itemsize)
        part, flag = dialect.torque_finish_flag
        fields: Any = dialect.command.fields
        self._flag = fields[part][1] + fields[part][0].fields[flag][1]

    def serve(self) -> None:
        """Until the client has gone."""
        self.tcp, _ = self.listener.accept()
        self.tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tcp.settimeout(PATIENCE)
        while not self.client:
            if not self._read():
                return
        going = True
        while going:
            arrays = Arrays(self.capacity if self.move else 1000)
            reason = self._stream(arrays)
            self.next_id += arrays.count.value
            if self.move is not None and arrays.count.value > 100:
                self.motions.append((arrays, bytes(self._command)))
            if reason == TCP:
                going = self._read()
            elif self.move is not None:
                self._end(Status.SUCCESS if reason == FINISHED else Status.ABORTED)

    def result(self, path: Path) -> dict[str, Any]:
        """Write the longest motion's cycles to ``path`` (npz); its last command and how many motions there were."""
        if not self.motions:
            raise SystemExit("The client made no motion of 100 cycles.")
        arrays, command = max(self.motions, key=lambda motion: motion[0].count.value)
        cycles = arrays.answered()
        names = ("sent", "turnaround", "tick")
        np.savez(path, **{name: getattr(arrays, name)[cycles] for name in names})
        record: Any = np.frombuffer(command, self.dialect.command)[0]
        return {"torques": record["control"]["tau_J_d"].tolist(), "motions": len(self.motions)}

    def _stream(self, arrays: Arrays) -> int:
        datagram = bytearray(self.state.datagram())
        state, command = ((ctypes.c_uint8 * len(x)).from_buffer(x) for x in (datagram, self._command))
        deadline = ctypes.c_int64(time.monotonic_ns() + 1_000_000)
        numbers = [ctypes.c_int64(n) for n in (len(datagram), len(self.client), len(command), self._flag, self.next_id)]
        size, length, room, flag, first = numbers
        return library().stream(
            self.udp.fileno(), self.tcp.fileno(), state, size, self.client, length, command, room, flag, first,
            ctypes.byref(arrays.count), ctypes.c_int64(arrays.capacity), *arrays.pointers(), ctypes.byref(deadline),
        )  # fmt: skip

    def _read(self) -> bool:
        try:
            self.connection.receive_data(self.tcp.recv(65536))
            for event in self.connection.events():
                if not isinstance(event, Request):
                    return False
                self._answer(event)
        except (OSError, ProtocolException):
            return False
        return True

    def _answer(self, request: Request) -> None:
        if request.command is CommandName.CONNECT:
            self._connect(request)
        elif request.command is CommandName.MOVE:
            self.move = request
            self._send(request, Status.MOTION_STARTED)
            self._show(request)
        elif request.command is CommandName.STOP_MOVE:
            self._send(request)
            if self.move is not None:
                self._end(Status.PREEMPTED)
        else:
            self._send(request, data=_data(request))

    def _connect(self, request: Request) -> None:
        accepted = int(request.arguments["version"]) == self.dialect.version
        status = Status.SUCCESS if accepted else Status.INCOMPATIBLE_LIBRARY_VERSION
        self._send(request, status, version=self.dialect.version)
        if accepted:
            address = socket.inet_aton(self.tcp.getpeername()[0])
            port = struct.pack(">H", int(request.arguments["udp_port"]))
            self.client = struct.pack("=H", socket.AF_INET) + port + address + bytes(8)
        else:  # the client comes back with the other version
            self.tcp.close()
            self.tcp, _ = self.listener.accept()
            self.tcp.settimeout(PATIENCE)
            self.connection = ServerConnection(self.dialect)

    def _send(self, request: Request, status: Status = Status.SUCCESS, data: bytes = b"", **fields: Any) -> None:
        self.tcp.sendall(self.connection.answer(request, status, data, **fields))

    def _show(self, request: Request) -> None:
        by_number = {number: mode for mode, number in self.dialect.move_generators.items()}
        generator = by_number[int(request.arguments["motion_generator_mode"])]
        controller = ControllerMode(int(request.arguments["controller_mode"]))
        self.state.update(motion_generator_mode=generator, controller_mode=controller, robot_mode=RobotMode.MOVE)

    def _end(self, status: Status) -> None:
        """The state first, the answer second, as a robot does."""
        self.state.update(message_id=self.next_id, **IDLE)
        self.next_id += 1
        self.udp.sendto(self.state.datagram(), (self.tcp.getpeername()[0], struct.unpack(">H", self.client[2:4])[0]))
        if self.move is not None:
            self._send(self.move, status)
        self.move = None


def _standing() -> dict[str, Any]:
    pose = np.eye(4)
    pose[:3, 3] = 0.3, 0.0, 0.5
    joints = {"q": POSTURE, "q_d": POSTURE, "theta": POSTURE, "dq": VELOCITY}
    poses = {"O_T_EE": pose, "O_T_EE_d": pose, "O_T_EE_c": pose}
    poses |= dict.fromkeys(("F_T_EE", "F_T_NE", "NE_T_EE", "EE_T_K"), np.eye(4))
    return {**IDLE, **joints, **poses, "O_ddP_O": (0, 0, -9.81), "control_command_success_rate": 1.0}


def _data(request: Request) -> bytes:
    """What follows a successful answer: the URDF, the model library."""
    if request.command is CommandName.GET_ROBOT_MODEL:
        import franka_jax

        return (Path(franka_jax.__file__).parent / "robots" / "fr3.urdf").read_bytes()
    if request.command is CommandName.LOAD_MODEL_LIBRARY:
        from franka_rt.sim.library import model_library
        from franka_rt.sim.model import load_model

        return model_library(load_model("fer"), request.arguments) or b""
    return b""


def main() -> None:
    """Serve one session."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("--port", type=int, default=1337)
    parser.add_argument("--version", type=int, choices=(5, 10), default=10)
    parser.add_argument("--seconds", type=float, default=10.0, help="longest motion")
    parser.add_argument("--result", type=Path, required=True, help="file for the cycles (npz)")
    Schedule.add_arguments(parser)
    options = parser.parse_args()
    library()
    schedule = Schedule.of(options)
    server = LoopServer(arm_dialect(options.version), options.host, options.port, options.seconds)
    schedule.bind()
    schedule.apply()
    print(json.dumps({"port": server.listener.getsockname()[1]}), flush=True)
    server.serve()
    print(json.dumps(server.result(options.result)))


if __name__ == "__main__":
    main()
