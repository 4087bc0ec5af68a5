"""All notebooks run as they are."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, unjank, monkeypatch, tmp_path):
    # They call the command by its name.
    monkeypatch.setenv("PATH", f"{Path(unjank).resolve().parent}:{os.environ['PATH']}")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=120, resources=resources).execute()


def test_there_are_some():
    assert {path.stem for path in NOTEBOOKS} >= {"cache", "runs", "traces", "why"}
