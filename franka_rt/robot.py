"""Robot: a session with an arm. Commands, states, and the low-level motion calls the control loops are made of.

Threads: setters, getters, ``stop`` and ``latest_state`` may be called from any thread at any time. Reading and motions
are exclusive: a second one raises InvalidOperationException at once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from franka_rt import checks, realtime
from franka_rt.answers import check_answer
from franka_rt.control import RobotControl
from franka_rt.dialect import ArmDialect, CommandName, Status
from franka_rt.errors import FrankaException, InvalidArgumentException
from franka_rt.events import Answer
from franka_rt.motion import MotionControl
from franka_rt.realtime import RealtimeConfig
from franka_rt.recorder import Recorder
from franka_rt.robot_models import RobotModels
from franka_rt.session import Connector, open_arm, socket_connector
from franka_rt.settings import RobotSettings, VirtualWallCuboid
from franka_rt.state import RobotState
from franka_rt.versions import FciVersion, VersionPolicy

__all__ = ["Robot", "VirtualWallCuboid"]

_TIMEOUTS = {  # s; these take their time on a real robot
    CommandName.AUTOMATIC_ERROR_RECOVERY: 60.0,
    CommandName.GET_ROBOT_MODEL: 30.0,
    CommandName.LOAD_MODEL_LIBRARY: 30.0,
}
_TIMEOUT = 10.0


class Robot(RobotSettings, RobotModels, RobotControl):
    """Connects to an arm.

    Args:
        host: address or name of the robot.
        realtime_config: ENFORCE refuses to connect on a machine without realtime capabilities, IGNORE warns. None
            takes ``FRANKA_REALTIME`` from the environment, ENFORCE without it.
        version: ``VersionPolicy.AUTO`` or ``VersionPolicy.exact(...)``.
        port: TCP port of the arm.
        log_size: records that a ControlException carries.
        timeout: seconds for connecting and for the handshake; None takes the version's (1 s, version 5: 5 s).
        recorder: notes down all traffic from the first byte on.
        connector: opens the transport instead of sockets to ``host``, for replays and tests.

    Raises:
        RealtimeException: before the robot is touched.
        NetworkException: refused, unreachable, silent, not resolved, or no states over UDP.
        IncompatibleVersionException: the robot speaks another version.
        CommandException: the robot refused to hand out its model, for example because of a safety rule.
        ProtocolException: what answered is not a robot.
        InvalidArgumentException: an argument is not what it has to be.

    Nothing stays open after an exception. Use ``with Robot(...) as robot`` or ``close()``.
    """

    def __init__(
        self,
        host: str,
        realtime_config: RealtimeConfig | None = None,
        version: VersionPolicy = VersionPolicy.AUTO,
        port: int = 1337,
        *,
        log_size: int = 50,
        timeout: float | None = None,
        recorder: Recorder | None = None,
        connector: Connector | None = None,
    ) -> None:
        self.realtime_config = RealtimeConfig.from_environment() if realtime_config is None else realtime_config
        realtime.prepare(self.realtime_config)
        if not isinstance(version, VersionPolicy):
            raise InvalidArgumentException(f"franka_rt: {version!r} is no VersionPolicy: take its AUTO or exact(...).")
        checks.integer("log_size", log_size, 0, 10**6)
        self.host, self.port = host, port
        super().__init__()
        open_sockets = connector or socket_connector(host, port, timeout)
        if recorder is not None:
            open_sockets = _recorded(recorder, open_sockets)
        self._session = open_arm(open_sockets, version, timeout)
        try:
            self._motion = MotionControl(self._session, log_size)
            if CommandName.GET_ROBOT_MODEL in self.dialect.commands:
                self._urdf = self.get_robot_model()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        mode = self.latest_state().robot_mode.name.lower().replace("_", " ")
        return f"<Robot {self.host}:{self.port}, {self.dialect.label}, {'closed' if self.closed else mode}>"

    def close(self) -> None:
        """End the session; a running motion is stopped. May be called again."""
        if not self.closed and self._busy.locked():
            with contextlib.suppress(FrankaException):
                self._end_running_motion()
        self._session.close()

    def _end_running_motion(self) -> None:
        """Cancel a motion of this thread; in another thread's loop only the robot can be told to stop."""
        if self._motion.active and self._owner == threading.get_ident():
            try:
                self._motion.cancel()
            finally:
                self._end_by_hand()
        elif self._motion.active:
            self.stop()

    @property
    def closed(self) -> bool:
        """The session is over, closed here or broken."""
        return self._session.channel.broken

    @property
    def dialect(self) -> ArmDialect:
        """The negotiated protocol version as data."""
        return self._session.dialect

    @property
    def fci_version(self) -> FciVersion:
        """The negotiated protocol version."""
        return self.dialect.fci_version

    @property
    def server_version(self) -> int:
        """The version that the robot reported, equal to the negotiated one."""
        return self.dialect.version

    # -- states --------------------------------------------------------------------------------------------------

    def latest_state(self) -> RobotState:
        """The newest state that this session has read. Never blocks; from any thread, also while a loop runs.

        It is as old as the last read: a loop keeps it fresh, an idle session does not.
        """
        return self._session.latest()

    def read_once(self) -> RobotState:
        """A fresh state, sent after this call began; InvalidOperationException while a loop runs."""
        with self._exclusive():
            return self._session.fresh_state()

    def read(self, callback: Callable[[RobotState], Any]) -> None:
        """Call ``callback(state)`` for every state until it returns False."""
        with self._exclusive():
            state = self._session.fresh_state()
            while callback(state) is not False:
                self._session.channel.poll()
                state = self._session.receive_state()

    # -- commands ------------------------------------------------------------------------------------------------

    def _command(self, command: CommandName, fields: dict[str, Any]) -> Answer:
        answer = self._session.channel.call(command, _TIMEOUTS.get(command, _TIMEOUT), **fields)
        if answer.status is not Status.SUCCESS:
            self._refresh()
        check_answer(command, answer.status, self._session.state.robot_mode)
        return answer

    def _refresh(self) -> None:
        """A refusal is explained by the present mode; beside a loop, which reads the states, by its last one."""
        if self._busy.acquire(blocking=False):
            try:
                self._session.refresh()
            finally:
                self._busy.release()

    def stop(self) -> None:
        """Stop whatever motion is running; from any thread. The motion's own thread sees a ControlException."""
        self._command(CommandName.STOP_MOVE, {})

    def automatic_error_recovery(self) -> None:
        """Clear a reflex, so that the arm can move again. Waits until the robot has finished doing so."""
        self._command(CommandName.AUTOMATIC_ERROR_RECOVERY, {})


def _recorded(recorder: Recorder, connector: Connector) -> Connector:
    return lambda dialect: recorder.wrap(connector(dialect), dialect)
