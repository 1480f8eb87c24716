"""Kernels that execute notebooks are the build's own: nothing of whoever builds runs in them."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

from hooks.jupyter.execution import environment


def printed() -> str:
    cell = nbformat.v4.new_code_cell("print('LEFT_BY_START_UP' in globals())")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    text: str = notebook.cells[0].outputs[0].text
    return text.strip()


def test_start_up_files_do_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_up = tmp_path / "theirs" / "profile_default" / "startup"
    start_up.mkdir(parents=True)
    (start_up / "00.py").write_text("LEFT_BY_START_UP = True\n", encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "theirs"))
    assert printed() == "True"  # so it is with a kernel that is not isolated
    ours = environment(tmp_path / "ours", tmp_path / "site_data", tmp_path / "quantities.toml")
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    assert printed() == "False"
