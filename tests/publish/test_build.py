"""Builds that follow one another: the new value everywhere, whatever is kept, lost, damaged or in use elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.numbers.formatting import SPACE
from tests.publish import fixture_data
from tests.publish.project import Page, Project

ID = "decode.seconds_per_token"


def slower(project: Project, factor: float) -> None:
    """Give the decode samples other times."""
    time = fixture_data.seconds_per_token
    records = fixture_data.samples(lambda *cell: time(*cell) * (factor if cell[0] == "decode" else 1))
    fixture_data.write_run(project.folder / "site_data", records=records)


def shown(project: Project) -> tuple[str, str]:
    """The number on the page and on the notebook's page, after a build that must succeed."""
    assert project.build().code == 0, project.output
    texts = [Page(project.read(name)).numbers[ID] for name in ("index.html", "notes/note.html")]
    return texts[0], texts[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.make(tmp_path_factory.mktemp("built") / "project")
    assert shown(project) == (f"355{SPACE}ms", f"355{SPACE}ms")
    return project


@pytest.fixture
def project(built: Project, tmp_path: Path) -> Project:
    """A project that was built once, with what that build kept."""
    shutil.copytree(built.folder, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project")


def test_built_again_it_is_the_same(project: Project, built: Project) -> None:
    assert project.build().code == 0, project.output
    assert project.files() == built.files()


def test_new_data_are_everywhere(project: Project, built: Project) -> None:
    shown(project)  # what was kept is kept under the folder's name
    slower(project, 2)
    assert shown(project) == (f"710{SPACE}ms", f"710{SPACE}ms")
    for path in (project.folder / "site").rglob("*"):
        if path.suffix in (".html", ".json", ".csv", ".xml"):
            assert f"355{SPACE}ms" not in path.read_text(encoding="utf-8"), path
    assert "0.71" in project.read("data/charts/time-per-token.csv")
    tables = [
        re.findall(r"<th>decode</th>\s*<td>(.*?)</td>", of.read("notes/note.html")) for of in (built, project)
    ]
    assert tables[0] and tables[1] and tables[0] != tables[1], "the table that a cell printed"


def test_changed_code_is_everywhere(project: Project) -> None:
    source = project.folder / "hooks/numbers/formatting.py"
    code = source.read_text(encoding="utf-8")
    source.write_text(code.replace('"s": Unit("s", "s",', '"s": Unit("sec", "sec",'), encoding="utf-8")
    assert shown(project) == (f"355{SPACE}msec", f"355{SPACE}msec")
    output = project.read("notes/note.html").partition('class="cell-output"')[2]
    assert f"355{SPACE}msec" in output and f"355{SPACE}ms<" not in output


@pytest.mark.parametrize("loss", ["all", "half of each file", "unwritable"])
def test_a_lost_damaged_or_unwritable_cache_costs_only_time(
    project: Project, built: Project, loss: str
) -> None:
    kept = project.folder / ".cache/site"
    files = [path for path in kept.rglob("*") if path.is_file()]
    assert len(files) > 10
    if loss == "half of each file":
        for path in files:
            os.truncate(path, path.stat().st_size // 2)
    else:
        shutil.rmtree(kept)
    if loss == "unwritable":
        kept.write_text("a file in the folder's place")
    assert project.build().code == 0, project.output
    assert project.files() == built.files()


def test_two_builds_at_once(project: Project, built: Project) -> None:
    slower(project, 2)
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1767322800", "NO_MKDOCS_2_WARNING": "1"}
    builds = [
        subprocess.Popen(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", f"site{number}"],
            cwd=project.folder,
            env=environment,
        )
        for number in range(2)
    ]
    assert [build.wait() for build in builds] == [0, 0]
    first, second = (
        {
            path.name: path.read_bytes()
            for path in sorted((project.folder / f"site{number}").rglob("*"))
            if path.is_file()
        }
        for number in range(2)
    )
    assert first == second
    assert f"710{SPACE}ms".encode() in first["note.html"]


def test_without_a_date_given_the_site_has_the_date_of_its_commit(project: Project) -> None:
    def git(*arguments: str) -> None:
        date = {"GIT_AUTHOR_DATE": "2020-02-03T04:05:06Z", "GIT_COMMITTER_DATE": "2020-02-03T04:05:06Z"}
        who = ["-c", "user.name=fixture", "-c", "user.email=fixture@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=project.folder, env=os.environ | date, check=True)

    git("init", "-q")
    git("add", "mkdocs.yml")
    git("commit", "-q", "-m", "fixture")
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=project.folder,
        env=environment | {"SITE_URL": "https://example.org/", "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0
    assert "<lastmod>2020-02-03</lastmod>" in project.read("sitemap.xml")


def test_nothing_is_kept_in_what_is_published_or_written(project: Project) -> None:
    assert {path.name for path in project.folder.iterdir()} >= {".cache", ".build", "docs", "site"}
    sources = {
        str(path.relative_to(project.folder))
        for path in (project.folder / "docs").rglob("*")
        if path.is_file()
    }
    assert sources >= {"docs/index.md", "docs/notes/note.ipynb", "docs/quantities.toml"}
    assert not [name for name in sources if "cache" in name or "ipynb_checkpoints" in name]
    published = json.loads(project.read("published.json"))
    assert set(published["pages"]) == {"index.md", "notes/note.ipynb"}
