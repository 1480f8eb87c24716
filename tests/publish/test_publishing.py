"""Publishing for real: builds that follow one another, the command, git branches that both published and are merged."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import feedparser
import pytest

from hooks import changes, publish
from hooks.build import Build
from hooks.errors import PublishError
from hooks.publication import snapshots
from hooks.publication.ledger import Number
from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT
from tests.publish.project import Project, good_cells, notebook

ID = "decode.seconds_per_token"


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=fixture", "-c", "user.email=fixture@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# --- builds -----------------------------------------------------------------------------------------


class Publisher(Project):
    """A project in a repository of its own, with the command that publishes it."""

    def publish(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "hooks.publish", *arguments],
            cwd=self.folder,
            env={
                name: value for name, value in os.environ.items() if name not in ("SITE_DATA", "PYTHONPATH")
            },
            capture_output=True,
            text=True,
            check=False,
        )
        self.code, self.output = done.returncode, done.stdout + done.stderr
        return self.output

    @property
    def ledger(self) -> list[dict[str, Any]]:
        text = (self.folder / "site_data/ledger.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @property
    def numbers(self) -> dict[tuple[str, str | None], dict[str, Any]]:
        return {
            (each["id"], each["alias"]): each for each in json.loads(self.read("published.json"))["numbers"]
        }


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Publisher, dict[str, Any]]:
    """A site that was published, measured again, and published again; and what was seen on the way."""
    made = Project.make(tmp_path_factory.mktemp("published") / "project")
    project, seen = Publisher(made.folder), {}
    lists = ("data/quantities/index.md", "data/runs/index.md", "data/changes.md")
    for name in lists:
        project.write(f"docs/{name}", (ROOT / "docs" / name).read_text(encoding="utf-8"))
    index = (project.folder / "docs/index.md").read_text(encoding="utf-8")
    project.write(
        "docs/index.md", index.replace("{{ measured-in }}\n", "")
    )  # it links to notes that are not here
    project.write(
        "docs/notes/note.ipynb", notebook([*good_cells()[:2], ("markdown", "[Home](../index.md#ratio)\n")])
    )
    config = (project.folder / "mkdocs.yml").read_text(encoding="utf-8")
    nav = "".join(f"  - {name}\n" for name in lists)
    project.write("mkdocs.yml", config.replace("nav:\n", f"nav:\n{nav}"))
    os.environ["SITE_URL"] = "https://example.org/site/"
    try:
        assert project.build().code == 0, project.output
        seen["before"] = project.numbers
        seen["unpublished"] = json.loads(project.read("published.json"))["published"]
        seen["first"] = project.publish("--date", "2026-01-02")
        seen["lines"] = project.ledger
        seen["again"] = project.publish("--date", "2026-01-02")
        assert project.ledger == seen["lines"]
        git(project.folder, "init", "-q")
        git(project.folder, "add", "site_data/ledger.jsonl")
        git(project.folder, "commit", "-q", "-m", "published")
        time = fixture_data.seconds_per_token
        records = fixture_data.samples(lambda *cell: time(*cell) * (2 if cell[0] == "decode" else 1))
        later = {"finished_at": "2026-01-05T04:00:00Z"}
        fixture_data.write_run(project.folder / "site_data", "fixture-later", records=records, **later)
        assert project.build().code == 0, project.output
        assert project.ledger == seen["lines"], "a plain build writes nothing"
        seen["after"] = project.numbers
        seen["second"] = project.publish("--date", "2026-01-06")
        assert project.build().code == 0, project.output
        seen["check"] = project.publish("--check")
    finally:
        del os.environ["SITE_URL"]
    return project, seen


Told = tuple[Publisher, dict[str, Any]]


def test_the_first_publication_has_every_number(told: Told) -> None:
    _, seen = told
    assert seen["unpublished"] == "unpublished"
    assert seen["first"].startswith(f"Published 2026-01-02.1: {len(seen['before'])} numbers changed.")
    assert {(line["id"], line["alias"]) for line in seen["lines"]} == set(seen["before"])
    assert len(seen["lines"]) == len(seen["before"]) > 50
    assert "Nothing that is published changed since 2026-01-02.1: nothing is appended." in seen["again"]


def test_a_line_for_each_number_that_a_new_run_changed(told: Told) -> None:
    project, seen = told
    changed = {name for name, number in seen["after"].items() if seen["before"].get(name) != number}
    new = project.ledger[len(seen["lines"]) :]
    assert {(line["id"], line["alias"]) for line in new} == changed
    assert (ID, None) in changed and changed < set(seen["after"])
    (line,) = (line for line in new if line["id"] == ID)
    assert (
        line["version"] == "2026-01-06.1"
        and line["run"] == "fixture-later"
        and line["value"] == pytest.approx(0.71)
    )
    assert re.search(rf"{ID}: 355\sms → 710\sms \(run fixture-main → fixture-later\)", seen["second"])
    assert "2 publications, the last 2026-01-06.1" in seen["check"]
    assert json.loads(project.read("published.json"))["published"] == "2026-01-06.1"


def test_the_site_has_old_and_new(told: Told) -> None:
    project, _ = told
    script = project.read(f"data/ledger/{ID}.js")
    history = json.loads(script.removeprefix("document.currentScript.history=").rstrip(";\n"))
    entries = history["numbers"][""]["entries"]
    assert [entry[0] for entry in entries] == ["2026-01-02.1", "2026-01-06.1"]
    assert [re.sub(r"\s", " ", entry[1]) for entry in entries] == ["355 ms", "710 ms"]
    assert history["latest"] == "2026-01-06.1" and history["numbers"][""]["now"][2] is True
    page = re.sub(r"\s", " ", project.read("data/changes.html"))
    assert "<td>355 ms</td><td>710 ms</td>" in page and 'id="v2026-01-06.1-' in page
    assert "fixture-later" in page and f'href="quantities/{ID}.html"' in page
    assert project.read("data/ledger.jsonl") == (project.folder / "site_data/ledger.jsonl").read_text(
        encoding="utf-8"
    )


def test_feeds_are_read_by_feedparser(told: Told) -> None:
    project, _ = told
    for name in ("notes", "numbers"):
        feed = feedparser.parse(project.read(f"feeds/{name}.atom.xml"))
        assert not feed.bozo and feed.version == "atom10", feed.get("bozo_exception")
        assert feed.feed.title.startswith("Spliced Inference: ") and feed.feed.author
        as_json = json.loads(project.read(f"feeds/{name}.json"))
        assert [item["id"] for item in as_json["items"]] == [entry.id for entry in feed.entries]
        assert [item["url"] for item in as_json["items"]] == [entry.link for entry in feed.entries]
        for entry in feed.entries:
            assert entry.link.startswith("https://example.org/site/") and entry.id.startswith("urn:uuid:")
            assert (
                project.folder
                / "site"
                / entry.link.removeprefix("https://example.org/site/").partition("#")[0]
            ).is_file()
    entries = feedparser.parse(project.read("feeds/numbers.atom.xml")).entries
    assert [entry.updated for entry in entries] == ["2026-01-06T00:00:00+00:00", "2026-01-02T00:00:00+00:00"]
    assert re.search(r"355\sms → 710\sms", entries[0].content[0].value)
    assert f"https://example.org/site/data/quantities/{ID}.html" in entries[0].content[0].value
    (note,) = feedparser.parse(project.read("feeds/notes.atom.xml")).entries
    assert note.title == "The note" and re.search(r"Decode: 710\sms", note.content[0].value)


def test_pages_have_their_other_forms(told: Told) -> None:
    project, _ = told
    page = project.read("notes/note.html")
    for kind, path in (
        ("text/markdown", "note.md"),
        ("application/atom+xml", "../feeds/notes.atom.xml"),
        ("application/feed+json", "../feeds/numbers.json"),
    ):
        assert re.search(
            rf'<link rel="alternate " type="{re.escape(kind)}" title="[^"]+" href="{re.escape(path)}">', page
        )
    note = re.sub("[\N{NARROW NO-BREAK SPACE}\N{NO-BREAK SPACE}]", " ", project.read("notes/note.md"))
    assert note.startswith('---\ntitle: "The note"\n') and 'version: "2026-01-06.1"' in note
    assert "# The note\n" in note and "Decode takes 710 ms, that is long." in note
    assert "[Home](../index.md#ratio)" in note
    assert "| decode |" in note, "the table that a cell printed"
    assert "groupby('experiment').duration_s.median()" in note, "the code of a cell, as it is"
    assert re.search(r"\*\*[^*]+\.\*\* .*[0-9]", project.read("index.md")), "a chart's title and finding"
    number = project.read(f"data/quantities/{ID}.md")
    assert "| 2026-01-02.1 |" in number and re.search(r"\*\*710\s?ms\*\*", number) and "\n# Decode" in number
    assert "\n- Run: `fixture-later`\n" in project.read("data/runs/fixture-later.md")
    assert f"]({ID}.md)" in project.read("data/quantities/index.md")
    assert 'type="text/markdown"' in project.read(f"data/quantities/{ID}.html")
    for name in ("index.md", "notes/note.md"):
        assert not re.search(r"\{\{|</?(?:span|bdi|svg|div|button)\b", project.read(name)), name
    llms = project.read("llms.txt")
    assert llms.startswith("# Spliced Inference\n\n> ")
    for address in re.findall(r"\]\((https://example\.org/site/[^)]+)\)", llms):
        assert (project.folder / "site" / address.removeprefix("https://example.org/site/")).is_file()
    assert "(https://example.org/site/notes/note.md): Decode: 710" in llms


def test_what_was_published_cannot_be_removed_silently(told: Told, tmp_path: Path) -> None:
    project, _ = told
    site_data, quantities = tmp_path / "site_data", tmp_path / "docs/quantities.toml"
    shutil.copytree(project.folder / "site_data", site_data)
    quantities.parent.mkdir()

    def build() -> Build:
        made = Build.open(site_data, quantities, tmp_path / ".build", tmp_path / "site")
        made.close()
        return made

    text = (project.folder / "docs/quantities.toml").read_text(encoding="utf-8")
    id_ = next(id_ for id_, _ in sorted(project.numbers, key=str) if text.count(id_) == 1)
    renamed = text.replace(f'[quantity."{id_}"]', f'[quantity."{id_}_renamed"]')
    quantities.write_text(renamed, encoding="utf-8")
    (error,) = build().errors
    assert f"`{id_}` was published and is not defined any more" in str(error)
    assert f'mend: add was = ["{id_}"]' in str(error) and f"nearest known: {id_}_renamed" in str(error)
    named = f'[quantity."{id_}_renamed"]\nwas = ["{id_}"]'
    quantities.write_text(renamed.replace(f'[quantity."{id_}_renamed"]', named), encoding="utf-8")
    kept = build()
    assert not kept.errors and kept.version == "2026-01-06.1", "another name is no change"
    lines = (site_data / "ledger.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (site_data / "ledger.jsonl").write_text("".join(lines[1:]), encoding="utf-8")
    with pytest.raises(PublishError, match="is not what was published"):
        build()


def test_changes_between_two_sites_and_commits(told: Told, tmp_path: Path) -> None:
    project, _ = told
    new = json.loads(project.read("published.json"))
    assert not list(changes.compare(new, new))
    old = json.loads(json.dumps(new))
    old["pages"]["index.md"]["claims"][1]["expression"] = "energy.decode_over_prefill > 3"
    old["pages"]["index.md"]["drawn"][0]["caption"] = "Another finding"
    old["sources"] |= {"index.md": "0" * 16, "gone.md": "0" * 16}
    del old["sources"]["notes/note.ipynb"]
    for number in old["numbers"]:
        if number["id"] == "prefill.seconds_per_token.at_64":
            number["text"] = "1 ms"
    assert list(changes.compare(old, new))[-1] == "and 1 number on no page but their own, which --all names"
    text = "\n".join(changes.compare(old, new, everything=True))
    for line in (
        "index.md\n  its source was edited",
        "a claim that is made no longer: energy.decode_over_prefill > 3",
        "a new claim: energy.decode_over_prefill > 1",
        "chart-time-per-token: “Another finding” → “",
        "gone.md\n  no longer there",
        "notes/note.ipynb\n  a new page",
        "on no page but their own\n  prefill.seconds_per_token.at_64: 1 ms → ",
    ):
        assert line in text
    assert snapshots.find(str(project.folder / "site"), project.folder) == new


# --- git --------------------------------------------------------------------------------------------


class Desk:
    """A repository with a ledger, and what a build of it would have stated. Builds nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "site_data").mkdir(parents=True)
        (folder / "docs").mkdir()
        shutil.copy(ROOT / "site_data/schema.json", folder / "site_data")
        shutil.copy(ROOT / "docs/quantities.toml", folder / "docs")
        shutil.copy(ROOT / ".gitattributes", folder)
        git(folder, "init", "-q")
        self.commit("begin")

    def commit(self, message: str) -> None:
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", message)

    def run(self, *arguments: str) -> int:
        where = ["--site-data", str(self.folder / "site_data")]
        where += ["--quantities", str(self.folder / "docs/quantities.toml")]
        return publish.main([*where, *arguments])

    def publish(self, **values: float) -> None:
        """Publish numbers, named by the last words of their ids, and commit the ledger."""
        numbers = [
            Number(
                f"decode.seconds_per_token.{name}",
                None,
                f"{value} s",
                value,
                None,
                None,
                "s",
                "fixture",
                None,
            )
            for name, value in values.items()
        ]
        path = self.folder.parent / "published.json"
        path.write_text(json.dumps({"numbers": [vars(number) for number in numbers]}), encoding="utf-8")
        assert self.run(str(path), "--date", "2026-01-02") == 0
        self.commit("publish")


