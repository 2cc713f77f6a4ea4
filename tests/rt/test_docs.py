"""The committed diagram of the state machine is the one that the table gives; the examples of the pages run."""

import re
import runpy
from pathlib import Path

import pytest

from franka_rt.dialect import CommandName

DOCS = Path(__file__).parent.parent.parent / "docs"
GENERATOR = runpy.run_path(str(DOCS / "motion_state_machine.py"))


@pytest.mark.parametrize("name", GENERATOR["FILES"])
def test_committed_file_is_current(name):
    assert (DOCS / name).read_text() == GENERATOR["FILES"][name](), "run python docs/motion_state_machine.py"


@pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")
def test_the_examples_of_the_session_page_run(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "robot_session.md").read_text(), re.DOTALL)
    assert len(blocks) == 5
    code = "\n".join(blocks).replace(
        'Robot("172.16.0.2",', f'Robot("{server.host}", port={server.port}, realtime_config='
    )
    exec(compile(code.replace("realtime_config= ", "realtime_config="), "robot_session.md", "exec"), {})
    assert CommandName.SET_LOAD in server.asked()
    assert len(server.commands) > 100
