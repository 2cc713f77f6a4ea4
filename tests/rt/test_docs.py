"""The committed diagram of the state machine is the one that the table gives."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
GENERATOR = runpy.run_path(str(DOCS / "motion_state_machine.py"))


@pytest.mark.parametrize("name", GENERATOR["FILES"])
def test_committed_file_is_current(name):
    assert (DOCS / name).read_text() == GENERATOR["FILES"][name](), "run python docs/motion_state_machine.py"
