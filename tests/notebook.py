"""Runs notebooks in a fresh kernel of this interpreter.

python -m tests.notebook notebooks/02_optimise.ipynb        runs it and writes it back with its outputs
"""

import sys
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from .reference import ROOT

CELL_SECONDS = 300


class ThisInterpreter(AsyncKernelManager):
    """A kernel of the running interpreter, whether or not a kernel specification is installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="this interpreter", language="python")


def execute(notebook: NotebookNode) -> NotebookNode:
    """A copy with fresh outputs; raises CellExecutionError where a cell fails, CellTimeoutError where one hangs."""
    client = NotebookClient(
        nbformat.from_dict(notebook),
        timeout=CELL_SECONDS,
        startup_timeout=60,
        kernel_manager_class=ThisInterpreter,
        resources={"metadata": {"path": str(ROOT)}},
    )
    executed = client.execute()
    executed.metadata = notebook.metadata
    for cell in executed.cells:
        _tidy(cell)
    return executed


def _tidy(cell: NotebookNode) -> None:
    """Leave out what differs from run to run or says nothing; text printed in pieces becomes one output."""
    cell.metadata = NotebookNode()
    outputs = []
    for output in cell.get("outputs", []):
        if "metadata" in output:
            output.metadata = NotebookNode()
        if outputs and output.get("name") and output.get("name") == outputs[-1].get("name"):
            outputs[-1].text += output.text
        else:
            outputs.append(output)
    if "outputs" in cell:
        cell.outputs = outputs


def main(paths: list[str]) -> None:
    """Run each notebook and write it back."""
    for path in map(Path, paths):
        notebook = execute(nbformat.read(path, as_version=4))
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