def test_two_branches_that_both_published_are_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(tmp_path / "desk")
    desk.publish(at_64=1.0, at_1000=1.0)
    git(desk.folder, "checkout", "-q", "-b", "other")
    desk.publish(at_64=1.0, at_1000=2.0)
    desk.publish(at_64=1.0, at_1000=3.0)
    git(desk.folder, "checkout", "-q", "main")
    desk.publish(at_64=5.0, at_1000=1.0)
    git(desk.folder, "merge", "-q", "--no-edit", "other")
    assert not git(desk.folder, "status", "--short")
    capsys.readouterr()
    assert desk.run("--check") == 0
    assert capsys.readouterr().out == "5 lines of 4 publications, the last 2026-01-02.3.\n"
    desk.publish(at_64=5.0, at_1000=3.0)
    assert "Nothing that is published changed since 2026-01-02.3" in capsys.readouterr().out
    desk.publish(at_64=5.0, at_1000=1.0)
    assert "decode.seconds_per_token.at_1000: 3.0 s → 1.0 s" in capsys.readouterr().out


def test_a_line_that_a_commit_took_away_is_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk(tmp_path / "desk")
    desk.publish(at_64=1.0)
    desk.publish(at_64=2.0)
    path = desk.folder / "site_data/ledger.jsonl"
    first, second = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(first, encoding="utf-8")
    desk.commit("rewrite")
    assert desk.run("--check") == 1
    assert "the ledger has lost what was published" in capsys.readouterr().err
    path.write_text(second + first, encoding="utf-8")
    assert desk.run("--check") == 0
    path.unlink()
    assert desk.run("--check") == 1
