"""Every notebook runs from top to bottom in a fresh kernel, and is committed with its outputs."""

import nbformat
import pytest

from .notebook import execute
from .reference import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell):
    """What a reader sees of a cell: printed text, values, pictures."""
    return {key for output in cell.outputs for key in output.get("data", {output.get("name", "error"): None})}


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


def test_is_committed_with_outputs_and_without_magics(notebook):
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    shown = set().union(*map(kinds, cells))
    assert {"stdout", "image/png"} <= shown
    assert not {"error", "stderr"} & shown
    lines = [line.strip() for cell in cells for line in cell.source.splitlines()]
    assert not [line for line in lines if line.startswith(("%", "!", "?")) or line.endswith("?")]


def test_runs_and_gives_the_same_kinds_of_output(notebook):
    executed = execute(notebook)
    for before, after in zip(code_cells(notebook), code_cells(executed), strict=True):
        assert kinds(after) == kinds(before), before.source
