"""Real builds: `mkdocs build --strict` in a folder of its own, on fixture data, with the repository's configuration.

Builds take seconds, so the tests share them: one good site, the same site elsewhere, and one site for each way
to go wrong.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hooks.numbers.formatting import SPACE
from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT
from tests.publish.project import Page, Project, notebook


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.make(tmp_path_factory.mktemp("good") / "project").build()
    assert project.code == 0, project.output
    return project


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory, good: Project) -> Project:
    """The same project in another folder."""
    project = Project.make(tmp_path_factory.mktemp("again") / "elsewhere").build()
    assert project.code == 0, project.output
    return project


@pytest.fixture(scope="module")
def changed(again: Project, good: Project) -> Iterator[tuple[dict[str, bytes], Project]]:
    """What `again` had, and the project after its decode times were halved and it was built anew."""
    before = again.files()
    half = lambda *cell: fixture_data.seconds_per_token(*cell) / (2 if cell[0] == "decode" else 1)  # noqa: E731
    fixture_data.write_run(again.folder / "site_data", records=fixture_data.samples(half))
    yield before, again.build()


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A built site whose data then changed for the worse, and whose pages have mistakes of every kind."""
    project = Project.make(tmp_path_factory.mktemp("broken") / "project")
    project.write(
        "docs/index.md",
        "Decode takes longer. {{ claim decode.seconds_per_token > prefill.seconds_per_token }}\n",
    )
    project.write(
        "docs/notes/note.ipynb", notebook([("markdown", "# Note\n\n{{ decode.seconds_per_token }}")])
    )
    assert project.build().code == 0, project.output
    slow = lambda *cell: 0.12 if cell[0] == "decode" else 0.18  # noqa: E731
    records = [record for record in fixture_data.samples(slow) if record["prompt_tokens"] != 64]
    fixture_data.write_run(project.folder / "site_data", records=records, samples=len(fixture_data.samples()))
    project.write("docs/other.md", "# Other\n\nText.\n\nAt 64: {{ prefill.seconds_per_token.at_64 }}.\n")
    project.write(
        "docs/front.md", '---\ntitle: "{{ nothing.here }}"\n---\n\n# Front\n\n{{ decode.second_per_token }}\n'
    )
    cells = [
        ("markdown", "# Note\n\nText.\n\n{{ no.such_number }}"),
        ("code", "x = 1"),
        ("code", "y = 2\nraise ValueError(f'stopped at {x}')"),
    ]
    project.write("docs/notes/note.ipynb", notebook(cells))
    return project.build()


def test_the_headline_is_three_tokens(good: Project) -> None:
    page = Page(good.read("index.html"))
    assert page.tokens == [("6406", "Sp"), ("74630", "liced"), ("44378", " inference")]


def test_numbers_are_on_every_page(good: Project) -> None:
    assert Page(good.read("index.html")).numbers["decode.seconds_per_token"] == f"355{SPACE}ms"
    assert Page(good.read("notes/note.html")).numbers["decode.seconds_per_token"] == f"355{SPACE}ms"
    assert 'id="n-decode.seconds_per_token"' in good.read("notes/note.html")


def test_titles_and_descriptions_are_plain_text(good: Project) -> None:
    page = good.read("index.html")
    assert f"<title>Decode takes 355{SPACE}ms - Spliced Inference</title>" in page
    assert f'<meta name="description" content="And prefill 26.0{SPACE}ms"' in page
    note = good.read("notes/note.html")
    assert "<title>The note - Spliced Inference</title>" in note
    assert f'<meta name="description" content="Decode: 355{SPACE}ms"' in note


def test_pages_ask_no_other_host(good: Project) -> None:
    for name in ("index.html", "notes/note.html", "404.html"):
        asked = Page(good.read(name)).asked
        assert asked and not [url for url in asked if re.match(r"(https?:)?//", url)], name


def test_a_notebook_looks_like_the_other_pages(good: Project) -> None:
    page = good.read("notes/note.html")
    assert len(page.encode()) < 150_000
    assert "jp-" not in page and "mathjax" not in page.lower() and "mermaid" not in page.lower()
    assert page.count("<script") == good.read("index.html").count("<script")
    assert page.count('<div class="cell-output">') == 5
    assert "13.000 s &lt;b&gt;" in page
    assert '<table class="dataframe of-numbers">' in page
    assert page.count(' class="chart" ') == 3
    assert 'href="#samples"' in page, "its headings are in the table of contents"


def test_generated_files(good: Project) -> None:
    published = json.loads(good.read("published.json"))
    numbers = {number["id"]: number for number in published["pages"]["index.md"]["quantities"]}
    assert numbers["decode.seconds_per_token"]["value"] == pytest.approx(0.355)
    assert numbers["decode.seconds_per_token"]["run"] == "fixture-main"
    claims = published["pages"]["index.md"]["claims"]
    assert [claim["held"] for claim in claims] == [True, None]
    assert good.read("data/charts/time-per-token.csv").startswith("experiment,tokens,value_s,")
    assert json.loads((good.folder / ".build/published.json").read_text()) == published
    assert not (good.folder / "site/quantities.toml").exists()


def test_claims_that_rest_on_a_refusal_are_listed(good: Project) -> None:
    assert "docs/index.md: “Energy is more, too.” is not yet checked" in good.output


def test_search_reads_the_text_and_not_the_popovers_or_pictures(good: Project) -> None:
    index = good.read("search/search_index.json")
    assert "Decode takes longer" in index
    assert "fixture weights, never loaded" not in json.loads(index)["docs"][0]["text"]
    assert "prediction interval over processes)" not in index


