"""The site under other programs: the same under ProperDocs, as far as it runs an extension under Zensical."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.leftovers import main as look_for_leftovers
from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT
from tests.publish.project import Page, Project


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "SOURCE_DATE_EPOCH": "1767322800",
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONPATH": str(folder),
    }
    environment.pop("SITE_DATA", None)
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


# --- ProperDocs -----------------------------------------------------------------------------------


def test_properdocs_builds_the_same_site(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project").build()
    assert project.code == 0, project.output
    with_mkdocs = project.files()
    done = run(project.folder, "-m", "properdocs", "build", "--strict", "-f", "mkdocs.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    with_properdocs = project.files()
    assert with_mkdocs.keys() == with_properdocs.keys()
    # The two name themselves in a meta tag and a comment, and nothing else may differ.
    different = [
        name for name in with_mkdocs if _anonymous(with_mkdocs[name]) != _anonymous(with_properdocs[name])
    ]
    assert different == []


def test_properdocs_fails_on_what_is_wrong(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.write("docs/index.md", "# Home\n\n{{ decode.second_per_token }}\n")
    done = run(project.folder, "-m", "properdocs", "build", "--strict", "-f", "mkdocs.yml")
    assert done.returncode != 0
    assert "docs/index.md:3: there is no quantity `decode.second_per_token`" in done.stdout + done.stderr


def _anonymous(content: bytes) -> bytes:
    return re.sub(rb"(?i)mkdocs-(?:properdocs )?\d[\d.]*", b"program", content)


# --- Zensical -------------------------------------------------------------------------------------

CONFIG = """
[project]
site_name = "Spliced Inference"
use_directory_urls = false

[project.markdown_extensions.attr_list]
[project.markdown_extensions.md_in_html]
[project.markdown_extensions.footnotes]
[project.markdown_extensions.pymdownx.superfences]
[project.markdown_extensions."hooks.extension"]
site_data = "site_data"
quantities = "docs/quantities.toml"
cache = ".cache/site"
"""

PAGE = """# {{ tokens "Spliced inference" }} {#top}

Decode takes {{ decode.seconds_per_token }}. {{ claim decode.seconds_per_token > prefill.seconds_per_token }}

{{ chart time-per-token }}

`{{ shown.as.code }}`

{{ measured-in }}
"""


@pytest.fixture
def zensical(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "docs/notes").mkdir(parents=True)
    (folder / "hooks").symlink_to(ROOT / "hooks")
    fixture_data.site_data(folder / "site_data")
    fixture_data.write_run(folder / "site_data")
    fixture_data.small_run(folder / "site_data")
    (folder / "docs/quantities.toml").write_bytes((ROOT / "docs/quantities.toml").read_bytes())
    (folder / "docs/index.md").write_text(PAGE, encoding="utf-8")
    (folder / "zensical.toml").write_text(CONFIG, encoding="utf-8")
    return folder


def test_zensical_renders_numbers_charts_tokens_and_claims(zensical: Path) -> None:
    done = run(zensical, "-m", "zensical", "build", "--clean")
    assert done.returncode == 0, done.stdout + done.stderr
    html = (zensical / "site/index.html").read_text(encoding="utf-8")
    page = Page(html)
    assert page.tokens == [("6406", "Sp"), ("74630", "liced"), ("44378", " inference")]
    assert page.numbers["decode.seconds_per_token"].startswith("355")
    assert html.count('<svg data-size="') == 2 and "data-slot" not in html
    assert 'class="claim"' in html and 'class="measured-in"' in html
    assert 'href="data:text/csv' in html, "no host writes the CSV, so it is inside"
    assert look_for_leftovers([str(zensical / "site")]) == 0


def test_zensical_does_not_publish_what_is_wrong(zensical: Path) -> None:
    for text in (
        "{{ decode.second_per_token }}",
        "Decode is quick. {{ claim decode.seconds_per_token < 0 }}",
    ):
        (zensical / "docs/index.md").write_text(f"# Home\n\n{text}\n", encoding="utf-8")
        done = run(zensical, "-m", "zensical", "build", "--clean")
        assert done.returncode != 0
        assert "index.md:3: " in done.stdout + done.stderr


def test_a_build_without_the_extension_is_found_out(
    zensical: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (zensical / "zensical.toml").write_text(CONFIG.partition('[project.markdown_extensions."hooks')[0])
    assert run(zensical, "-m", "zensical", "build", "--clean").returncode == 0
    assert look_for_leftovers([str(zensical / "site")]) == 1
    said = capsys.readouterr().err
    assert "index.html: braces that nobody resolved" in said and "decode.seconds_per_token" in said
    assert "shown.as.code" not in said


def test_looking_through_no_site_is_an_error(tmp_path: Path) -> None:
    assert look_for_leftovers([str(tmp_path)]) == 2
