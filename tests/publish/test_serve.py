"""A preview shows every kind of change. How fast it does is in tests/bench/serve.py."""

from __future__ import annotations

from pathlib import Path

from tests.publish.project import Project
from tests.publish.serving import edits, serving


def test_every_kind_of_change_shows(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    with serving(project.folder) as server:
        for edit in edits():
            assert edit.shows not in server.page(edit.page), edit.kind
            edit.make(project.folder)
            assert server.wait(edit.page, edit.shows) < float("inf"), (edit.kind, server.log.read_text())
