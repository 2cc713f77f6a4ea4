"""Requests and answers of one session over a transport: who asked gets the answer, from whatever thread.

There is no reader thread: a thread that waits reads the stream, at most 10 ms at a time, and hands over what belongs
to others. The control loop only looks for the end of the stream now and then, without waiting.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict, deque
from typing import Any

from franka_rt.connection import ClientConnection
from franka_rt.dialect import CommandName
from franka_rt.errors import FrankaException, InvalidOperationException, NetworkException
from franka_rt.events import Answer, Closed, Event, InvalidAnswer
from franka_rt.transport import Transport

__all__ = ["CommandChannel"]

_STEP = 0.01
_INTERRUPTED = "libfranka: TCP connection got interrupted."


class CommandChannel:
    """The command channel of an arm or a gripper."""

    def __init__(self, transport: Transport, connection: ClientConnection) -> None:
        self.transport = transport
        self.connection = connection
        self._answers: dict[int, deque[Answer | InvalidAnswer]] = defaultdict(deque)
        self._handover = threading.Lock()
        self._sending = threading.Lock()
        self._receiving = threading.Lock()
        self._error: FrankaException | None = None
        self._process = os.getpid()

    @property
    def broken(self) -> bool:
        """The stream ended or made no sense; every further call raises."""
        return self._error is not None

    def request(self, command: CommandName, **fields: Any) -> int:
        """Send a request; its id."""
        with self._sending:
            self._raise_error()
            command_id, message = self.connection.request(command, **fields)
            try:
                self.transport.send(message)
            except NetworkException as error:
                self._error = error
                raise
        return command_id

    def reserve(self, command: CommandName) -> tuple[int, bytes]:
        """(id, message) of a request that somebody else may send; :meth:`forget` it if it was not sent."""
        with self._sending:
            return self.connection.request(command)

    def wait(self, command_id: int, timeout: float) -> Answer:
        """The next answer to a request. NetworkException after ``timeout`` seconds or when the stream breaks.

        ProtocolException for an answer that the version does not have.
        """
        deadline = time.monotonic() + timeout
        while (answer := self.take(command_id)) is None:
            self._raise_error()
            remaining = deadline - time.monotonic()
            if remaining <= 0.0:
                raise self._timeout(command_id, timeout)
            if self._receiving.acquire(timeout=min(_STEP, remaining)):
                try:
                    if command_id not in self._answers:
                        self._receive(min(_STEP, remaining))
                finally:
                    self._receiving.release()
        return answer

    def call(self, command: CommandName, timeout: float, **fields: Any) -> Answer:
        """Request and wait for the answer."""
        return self.wait(self.request(command, **fields), timeout)

    def take(self, command_id: int) -> Answer | None:
        """An answer that has already been read, else None."""
        with self._handover:
            answers = self._answers.get(command_id)
            if not answers:
                return None
            answer = answers.popleft()
            if not answers:
                del self._answers[command_id]
        if isinstance(answer, InvalidAnswer):
            raise answer.error
        return answer

    def poll(self) -> None:
        """Read what has arrived, without waiting; NetworkException if the server closed the connection."""
        self._raise_error()
        if self._receiving.acquire(blocking=False):
            try:
                self._receive(0.0)
            finally:
                self._receiving.release()
        self._raise_error()

    def forget(self, command_id: int) -> None:
        """No longer wait for this request."""
        self.connection.forget(command_id)
        with self._handover:
            self._answers.pop(command_id, None)

    def interrupt(self) -> None:
        """End the session, as version 10 does when the state stream fails."""
        self.transport.shutdown()
        self._error = self._error or NetworkException(_INTERRUPTED, "The session is over; connect again.")

    def close(self) -> None:
        """Close the sockets."""
        self._error = self._error or NetworkException(_INTERRUPTED, "This session was closed; connect again.")
        self.transport.close()

    def _receive(self, timeout: float) -> None:
        try:
            data = self.transport.receive(timeout)
            if data is not None:
                self.connection.receive_data(data)
                for event in self.connection.events():
                    self._dispatch(event)
        except FrankaException as error:
            self._error = self._error or error

    def _dispatch(self, event: Event) -> None:
        if isinstance(event, Answer | InvalidAnswer):
            with self._handover:
                self._answers[event.command_id].append(event)
        elif isinstance(event, Closed):
            self._error = NetworkException("libfranka: server closed connection")

    def _raise_error(self) -> None:
        if os.getpid() != self._process:
            text = "franka_rt: this session belongs to the process that was forked."
            raise InvalidOperationException(text, "Open a session of its own in each process.")
        if self._error is not None:
            raise type(self._error)(self._error.text, self._error.hint)

    def _timeout(self, command_id: int, timeout: float) -> NetworkException:
        name = self.connection.open_requests.get(command_id)
        self.forget(command_id)
        label = "the request" if name is None else name.value
        return NetworkException("libfranka: TCP receive: Timeout", f"{label} was not answered within {timeout:g} s.")
