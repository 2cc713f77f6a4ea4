"""The documentation runs: every Python block, with the output printed below it, and the site without warnings."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from franka_rt.examples.__main__ import NAMES

from .reference import ROOT

NEED_A_ROBOT = ("robot_session.md",)  # their blocks run against a scripted robot in tests/rt/test_docs.py
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in NEED_A_ROBOT),
]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def blocks(page: Path):
    """(code with its line numbers kept, expected output or None) of every Python block."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield "\n" * text[: match.start(1)].count("\n") + match[1], match[2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRANKA_RT_PRIORITY", "0")  # loops push no other program aside
    namespace = {"__name__": "documentation"}
    for code, expected in blocks(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), namespace)
        if expected is not None:
            assert lines(printed.getvalue()) == lines(expected)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def test_every_example_is_listed_with_an_interface_that_it_uses():
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", (ROOT / "docs" / "examples.md").read_text("utf-8"), re.MULTILINE)
    assert [name for name, _ in rows] == list(NAMES)
    for name, interface in rows:
        source = (ROOT / "franka_rt" / "examples" / f"{name}.py").read_text("utf-8")
        used = re.findall(r"`(.*?)`", interface)
        assert used
        assert all(word in source for word in used), name


def test_site_builds_without_warnings(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", tmp_path / "doctrees"]
    result = subprocess.run(
        [*command, ROOT / "docs", tmp_path / "html"], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "html" / "index.html").stat().st_size > 5000
