"""What the clients of both grippers share: the session, commands with four outcomes, futures, states.

A command ends in one of four ways: success (True), unsuccessful (False), failed and aborted (CommandException). While
it runs, anything may go on: other commands (a new one aborts the running one), states, and ``stop()`` from any thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from franka_rt.channel import CommandChannel
from franka_rt.connection import ClientConnection
from franka_rt.dialect import CommandName, Dialect, Status
from franka_rt.errors import (
    CommandException,
    FrankaException,
    InvalidOperationException,
    NetworkException,
    ProtocolException,
)
from franka_rt.session import Connector, open_channel, socket_connector

__all__ = ["GripperClient"]

_OUTCOMES = {Status.SUCCESS: True, Status.UNSUCCESSFUL: False}
_HINTS = {
    Status.FAIL: "The gripper refused or could not do it",
    Status.ABORTED: "Another command, stop() or a fault ended it",
}


class GripperClient:
    """A session with a gripper.

    Args:
        dialect: the gripper's protocol.
        name: how libfranka's texts call it.
        decode: turns a state datagram into a state.
        host, port: where it listens.
        timeout: seconds for connecting and for the handshake.
        command_timeout: seconds that a command may take.
        connector: opens the transport instead of sockets, for tests.

    NetworkException, ProtocolException or IncompatibleVersionException if the session does not come about.
    """

    def __init__(
        self,
        dialect: Dialect,
        name: str,
        decode: Callable[[bytes], Any],
        host: str,
        port: int,
        timeout: float | None,
        command_timeout: float,
        connector: Connector | None,
    ) -> None:
        self.host, self.port = host, port
        self._dialect, self._name, self._decode = dialect, name, decode
        self._command_timeout = command_timeout
        self._reading = threading.Lock()
        self._sender_seen = False
        self._waiting: set[threading.Thread] = set()
        sockets = connector or socket_connector(host, port, timeout)
        self._channel: CommandChannel = open_channel(ClientConnection(dialect), sockets, timeout)

    @property
    def server_version(self) -> int:
        """The protocol version of the gripper, equal to this client's."""
        return self._dialect.version

    @property
    def closed(self) -> bool:
        """The session is over, closed here or broken."""
        return self._channel.broken

    def close(self) -> None:
        """End the session; running commands end with a NetworkException. May be called again."""
        self._channel.close()
        for thread in list(self._waiting):
            if thread is not threading.current_thread():
                thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.host}:{self.port}{', closed' if self.closed else ''}>"

    # -- states --------------------------------------------------------------------------------------------------

    def _read_once(self) -> Any:
        """The next state after what is queued; NetworkException when none comes within a second."""
        if not self._reading.acquire(blocking=False):
            text = f"libfranka {self._name}: Cannot perform this operation while another read operation is running."
            raise InvalidOperationException(text)
        try:
            transport = self._channel.transport
            if not self._sender_seen:  # before that nothing can be thrown away
                transport.receive_datagram()
                self._sender_seen = True
            while transport.poll_datagram() is not None:
                pass
            return self._decode(transport.receive_datagram())
        except NetworkException:
            self._channel.poll()  # the stream also ends when the gripper closes, which says more
            raise
        finally:
            self._reading.release()

    # -- commands ------------------------------------------------------------------------------------------------

    def _call(self, command: CommandName, **fields: Any) -> bool:
        """Send and wait."""
        return self._outcome(command, fields, self._channel.request(command, **fields))

    def _start(self, command: CommandName, **fields: Any) -> Future[bool]:
        """Send now, wait in a thread of its own."""
        command_id = self._channel.request(command, **fields)
        future: Future[bool] = Future()
        future.set_running_or_notify_cancel()
        thread = threading.Thread(target=self._wait, args=(future, command, fields, command_id), daemon=True)
        self._waiting.add(thread)
        thread.start()
        return future

    def _wait(self, future: Future[bool], command: CommandName, fields: dict[str, Any], command_id: int) -> None:
        try:
            future.set_result(self._outcome(command, fields, command_id))
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._waiting.discard(threading.current_thread())

    def _outcome(self, command: CommandName, fields: dict[str, Any], command_id: int) -> bool:
        try:
            status = self._channel.wait(command_id, self._command_timeout).status
        except ProtocolException as error:
            if error.text.startswith("libfranka: Unexpected response"):
                text = f"libfranka {self._name}: Unexpected response while handling command!"
                raise ProtocolException(text, f"{command.value}: {error.hint}") from None
            raise
        if status in _OUTCOMES:
            self._explain(command, status)
            return _OUTCOMES[status]
        verb = "failed" if status is Status.FAIL else "aborted"
        values = ", ".join(f"{name} {value}" for name, value in fields.items())
        hint = f"{_HINTS[status]}: {command.value}({values}). {self._explain(command, status)}".strip()
        raise CommandException(f"libfranka {self._name}: Command {verb}!", hint, command=command, status=status)

    def _explain(self, command: CommandName, status: Status) -> str:
        """What may be behind an outcome that is not success; a gripper that knows more says so."""
        return ""

    def _try_state(self) -> Any:
        """A state if one comes, else None."""
        with contextlib.suppress(FrankaException):
            return self._read_once()
        return None
