"""Recording a session and replaying it, also those that the vendor's clients left behind."""

import numpy as np
import pytest

from franka_rt import GeneratorMode, JointPositions, RealtimeConfig, Robot, RobotState, Status, VersionPolicy
from franka_rt.errors import InvalidArgumentException, NetworkException, ProtocolException
from franka_rt.events import Answer, CommandDatagram, Request
from franka_rt.recorder import Kind, Recorder, Recording, RecordingWarning
from franka_rt.replay import ReplayTransport, replay
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from tests.rt.expect import raises
from tests.rt.layouts import DATA
from tests.rt.motions import IGNORE_WARNING
from tests.rt.scripted import ScriptedServer

pytestmark = IGNORE_WARNING
Q = np.arange(7.0)


def some_calls(robot):
    robot.set_load(0.5, [0, 0, 0.1], np.eye(3) * 1e-3)
    robot.start_motion(GeneratorMode.JOINT_POSITION)
    for _ in range(20):
        robot.update_motion(JointPositions(Q))
    robot.finish_motion(JointPositions(Q))
    robot.automatic_error_recovery()


@pytest.fixture
def path(arm, tmp_path):
    path = tmp_path / "session.frec"
    with ScriptedServer(arm) as server, Recorder(path) as recorder:
        with Robot(server.host, RealtimeConfig.IGNORE, port=server.port, recorder=recorder) as robot:
            some_calls(robot)
        sent = len(server.commands)
    assert len(Recording.load(path).of(Kind.UDP_COMMAND)) >= sent > 20
    return path


def test_a_recording_tells_what_happened(arm, path):
    recording = Recording.load(path)
    assert not recording.truncated
    assert len(recording.of(Kind.SESSION)) == {V5: 2, V10: 1}[arm]
    assert recording.dialect() is arm
    meanings = [meaning for _, meaning in replay(recording)]
    kinds = {
        kind: sum(isinstance(m, kind) for m in meanings) for kind in (Request, Answer, RobotState, CommandDatagram)
    }
    assert kinds[Request] == {V5: 4, V10: 5}[arm]
    assert kinds[Answer] == kinds[Request] + 1
    assert kinds[RobotState] >= 21
    assert kinds[CommandDatagram] >= 21
    times = [entry.time for entry in recording]
    assert times == sorted(times)
    assert "records" in repr(recording)


def test_a_recording_replays_through_a_robot(arm, path):
    """The same calls give the same requests and commands; others are noticed."""
    recording = Recording.load(path)
    exact = VersionPolicy.exact(arm.fci_version)

    def robot():
        return Robot("replay", RealtimeConfig.IGNORE, exact, connector=lambda dialect: ReplayTransport(recording))

    with robot() as again:
        some_calls(again)
    with robot() as other, raises(ProtocolException, "this request was not recorded here"):
        other.set_load(0.6, [0, 0, 0.1], np.eye(3) * 1e-3)
    with robot() as starved, raises(NetworkException, "no more states"):
        starved.read(lambda state: True)


@pytest.mark.parametrize("name", ["wire_libfranka_0_21_3.jsonl", "wire_libfranka_0_9_2.jsonl"])
def test_recordings_of_the_vendors_clients_replay(name):
    meanings = [meaning for _, meaning in replay(Recording.load(DATA / "wire" / name))]
    assert None not in meanings
    answers = [m for m in meanings if isinstance(m, Answer)]
    assert answers[-1].status is Status.SUCCESS
    assert Status.PREEMPTED in {answer.status for answer in answers}


@pytest.mark.parametrize("cut", [1, 12, 500])
def test_a_cut_off_file_loads_up_to_its_last_whole_record(path, cut):
    whole = Recording.load(path)
    path.write_bytes(path.read_bytes()[:-cut])
    rest = Recording.load(path)
    assert rest.truncated
    assert rest.entries == whole.entries[: len(rest)]
    assert len(rest) >= len(whole) - 40


def test_files_that_are_no_recordings(tmp_path):
    (tmp_path / "other").write_text("hello\n")
    with raises(InvalidArgumentException, "is no recording"):
        Recording.load(tmp_path / "other")
    with raises(InvalidArgumentException, "cannot record to"):
        Recorder(tmp_path / "missing" / "file")


def test_the_file_appears_when_it_is_complete(tmp_path):
    recorder = Recorder(tmp_path / "file")
    recorder.record(Kind.UDP_STATE, b"state")
    assert [path.name for path in tmp_path.iterdir()] == ["file.part"]
    recorder.close()
    recorder.close()
    recorder.record(Kind.UDP_STATE, b"late")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert Recording.load(tmp_path / "file").states == [b"state"]


def test_nothing_recorded_leaves_no_file(tmp_path):
    with raises(NetworkException, "refused"), Recorder(tmp_path / "file") as recorder:
        Robot("127.0.0.1", RealtimeConfig.IGNORE, port=1, recorder=recorder)
    assert list(tmp_path.iterdir()) == []


def session_on_a_full_disk(server, path):
    with Recorder(path) as recorder:
        recorder._file.close()
        recorder._file = open("/dev/full", "wb")  # noqa: SIM115 - the recorder closes it
        with Robot(server.host, RealtimeConfig.IGNORE, port=server.port, recorder=recorder) as robot:
            some_calls(robot)


def test_a_full_disk_ends_the_recording_not_the_session(server, tmp_path):
    path = tmp_path / "session.frec"
    with pytest.warns(RecordingWarning, match="No space left on device") as warned:
        session_on_a_full_disk(server, path)
    assert [warning.category for warning in warned].count(RecordingWarning) == 1
    assert not Recording.load(path)


def test_a_disk_that_is_full_from_the_start_is_an_error(tmp_path):
    (tmp_path / "session.frec.part").symlink_to("/dev/full")
    with raises(InvalidArgumentException, "cannot record to", "No space left on device"):
        Recorder(tmp_path / "session.frec")
    assert list(tmp_path.iterdir()) == []
