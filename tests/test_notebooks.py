"""Every notebook runs from top to bottom in a fresh kernel, and is committed with its outputs."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest

from .notebook import execute
from .reference import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path):
    return nbformat.read(path, as_version=4)


@pytest.fixture(scope="module")
def runs() -> dict[Path, Future]:
    """All of them run, two at a time; what drives an arm by the clock has the machine for itself."""
    futures = {}
    for by_the_clock in (False, True):
        with ThreadPoolExecutor(2) as pool:
            paths = [path for path in NOTEBOOKS if ("realtime" in path.stem) is by_the_clock]
            futures |= {path: pool.submit(execute, read(path)) for path in paths}
    return futures


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell):
    """What a reader sees of a cell: printed text, values, pictures."""
    return {key for output in cell.outputs for key in output.get("data", {output.get("name", "error"): None})}


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@every_notebook
def test_is_committed_with_outputs_and_without_magics(path):
    notebook = read(path)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    shown = set().union(*map(kinds, cells))
    assert {"stdout", "image/png"} <= shown
    assert not {"error", "stderr"} & shown
    lines = [line.strip() for cell in cells for line in cell.source.splitlines()]
    assert not [line for line in lines if line.startswith(("%", "!", "?")) or line.endswith("?")]


@every_notebook
def test_runs_and_gives_the_same_kinds_of_output(path, runs):
    for before, after in zip(code_cells(read(path)), code_cells(runs[path].result()), strict=True):
        assert kinds(after) == kinds(before), before.source