def test_two_builds_are_the_same(
    good: Project, again: Project, changed: tuple[dict[str, bytes], Project]
) -> None:
    first, second = good.files(), changed[0]
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_changed_durations_are_everywhere(changed: tuple[dict[str, bytes], Project], good: Project) -> None:
    _, project = changed
    assert project.code == 0, project.output
    for name in ("index.html", "notes/note.html"):
        assert Page(project.read(name)).numbers["decode.seconds_per_token"] == f"178{SPACE}ms"
    assert f"355{SPACE}ms" not in project.read("notes/note.html"), "no old number in an output of a cell"
    csv, old = project.read("data/charts/time-per-token.csv"), good.read("data/charts/time-per-token.csv")
    assert "0.1775" in csv and "0.1775" not in old
    assert re.findall(r"<svg.*?</svg>", project.read("index.html")) != re.findall(
        r"<svg.*?</svg>", good.read("index.html")
    )


def test_every_broken_page_is_listed_at_once(broken: Project) -> None:
    assert broken.code not in (0, None)
    for expected in (
        "docs/front.md:7: there is no quantity `decode.second_per_token`",
        "docs/front.md: there is no quantity `nothing.here`",
        "docs/notes/note.ipynb, cell 1, line 5: there is no quantity `no.such_number`",
    ):
        assert expected in broken.output


def test_a_raising_cell_fails_the_build(broken: Project) -> None:
    assert "docs/notes/note.ipynb, cell 3, line 2: a cell raised an exception" in broken.output
    assert "found: ValueError: stopped at 1" in broken.output


def test_a_lost_cell_fails_the_build_and_names_all(broken: Project) -> None:
    assert "samples.jsonl: prefill.seconds_per_token.at_64 has no samples" in broken.output
    assert "used at: docs/other.md:5" in broken.output
    assert "expected: samples of prefill, prompt of 64 tokens" in broken.output
    assert "samples are missing or were added; a run never changes" in broken.output


def test_a_false_claim_fails_the_build_with_old_and_new_values(broken: Project) -> None:
    assert "docs/index.md:1: the data contradict this sentence" in broken.output
    assert "sentence: “Decode takes longer.”" in broken.output
    assert f"value: decode.seconds_per_token = 120{SPACE}ms; last published: 355{SPACE}ms" in broken.output
    assert f"value: prefill.seconds_per_token = 180{SPACE}ms; last published: 26.0{SPACE}ms" in broken.output


def test_a_failed_build_leaves_what_it_would_have_published(broken: Project) -> None:
    published = json.loads((broken.folder / ".build/published.json").read_text())
    assert [claim["held"] for claim in published["pages"]["index.md"]["claims"]] == [False]
    assert not (broken.folder / "site/index.html").exists()


def test_where_only_notebooks_fail_all_of_them_are_told_and_no_half_site_is_left(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.write("docs/notes/note.ipynb", notebook([("markdown", "# Note"), ("code", "1 / 0")]))
    project.write("docs/notes/other.ipynb", notebook([("markdown", "# Other"), ("code", "print(undefined)")]))
    project.build()
    assert project.code not in (0, None)
    assert "docs/notes/note.ipynb, cell 2, line 1: a cell raised an exception" in project.output
    assert "found: NameError: name 'undefined' is not defined" in project.output
    assert "2 things to mend" in project.output
    assert list((project.folder / "site").iterdir()) == []


SERVE = """
import json, shutil, sys, time
from pathlib import Path
from mkdocs.commands.build import build
from mkdocs.config import load_config

def text():
    build(load_config("mkdocs.yml"))
    pages = json.loads(Path("site/published.json").read_text(encoding="utf-8"))["pages"]
    return [number["text"] for number in pages["index.md"]["quantities"]]

first = text()
samples = Path("site_data/runs/fixture-main/samples.jsonl")
shutil.copy(sys.argv[1], samples)
second = text()
source = Path("hooks/numbers/formatting.py")
code = source.read_text(encoding="utf-8").replace('"s": Unit("s", "s",', '"s": Unit("sec", "sec",')
source.write_text(code, encoding="utf-8")
print(json.dumps([first, second, text()]))
"""


def test_a_server_that_rebuilds_sees_changed_data_and_code(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    (project.folder / "docs/notes/note.ipynb").unlink()
    project.write("docs/index.md", "# Home\n\n{{ decode.seconds_per_token }}\n")
    config = (project.folder / "mkdocs.yml").read_text(encoding="utf-8")
    project.write("mkdocs.yml", config.replace("  - notes/note.ipynb\n", ""))
    other = fixture_data.site_data(tmp_path / "other")
    run = fixture_data.write_run(other, records=fixture_data.samples(lambda *_: 0.7))
    done = subprocess.run(
        [sys.executable, "-c", SERVE, str(run / "samples.jsonl")],
        cwd=project.folder,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [
        [f"355{SPACE}ms"],
        [f"700{SPACE}ms"],
        [f"700{SPACE}msec"],
    ]


def test_no_site_data_at_all(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    shutil.rmtree(project.folder / "site_data")
    project.build()
    assert project.code not in (0, None)
    assert "there is no folder site_data/" in project.output and "`make measure`" in project.output


def test_the_configuration_is_strict() -> None:
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!ENV", lambda loader, node: None)
    config = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)
    assert config["strict"] is True
    assert config["validation"]["links"]["anchors"] == "warn", "a warning fails a strict build"
    assert config["theme"]["font"] is False
    assert config["use_directory_urls"] is False, (
        "opened as a file, an address of a folder is a list of files"
    )
