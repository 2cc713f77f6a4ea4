"""A small scripted robot on real sockets, for what a well-behaved simulator does not do.

It answers every command with success, runs motions of any kind without physics, and can be told to misbehave: replace
``server.on[CommandName.MOVE]`` by a function of (server, request), or use the switches of the constructor.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from franka_rt.connection import ServerConnection
from franka_rt.dialect import ArmDialect, CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.errors import ProtocolException
from franka_rt.events import CommandDatagram, Request
from franka_rt.state_writer import StateWriter
from tests.rt.layouts import DATA

URDF = (DATA / "fr3_vendor.urdf").read_bytes()
IDLE = {
    "motion_generator_mode": GeneratorMode.IDLE,
    "controller_mode": ControllerMode.OTHER,
    "robot_mode": RobotMode.IDLE,
}
Handler = Callable[["ScriptedServer", Request], None]


class ScriptedServer:
    """One session at a time, any number one after the other.

    Attributes:
        on: what to do for a command, by name.
        on_command: called with every command datagram of a motion.
        requests, messages: what was asked, as events and as bytes.
        commands: command datagrams.
        state: the next state; the stream takes it every ``period`` seconds, next when ``due``.
    """

    def __init__(self, dialect: ArmDialect, host="127.0.0.1", port=0, states=True, silent=False, version=None):
        self.dialect, self.states, self.silent = dialect, states, silent
        self.version = dialect.version if version is None else version
        self.on: dict[CommandName, Handler] = dict(DEFAULTS)
        self.on_command: Callable[[ScriptedServer, CommandDatagram], None] = _end_when_finished
        self.requests: list[Request] = []
        self.messages: list[bytes] = []
        self.commands: list[CommandDatagram] = []
        self.sessions = 0
        self.first_id = 0
        self.period = 0.001
        self.due = 0.0
        self.state: Any = self.first_state()
        self.move: Request | None = None
        self.began = 0  # message id at the last Move
        self._listener = socket.create_server((host, port))
        self.host, self.port = self._listener.getsockname()[:2]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(5.0)
        self._listener.close()
        assert not self._thread.is_alive()

    def first_state(self) -> Any:
        state = StateWriter(self.dialect)
        state.update(message_id=1000, **IDLE)
        return state

    def rest(self) -> None:
        """As the robot is when a session begins."""
        self.state.update(**IDLE)

    # -- what handlers use -----------------------------------------------------------------------------------------

    def answer(self, request: Request, status: Status = Status.SUCCESS, data: bytes = b"", **fields: Any) -> None:
        self.tcp.sendall(self.connection.answer(request, status, data, **fields))

    def send_state(self) -> None:
        self.state["message_id"] = int(self.state["message_id"]) + 1
        self.udp.sendto(self.state.datagram(), self.client)

    def end_motion(self, status: Status, **state: Any) -> None:
        """The state first, the answer second."""
        self.state.update(**{**IDLE, **state})
        self.send_state()
        if self.move is not None:
            self.answer(self.move, status)
        self.move = None

    def asked(self) -> list[CommandName]:
        return [request.command for request in self.requests]

    # -- serving ---------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while not self._stop.is_set():
            if select.select([self._listener], [], [], 0.02)[0]:
                tcp, _ = self._listener.accept()
                with tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
                    self._session(tcp, udp)

    def _session(self, tcp: socket.socket, udp: socket.socket) -> None:
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        udp.bind((self.host, 0))
        self.tcp, self.udp, self.connection = tcp, udp, ServerConnection(self.dialect)
        self.client: tuple[str, int] = ("", 0)
        self.sessions += 1
        self.rest()
        self.due = time.monotonic()
        while not self._stop.is_set():
            wait = max(0.0, self.due - time.monotonic())
            ready = select.select([tcp, udp], [], [], wait)[0]
            if udp in ready:  # first: a StopMove may already follow the last commands
                self._read_udp()
            if tcp in ready and not self._read_tcp():
                return
            if time.monotonic() >= self.due:
                self.due += self.period
                if self.client[1] and self.states:
                    self.send_state()

    def _read_tcp(self) -> bool:
        try:
            data = self.tcp.recv(65536)
            if self.silent:
                return bool(data)
            self.messages += [data] if data else []
            self.connection.receive_data(data)
            for event in self.connection.events():
                if not isinstance(event, Request):
                    return False
                self.requests.append(event)
                if event.command is CommandName.MOVE and isinstance(self.dialect, ArmDialect):
                    self.began = int(self.state["message_id"])
                self.on[event.command](self, event)
        except (OSError, ProtocolException):
            return False
        return self.tcp.fileno() >= 0

    def _read_udp(self) -> None:
        while True:
            try:
                datagram = self.udp.recv(4096, socket.MSG_DONTWAIT)
            except OSError:
                return
            self._take(self.connection.receive_datagram(datagram))

    def _take(self, command: CommandDatagram) -> None:
        if command.message_id < self.first_id:
            return  # of the motion before, as a robot ignores them
        self.commands.append(command)
        if self.move is not None and command.message_id > self.began:  # not a late one of the motion before
            self.on_command(self, command)


def _connect(server: ScriptedServer, request: Request) -> None:
    accepted = request.arguments["version"] == server.version
    server.answer(request, Status.SUCCESS if accepted else Status.INCOMPATIBLE_LIBRARY_VERSION, version=server.version)
    if accepted:
        server.client = (server.tcp.getpeername()[0], int(request.arguments["udp_port"]))


def _succeed(server: ScriptedServer, request: Request) -> None:
    server.answer(request)


def _start(server: ScriptedServer, request: Request) -> None:
    server.move = request
    server.answer(request, Status.MOTION_STARTED)
    show(server, request)


def show(server: ScriptedServer, request: Request) -> None:
    """Show the requested modes from the next state on."""
    server.first_id = int(server.state["message_id"]) + 1
    by_number = {number: mode for mode, number in server.dialect.move_generators.items()}
    server.state.update(
        motion_generator_mode=by_number[int(request.arguments["motion_generator_mode"])],
        controller_mode=int(request.arguments["controller_mode"]),
        robot_mode=RobotMode.MOVE,
    )


def _stop_move(server: ScriptedServer, request: Request) -> None:
    server.answer(request)
    if server.move is not None:
        server.end_motion(Status.PREEMPTED)


def _end_when_finished(server: ScriptedServer, command: CommandDatagram) -> None:
    if command.finished:
        server.end_motion(Status.SUCCESS)


def reject(status: Status) -> Handler:
    """A handler that answers with this status."""
    return lambda server, request: server.answer(request, status)


def _virtual_wall(server: ScriptedServer, request: Request) -> None:
    frame = np.eye(4)
    frame[:3, 3] = (1, 2, 3)
    fields = {"object_world_size": (0.1, 0.2, 0.3), "object_frame": frame.T.ravel(), "object_activation": 1}
    server.answer(request, **fields)


DEFAULTS: dict[CommandName, Handler] = {
    **dict.fromkeys(CommandName, _succeed),
    CommandName.CONNECT: _connect,
    CommandName.MOVE: _start,
    CommandName.STOP_MOVE: _stop_move,
    CommandName.GET_ROBOT_MODEL: lambda server, request: server.answer(request, data=URDF),
    CommandName.LOAD_MODEL_LIBRARY: reject(Status.ERROR),
    CommandName.GET_CARTESIAN_LIMIT: _virtual_wall,
}
