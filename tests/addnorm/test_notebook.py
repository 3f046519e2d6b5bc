"""The notebook of the examples runs from top to bottom, with Jupyter's kernel where that is installed, all but `pip`."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import examples
from addnorm import read

NOTEBOOK = Path(examples.__file__).parent / "notebook.ipynb"
ROOT = NOTEBOOK.parents[1]


def test_the_notebook_is_kept_without_its_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in code)
    assert code[0]["source"] == ['%pip install -q "addnorm[notebook,frames,figures]"']


@pytest.mark.full
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("plotly")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    try:
        import nbclient
        import nbformat
    except ImportError:  # then as a script, whose last expressions show nothing
        names: dict[str, Any] = {}
        monkeypatch.chdir(tmp_path)
        for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code" and cell["id"] != "install":
                exec("".join(cell["source"]), names)
    else:
        monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        book = nbformat.read(NOTEBOOK, 4)
        book.cells = [cell for cell in book.cells if cell.id != "install"]
        nbclient.NotebookClient(book, timeout=250, resources={"metadata": {"path": tmp_path}}).execute()
        outputs = {cell.id: cell.outputs for cell in book.cells if cell.cell_type == "code"}
        for cell, rows in (("profile", 1), ("record", 100), ("read", 100)):
            assert "srcdoc" in outputs[cell][0].data["text/html"], "the player"
            assert f"{rows} row" in outputs[cell][0].data["text/plain"]
    assert len(read(tmp_path / "recordings" / "notebook.jsonl")) == 100
    assert (tmp_path / "recordings" / "notebook.html").is_file()
