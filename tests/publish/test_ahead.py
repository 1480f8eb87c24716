"""What begins before a build is what the build is likely to want, and it is none the worse where it was not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hooks import ahead
from hooks.caching.cache import Cache
from hooks.jupyter import execution, notebooks
from hooks.pictures import painter
from tests.publish import fixture_data
from tests.publish.project import Project, notebook

READS_MAIN = """
from hooks.notebook import quantity, run, samples
print(len(samples(experiment="decode")), len(run()), quantity("decode.seconds_per_token"))
"""


def touch(path: Path) -> None:
    """Make the file another than it was, for whoever looks at it from outside."""
    text = path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    later = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(later, later))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], tuple[str, ...]]:
    """Says what begins in a folder, and starts nothing."""
    found: list[str] = []
    monkeypatch.setattr(painter.Painter, "warm", lambda self: found.append("painter"))
    monkeypatch.setattr(ahead, "Execution", lambda environment: found.append("notebooks"))

    def asked(root: Path) -> tuple[str, ...]:
        found.clear()
        ahead.begin(root)
        return tuple(found)

    return asked


def test_what_begins_follows_what_has_changed(
    tmp_path: Path, begun: Callable[[Path], tuple[str, ...]]
) -> None:
    data = fixture_data.site_data(tmp_path / "site_data")
    for folder in (fixture_data.write_run(data), other := fixture_data.small_run(data)):
        assert folder.parent == data / "runs"
    assert begun(tmp_path) == ("painter",), "a site without notebooks"

    page = tmp_path / "docs" / "note.ipynb"
    page.parent.mkdir()
    page.write_text("{}", encoding="utf-8")
    assert begun(tmp_path) == ("painter", "notebooks"), "the first build"

    ahead.remember(tmp_path, ahead.state(tmp_path), {"fixture-main"})
    assert begun(tmp_path) == ()
    touch(other / "samples.jsonl")
    assert begun(tmp_path) == ("painter",), "no notebook reads this run"
    touch(data / "runs" / "fixture-main" / "samples.jsonl")
    assert begun(tmp_path) == ("painter", "notebooks")

    ahead.remember(tmp_path, ahead.state(tmp_path), {"fixture-main"})
    touch(page)
    assert begun(tmp_path) == ("painter", "notebooks")


def test_a_build_remembers_the_runs_that_notebooks_read(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.write("docs/index.md", "# Home\n")
    project.write("docs/notes/note.ipynb", notebook([("markdown", "# Note"), ("code", READS_MAIN)]))
    kept = Cache(ahead.cache(project.folder))
    for _ in range(2):  # executed, and not
        assert project.build().code == 0, project.output
        assert kept.get("ahead", "last")["read"] == ["fixture-main"]


def test_a_process_that_began_for_other_data_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "note.ipynb"
    path.write_text(notebook([("code", "__import__('os').environ['SPLICED_SITE_DATA']")]), encoding="utf-8")
    made = {name: execution.environment(tmp_path, tmp_path / name, tmp_path / "q.toml") for name in "ab"}
    for began in "ab":
        early = execution.Execution(made[began])
        build = notebooks.Notebooks(environment=lambda: made["b"], execution=early)
        build.begin({"note": (path, "note.ipynb")})
        (ended,) = build.ended(until=["note"])
        assert f"{tmp_path}/b" in str(ended[1])
        assert early._process.poll() is not None
