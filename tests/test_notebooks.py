"""Every notebook runs from top to bottom in a fresh kernel of this interpreter, and is committed with its outputs."""

import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CELL_SECONDS = 300


class ThisInterpreter(AsyncKernelManager):
    """A kernel of the running interpreter, whether or not a kernel specification is installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="this interpreter", language="python")


def execute(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with fresh outputs; raises CellExecutionError where a cell fails, CellTimeoutError if one hangs."""
    notebook = nbformat.from_dict(notebook)
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        startup_timeout=60,
        kernel_manager_class=ThisInterpreter,
        resources={"metadata": {"path": str(ROOT)}},
    )
    return client.execute()


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


def test_is_committed_with_outputs_and_without_magics(notebook):
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if output.output_type == "error"]
    lines = [line.lstrip() for cell in cells for line in cell.source.splitlines()]
    assert not [line for line in lines if line.startswith(("%", "!", "?")) or line.endswith("?")]


def test_runs_and_gives_the_same_kinds_of_output(notebook):
    executed = execute(notebook)
    for before, after in zip(code_cells(notebook), code_cells(executed), strict=True):
        assert kinds(after) == kinds(before), before.source


def kinds(cell):
    """What a reader sees of a cell: printed text, values, pictures."""
    return {key for output in cell.outputs for key in output.get("data", {output.get("name", "error"): None})}
