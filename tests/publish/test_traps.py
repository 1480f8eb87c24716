"""Traps of the tools that we publish with, and mistakes that others made with them: each is held off by a test.

Each test here shows both sides: what we do holds, and without it the trap springs. `HELD_ELSEWHERE` names the traps
that other tests hold off; the last test reads it, so that none of those can go away unnoticed.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import markdown
import pytest
from bs4 import BeautifulSoup

from hooks import charts, leftovers
from hooks.citation import cited_works
from hooks.errors import PublishErrors
from hooks.extension import Site, SplicedExtension
from hooks.numbers import formatting
from hooks.writing import resolve
from hooks.writing.forms import plain_text
from hooks.writing.pages import PageState
from tests.publish import fixture_data, test_policy
from tests.publish.error_cases import CASES
from tests.publish.fixture_data import ROOT
from tests.publish.project import Page, Project, notebook

HELD_ELSEWHERE = {
    "publish/test_site.py": {
        "a false sentence after new data": "test_a_false_claim_fails_the_build_with_old_and_new_values",
        "an old number after new data": "test_changed_durations_are_everywhere",
        "modules of hooks kept by a server": "test_a_server_that_rebuilds_sees_changed_data_and_code",
        "a raising cell": "test_a_raising_cell_fails_the_build",
        "a cell of the plan without samples": "test_a_lost_cell_fails_the_build_and_names_all",
        "a number in a title": "test_titles_and_descriptions_are_plain_text",
        "notebooks heavy, with a CDN": "test_a_notebook_looks_like_the_other_pages",
        "builds that differ": "test_two_builds_are_the_same",
    },
    "publish/test_error_messages.py": {
        "a NaN among repetitions": "test_error[samples-nan]",
        "a last line cut inside a number": "test_error[samples-cut]",
        "an undefined number in a strict build": "test_error[page-unknown-id]",
        "an unknown alias of a run": "test_error[page-unknown-run]",
        "two runs' numbers on one page": "test_error[page-two-runs]",
        "a value cited under a name twice": "test_error[data-cited-twice]",
        "a number in a heading's anchor": "test_error[page-heading-without-anchor]",
    },
    "publish/test_properties.py": {
        "data as a template of re.sub": "test_any_data_are_inert_in_html_and_json",
        "text cut into tokens changed": "test_any_escaped_text_comes_back_from_tokens",
    },
    "publish/test_build.py": {
        "a build that has today's date": "test_without_a_date_given_the_site_has_the_date_of_its_commit",
        "old values in what was kept": "test_new_data_are_everywhere",
    },
    "publish/test_rendered.py": {
        "a page older than its data": "test_only_pages_behind_which_samples_changed_are_rendered_anew",
        "a CSV older than its page": "test_only_pages_behind_which_samples_changed_are_rendered_anew",
    },
    "publish/test_gallery.py": {
        "a chart kept though its data changed": "test_changed_samples_of_any_kind_are_other_drawings",
    },
    "publish/test_citing.py": {
        "a number cited without its data": "test_each_number_has_its_citation_by_its_anchor",
        "a citation of a page that moves": (
            "test_a_published_number_is_cited_with_its_version_and_an_address_that_has_it"
        ),
    },
    "publish/test_citations.py": {
        "a title alone, taken for an article": "test_highwire_tags_are_those_of_a_report",
    },
    "publish/test_other_forms.py": {
        "data as markup in feeds, Markdown and histories": "test_any_text_is_text_in_every_file",
    },
    "publish/test_chart_findings.py": {
        "a series dropped with its failure": "test_a_refused_series_is_named_point_by_point",
        "a point dropped without a word": "test_a_planned_cell_without_samples_is_an_error_not_a_missing_point",
    },
    "publish/test_charts.py": {
        "a chart without its description": "test_the_text_alternative_states_the_finding_with_numbers",
        "a chart that keeps one palette": "test_colours_follow_the_palette_and_text_the_page_s_font",
        "a picture that refers or runs": "test_nothing_in_it_needs_a_script_or_another_host",
        "one chart twice on a page": "test_the_same_chart_twice_on_a_page_repeats_no_id",
        "a picture of 300 px": "test_the_picture_comes_for_wide_and_for_narrow_screens",
        "values without their uncertainty": "test_uncertainty_is_drawn_for_every_point_that_has_it",
        "CSV and picture apart": "test_the_table_and_the_csv_have_the_same_rows",
    },
    "browser/test_pages.py": {
        "no chart without scripts": "test_charts_are_drawn_and_can_be_read",
        "pages that ask other hosts": "test_no_page_asks_another_host",
    },
    "browser/test_citing.py": {
        "Zotero not told of a page": "test_zotero_is_told_of_a_page_that_came_without_a_load",
    },
    "browser/test_cited_then.py": {
        "a citation that cannot be compared with today": "test_old_and_new_stand_beside_the_number",
        "a script that does not begin again": "test_it_stands_there_after_a_click_too",
    },
    "browser/test_machines.py": {
        "data that cannot be fetched from a file": "test_from_a_file",
    },
    "browser/test_provenance.py": {
        "a number without provenance": "test_hover_shows_the_provenance",
    },
    "browser/test_weight.py": {
        "Vega on every first visit": "test_a_primer_with_three_charts_is_light",
        "a heavy notebook": "test_a_page_made_of_a_notebook_is_light",
    },
    "browser/test_charts.py": {
        "a chart gone after a click or back": "test_navigation_by_click_and_back_keeps_charts_answering",
        "a chart gone at an anchor": "test_arriving_at_an_anchor_is_not_disturbed",
        "a chart of no width in a closed tab": "test_a_chart_in_something_folded_has_its_size_when_it_unfolds",
        "a chart that needs to fetch on file:": "test_from_a_file_the_charts_stay_still",
    },
    "browser/test_policy.py": {
        "instant navigation that is off": "test_navigation_is_instant_only_at_the_address_that_was_built_for",
        "Vega under a policy without eval": "test_every_page_works_under_it",
    },
    "publish/test_no_network.py": {
        "something fetched at build": "test_a_site_builds_without_a_network",
    },
}
"""By file: the trap, and the test that fails where it springs."""

NUMBER = "{{ decode.seconds_per_token }}"
THIS = f"355{formatting.SPACE}ms"


def convert(source: str, site: Site, *others: str, **configs: dict[str, Any]) -> str:
    extension = SplicedExtension(page="page.md")
    extension.site = site
    beside = ["attr_list", "md_in_html", "tables", "toc", "pymdownx.superfences"]
    return markdown.markdown(source, extensions=[extension, *beside, *others], extension_configs=configs)


def make(folder: Path, page: str, *cells: str) -> Project:
    """A project with one page, and a notebook if it has cells."""
    project = Project.make(folder)
    project.write("docs/index.md", page)
    if cells:
        project.write("docs/notes/note.ipynb", notebook([("code", cell) for cell in cells]))
    else:
        (project.folder / "docs/notes/note.ipynb").unlink()
        edit(project, "mkdocs.yml", "  - notes/note.ipynb\n", "")
    return project


def edit(project: Project, name: str, old: str, new: str) -> None:
    """Change a file of the copy: how a defence is taken out."""
    path = project.folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text, f"what this trap's defence was is no longer in {name}: say here where it is now"
    path.write_text(text.replace(old, new), encoding="utf-8")


# --- hooks and strict builds ------------------------------------------------------------------------


def test_what_must_not_ship_stops_a_quiet_build_that_is_not_strict(tmp_path: Path) -> None:
    """A warning from a logger of one's own does not fail a build, and a quiet build counts no warnings at all."""
    project = make(tmp_path / "project", "Quick. {{ claim decode.seconds_per_token < 0.001 }}\n")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]

    def build() -> int:
        return subprocess.run(command, cwd=project.folder, capture_output=True, check=False).returncode

    assert build() != 0
    edit(
        project, "hooks/host.py", 'raise PluginError(f"{count}', 'logging.getLogger("ours").warning(f"{count}'
    )
    edit(project, "hooks/host.py", "import os\n", "import logging\nimport os\n")
    assert build() == 0


def test_checks_do_not_live_in_fences(site: Site) -> None:
    """What a fence of pymdownx raises is swallowed: the page shows raw text, and nobody hears of it."""

    def fence(*_: Any, **__: Any) -> str:
        raise ValueError("a check that fails")

    config = {"custom_fences": [{"name": "x", "class": "x", "format": fence}]}
    html = markdown.markdown(
        "```x\ny\n```",
        extensions=["pymdownx.superfences"],
        extension_configs={"pymdownx.superfences": config},
    )
    assert "y" in html, "so it is with a fence"
    with pytest.raises(PublishErrors):
        convert("Text {{ nothing.here }}\n\n```text\ncode\n```", site)
    assert not re.search(r"custom_fences|!!python", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert not [path for path in (ROOT / "hooks").rglob("*.py") if "superfences" in path.read_text("utf-8")]


def test_a_build_uses_the_hooks_beside_its_configuration(tmp_path: Path) -> None:
    """MkDocs takes a hook's folder off the path after loading it; another copy would be imported, or none."""
    project = make(tmp_path / "project", NUMBER)
    edit(project, "hooks/numbers/formatting.py", 'Unit("s", "s", (', 'Unit("beat", "beats", (')
    command = [sys.executable, "-m", "mkdocs", "build", "-f", str(project.folder / "mkdocs.yml")]

    def beats() -> bool:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        return done.returncode == 0 and "mbeat" in project.read("index.html")

    assert beats()
    edit(project, "hooks/site.py", "    sys.path.insert(0, str(ROOT))", "    pass")
    assert not beats()


class Watching:
    """Stands for the server of `mkdocs serve`."""

    def __init__(self) -> None:
        self.folders: set[Path] = set()

    def watch(self, path: str, *_: Any, **__: Any) -> None:
        self.folders.add(Path(path))


def test_a_server_watches_data_and_hooks() -> None:
    """MkDocs itself watches pages and its configuration, not what the numbers come from."""
    from types import SimpleNamespace

    from hooks import site as adapter

    server = Watching()
    adapter.on_serve(server, config=SimpleNamespace(config_file_path=str(ROOT / "mkdocs.yml")), builder=None)
    assert {ROOT / "site_data", ROOT / "hooks", ROOT / "hooks/charts"} <= server.folders


def stamps(project: Project, *folders: str) -> dict[str, int]:
    return {
        str(path.relative_to(project.folder)): path.stat().st_mtime_ns
        for folder in folders
        for path in sorted((project.folder / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


WRITER = """
from pathlib import Path

def on_pre_build(config):
    Path(config["docs_dir"], "generated.md").write_text("# Generated", encoding="utf-8")
"""


def test_a_build_writes_nothing_that_a_server_watches(tmp_path: Path) -> None:
    """A file generated into docs/ sets off the next build, and so on for ever."""
    project = make(tmp_path / "project", f"{NUMBER}\n\n{{{{ chart time-per-token }}}}\n", "1 + 1")
    watched = ("docs", "hooks", "site_data")
    before = stamps(project, *watched)
    assert project.build().code == 0, project.output
    assert stamps(project, *watched) == before
    project.write("writer.py", WRITER)
    edit(project, "mkdocs.yml", "hooks:\n", "hooks:\n  - writer.py\n")
    project.build()
    assert stamps(project, *watched) != before


def test_numbers_are_put_into_text_and_not_into_source(site: Site, tmp_path: Path) -> None:
    """Replacing in a page's source rewrites its code examples, and never sees what a snippet brings in."""
    (tmp_path / "part.md").write_text(f"Brought in: {NUMBER}\n", encoding="utf-8")
    source = f'Code `{NUMBER}`\n\n```text\n{NUMBER}\n```\n\n--8<-- "part.md"\n'
    config = {"base_path": [str(tmp_path)], "check_paths": True}
    html = convert(source, site, "pymdownx.snippets", **{"pymdownx.snippets": config})
    assert html.count(NUMBER) == 2, "both pieces of code as they were written"
    assert f">{THIS}</span>" in html.partition("Brought in: ")[2]
    naive = plain_text(source, site, PageState("page.md"), resolve.Place("page.md"))
    assert NUMBER not in naive and "Brought in" not in naive


def test_a_number_changes_no_anchor(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of contents makes anchors of headings: links would break with each new measurement."""
    source = f"## It takes {NUMBER}\n"
    with pytest.raises(PublishErrors, match="a heading with a number needs an anchor of its own"):
        convert(source, site)
    assert '<h2 id="time">' in convert(f"## It takes {NUMBER} {{#time}}\n", site)
    monkeypatch.setattr(resolve, "_HEADINGS", set())
    assert 'id="it-takes-355' in convert(source, site)


def test_attributes_hold_plain_text(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTML in an alt text or a title breaks the attribute, and with it the page."""
    source = f'![A bar of {NUMBER}](a.png "{NUMBER}")\n\n<b title="{NUMBER}">b</b>\n'

    def check() -> None:
        html = convert(source, site)
        assert f'alt="A bar of {THIS}"' in html and html.count(f'title="{THIS}"') == 2
        assert "<span" not in html

    check()
    monkeypatch.setattr(resolve.Resolver, "_plain", lambda *_: '<span class="quantity">355</span>')
    with pytest.raises(AssertionError):
        check()


@pytest.mark.parametrize(
    "source", ["It is $t = {{ weights.bytes }}$ here.", "$$\nt = {{ weights.bytes }}\n$$"]
)
def test_a_number_in_a_formula_is_plain_or_an_error(source: str, site: Site) -> None:
    """Between dollar signs nothing is HTML: a popover there would be printed as it is written."""
    try:
        html = convert(source, site, "pymdownx.arithmatex", **{"pymdownx.arithmatex": {"generic": True}})
    except PublishErrors as error:
        assert "mend: " in str(error)
        return
    assert "quantity" not in html and "klzzwxh" not in html
    assert "6.17" in html


def replacements(source: str) -> list[str]:
    """Calls of sub() that take a text as the template: neither one that is written there nor a function."""
    tree = ast.parse(source)
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    found = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("sub", "subn")
        ):
            position = 1 if ast.unparse(node.func.value) == "re" else 0
            template = node.args[position]
            if isinstance(template, ast.Name) and template.id in functions:
                continue
            if not isinstance(template, (ast.Constant, ast.Lambda)):
                found.append(ast.unparse(node))
    return found


def test_no_data_are_a_template_of_a_regular_expression() -> None:
    """A backslash in data, taken for a group's number, ends the build or changes the text."""
    with pytest.raises(re.error):
        re.sub("x", "GPU \\1", "x")
    assert replacements("re.sub('x', f'GPU {name}', text)") and replacements("re.sub('x', name, text)")
    assert not replacements("def name(m): ...\nP.sub(name, text)\nP.sub(lambda m: name, text)")
    for path in (ROOT / "hooks").rglob("*.py"):
        calls = [call for call in replacements(path.read_text(encoding="utf-8")) if "rf'" not in call]
        assert calls == [], path


# --- instant navigation, charts, other hosts --------------------------------------------------------


def content(page: str) -> str:
    """What instant navigation puts into the page."""
    return page[page.index("<article") : page.index("</article>")]


@pytest.fixture(scope="module")
def every_chart(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A page with every chart, and a notebook, built."""
    page = f"# Charts\n\nDecode takes {NUMBER}.\n\n" + "\n\n".join(
        f"{{{{ chart {name} }}}}" for name in charts.CHARTS
    )
    project = make(
        tmp_path_factory.mktemp("charts") / "project",
        page,
        "from hooks.notebook import chart\nchart('samples')",
    )
    assert project.build().code == 0, project.output
    return project


def test_content_holds_no_script_and_no_picture_that_refers(every_chart: Project) -> None:
    """After a click, JSON in a script runs as JavaScript, and an SVG's `use` stops all later navigation."""
    for name in ("index.html", "notes/note.html"):
        page = content(every_chart.read(name))
        assert not re.search(r"<script|<use\b|xlink:href", page), name
    assert "<script" in every_chart.read("index.html"), "the theme's own are outside"


def test_ids_of_clips_are_the_chart_s_own(every_chart: Project) -> None:
    """vl-convert gives every chart the same ids, and a reference takes the first of the page."""
    ids = re.findall(r'\sid="([^"]+)"', every_chart.read("index.html"))
    assert len(ids) == len(set(ids))
    spec = {
        "data": {"values": [{"a": 1}]},
        "mark": {"type": "point", "clip": True},
        "encoding": {"x": {"field": "a"}},
    }
    paint = "import sys; from hooks.pictures.painting import paint; print(paint(sys.argv[1]))"
    raw = [
        subprocess.run(
            [sys.executable, "-c", paint, json.dumps({**spec, "title": title})],
            cwd=ROOT,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for title in "ab"
    ]
    first, second = (set(re.findall(r'\sid="([^"]+)"', json.loads(text)["svg"])) for text in raw)
    assert first & second, "so it is without a prefix, one by one"


ASKING = re.compile(
    r"""(?:src|href|action|poster|data)=["'](?:https?:)?//|url\(["']?(?:https?:)?//|@import\s+["'](?:https?:)?//"""
)


def foreign(project: Project) -> list[str]:
    """What pages and style sheets load from another host; links that a reader may follow are none of that."""
    found = []
    for name, text in project.files().items():
        if name.endswith((".html", ".css", ".svg")):
            source = re.sub(rb"<a\s[^>]*>|<link rel=\"canonical\"[^>]*>", b"", text).decode()
            found += [f"{name}: {match[0]}" for match in ASKING.finditer(source)]
    return found


def test_nothing_is_loaded_from_another_host(every_chart: Project, tmp_path: Path) -> None:
    """Fonts of the theme, Altair's own HTML and mkdocs-jupyter's template all load from a CDN if one lets them."""
    assert foreign(every_chart) == []
    project = make(tmp_path / "project", "# Home\n")
    edit(project, "mkdocs.yml", "  font: false\n", "")
    assert project.build().code == 0, project.output
    assert foreign(project)


def test_search_does_not_read_the_tables_of_pictures(every_chart: Project, tmp_path: Path) -> None:
    """The search index takes the text of a figure as words of the page: numbers in rows, without their row."""

    def found(project: Project) -> str:
        texts = [item["text"] for item in json.loads(project.read("search/search_index.json"))["docs"]]
        return " ".join(texts)

    assert "prediction interval over processes)" not in found(every_chart)
    assert "Download as CSV" not in found(every_chart)
    project = make(tmp_path / "project", f"Decode takes {NUMBER}.\n\n{{{{ chart time-per-token }}}}\n")
    for name in ("hooks/pictures/figures.py", "hooks/pictures/svg.py"):
        edit(project, name, " data-search-exclude", "")
    assert project.build().code == 0, project.output
    assert "Download as CSV" in found(project)


def test_a_policy_without_eval_is_documented() -> None:
    """Vega compiles its expressions to functions unless it is told to interpret them."""
    test_policy.test_it_allows_no_other_host_and_no_text_as_code()
    script = (ROOT / "docs/assets/charts.js").read_text(encoding="utf-8")
    assert re.search(r"\bast: true\b", script) and "expressionInterpreter" in script


# --- notebooks --------------------------------------------------------------------------------------


def test_a_cell_that_raises_stops_the_build(tmp_path: Path) -> None:
    """mkdocs-jupyter publishes the traceback unless told otherwise, and a strict build passes."""
    project = make(tmp_path / "project", "# Home\n", "raise ValueError('no')")
    assert project.build().code != 0
    edit(project, "hooks/jupyter/nursery.py", "allow_errors=False", "allow_errors=True")
    assert project.build().code == 0
    assert "ValueError" in project.read("notes/note.html")


def test_a_notebook_follows_the_data(tmp_path: Path) -> None:
    """A cache that knows only the notebook's text keeps the old number after the data changed."""
    cell = "from hooks.notebook import quantity\nprint(quantity('decode.seconds_per_token'))"
    project = make(tmp_path / "project", "# Home\n", cell)

    def printed() -> str:
        assert project.build().code == 0, project.output
        (output,) = re.findall(
            r'<div class="cell-output">(.*?)</div>', project.read("notes/note.html"), re.DOTALL
        )
        return str(output)

    assert THIS in printed()
    fixture_data.write_run(project.folder / "site_data", records=fixture_data.samples(lambda *_: 0.7))
    source = (project.folder / "hooks/caching/reads.py").read_text(encoding="utf-8")
    hold = re.compile(r'(def hold\(.*?\) -> bool:\n(?:    """.*?"""\n)?)', re.DOTALL)
    blind, count = hold.subn(lambda match: f"{match[1]}    return True\n", source)
    assert count == 1
    project.write("hooks/caching/reads.py", blind)
    assert THIS in printed()
    project.write("hooks/caching/reads.py", source)
    assert f"700{formatting.SPACE}ms" in printed()


TELLTALE = "from pathlib import Path\nPath({!r}).write_text('ran')"


def test_only_notebooks_that_become_pages_run(tmp_path: Path) -> None:
    """A Python file in docs/ becomes a page by default, and whatever is found may be executed."""
    ran = {name: str(tmp_path / name) for name in ("page", "module", "outside", "excluded")}
    project = make(tmp_path / "project", "# Home\n", TELLTALE.format(ran["page"]))
    project.write("docs/tool.py", TELLTALE.format(ran["module"]))
    project.write("other.ipynb", notebook([("code", TELLTALE.format(ran["outside"]))]))
    project.write("docs/drafts/draft.ipynb", notebook([("code", TELLTALE.format(ran["excluded"]))]))
    edit(project, "mkdocs.yml", "exclude_docs: |\n", "exclude_docs: |\n  /drafts/\n")
    assert project.build().code == 0, project.output
    assert [name for name, path in ran.items() if Path(path).exists()] == ["page"]
    pages = {name for name in project.files() if name.endswith(".html")}
    assert pages == {"404.html", "index.html", "notes/note.html"}
    assert "tool.py" in project.files(), "it can be downloaded"


def test_a_chart_that_needs_a_script_is_not_lost_in_silence(tmp_path: Path) -> None:
    """Altair shows a chart by a script from a CDN; without it nothing is left of the chart, and nobody is told."""
    bare = "import altair as alt\nalt.Chart(alt.InlineData(values=[{'a': 1}])).mark_point().encode(x='a:Q')"
    elsewhere = (
        '<link rel="stylesheet" href="https://a.example/b.css"><iframe src="https://a.example/"></iframe>'
    )
    frame = f"from IPython.display import HTML\nHTML({elsewhere + 'Kept.'!r})"
    project = make(tmp_path / "project", "# Home\n", "1 + 1", bare, frame)
    assert project.build().code != 0
    assert "docs/notes/note.ipynb, cell 2: an output of this cell needs a script" in project.output
    edit(project, "hooks/jupyter/notebook_pages.py", 'soup.find("script")', 'soup.find("no-such")')
    assert project.build().code == 0, project.output
    (_, lost, framed) = re.findall(
        r'<div class="cell-output">(.*?)</div>', project.read("notes/note.html"), re.DOTALL
    )
    assert "<svg" not in lost, "an empty element, for a script that the site's policy lets nobody run"
    assert framed.strip() == "Kept.", "and what would load something from elsewhere is not there"


# --- citing -----------------------------------------------------------------------------------------


def citing(page: str) -> list[str]:
    """Tags by which a page speaks to Zotero in a way that gives a wrong kind of entry."""
    wrong = re.findall(r'name="DC\.[^"]+"|property="dcterms[^"]*"|class="Z3988"', page)
    if "citation_title" in page and "citation_technical_report_institution" not in page:
        wrong.append("citation_title alone, which is taken for a journal article")
    return wrong


def test_pages_tell_zotero_nothing_wrong(every_chart: Project) -> None:
    """Dublin Core beside Highwire tags gives wrong types, COinS comes before both, a bare title means an article."""
    assert citing(every_chart.read("index.html")) == []
    assert citing('<meta name="DC.title" content="x"><meta name="citation_title" content="x">')


# --- numbers ----------------------------------------------------------------------------------------


def test_a_tiny_effect_is_a_bound_and_no_negative_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference within the noise, printed as it came out, is a negative amount of memory."""
    shown = lambda: formatting.number(-1e5, "bytes", half=3e5)  # noqa: E731
    assert shown() == f"under 400{formatting.SPACE}kB"
    monkeypatch.setattr(formatting, "is_below_resolution", lambda value, half: False)
    assert shown().startswith(formatting.MINUS)


def test_a_source_that_is_cited_twice_is_listed_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of references that are gathered use by use name a source as often as it is used."""
    source = (
        "{{ cite qwen2.5-speed-benchmark.transformers }} and {{ cite qwen2.5-speed-benchmark.vllm }}, "
        "{{ cite qwen2.5-speed-benchmark.transformers }} [@qwen2.5-speed-benchmark].\n"
    )

    def listed() -> int:
        return convert(source, site).count('id="ref-qwen2.5-speed-benchmark"')

    assert listed() == 1
    real = cited_works.listed

    def naive(page: PageState, *rest: Any) -> Element:
        made = Element("ul")
        for use in page.numbers:
            if use.reading.kind == "cited":
                made.extend(list(real(page, *rest)))
        return made

    monkeypatch.setattr(cited_works, "listed", naive)
    assert listed() == 3


@pytest.mark.parametrize(
    "text", ["@pytest.fixture", "`@pytest.mark.slow`", "```python\n@dataclass\nclass A: ...\n```"]
)
def test_a_decorator_is_no_citation(text: str, site: Site) -> None:
    """Where an @ begins a citation, code that has one loses it or fails the build."""
    plain = markdown.markdown(
        text, extensions=["attr_list", "md_in_html", "tables", "toc", "pymdownx.superfences"]
    )
    assert convert(text, site) == plain and "@" in plain


def test_the_page_the_table_and_the_csv_have_one_value(every_chart: Project) -> None:
    """Where only one of them is made anew, they disagree."""
    page = every_chart.read("index.html")
    rows = list(csv.DictReader(io.StringIO(every_chart.read("data/charts/time-per-token.csv"))))
    (row,) = (row for row in rows if row["experiment"] == "decode" and row["tokens"] == "500")
    published = json.loads(every_chart.read("published.json"))["pages"]["index.md"]["quantities"]
    (number,) = (item for item in published if item["id"] == "decode.seconds_per_token")
    assert float(row["value_s"]) == number["value"] == pytest.approx(0.355)
    assert Page(page).numbers["decode.seconds_per_token"] == number["text"] == THIS
    assert f"<td>{THIS}</td>" in page


HOSTILE = "<script>alert(1)</script> GPU"


def test_a_machine_s_name_is_text_on_every_page(tmp_path: Path) -> None:
    """A driver may call a GPU what it likes; put into a page unescaped, its name is code."""
    project = make(
        tmp_path / "project",
        f"Decode takes {NUMBER}.\n\n{{{{ chart time-per-token }}}}\n\n{{{{ measured-in }}}}\n",
        "from hooks.notebook import run\nrun()",
    )
    machine = {**fixture_data.run_record("x", 0)["machine"], "label": HOSTILE}
    fixture_data.write_run(project.folder / "site_data", machine=machine)

    def check() -> None:
        assert project.build().code == 0, project.output
        for name in ("index.html", "notes/note.html"):
            page = project.read(name)
            assert "&lt;script&gt;alert(1)&lt;/script&gt; GPU" in page
            assert "<script>alert" not in page

    check()
    edit(project, "hooks/markup.py", "html.escape(text)", "text")
    with pytest.raises(AssertionError):
        check()


TITLE = "{{ model qwen2.5-1.5b.title }}"
ENDS_ALL = "</title></script><script>alert(1)</script> \"'> & <b>GPU</b> &lt;i&gt;"
"""A model's name that ends whatever it stands in."""


def test_data_in_titles_are_text_in_heads_menus_search_and_feeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The theme prints titles as HTML, and undoes the escapes of one that it takes from a heading."""
    monkeypatch.setenv("SITE_URL", "https://example.org/")  # link previews are about an address
    head = f'---\ntitle: "Of {TITLE}"\ndescription: "On {TITLE}"\n---\n\n'
    project = make(tmp_path / "project", f"{head}# Of {TITLE} {{#of}}\n\nText {TITLE}.\n", "1 + 1")
    project.write("docs/notes/note.ipynb", notebook([("markdown", f"# About {TITLE} {{#about}}")]))
    model = project.folder / "site_data/models/qwen2.5-1.5b.json"
    model.write_text(json.dumps({**json.loads(model.read_text("utf-8")), "title": ENDS_ALL}), "utf-8")

    def check() -> None:
        assert project.build().code == 0, project.output
        home, note, lost = (
            BeautifulSoup(project.read(name), "html.parser")
            for name in ("index.html", "notes/note.html", "404.html")
        )
        assert home.title and home.title.string == f"Of {ENDS_ALL} - Spliced Inference"
        assert note.title and note.title.string == f"About {ENDS_ALL} - Spliced Inference"
        for name, text in (("description", f"On {ENDS_ALL}"), ("citation_title", f"Of {ENDS_ALL}")):
            assert [tag["content"] for tag in home.select(f'head > meta[name="{name}"]')] == [text]
        for name, text in (("title", f"Of {ENDS_ALL}"), ("description", f"On {ENDS_ALL}")):
            assert [tag["content"] for tag in home.select(f'head > meta[property="og:{name}"]')] == [text]
        assert f"About {ENDS_ALL}" in [item.get_text(strip=True) for item in lost.select(".lost-pages a")]
        for page in (home, note, lost):
            assert not page.select("b") and not page.select("i")
            assert not [script for script in page.select("script") if "alert" in script.decode_contents()]
        for entry in json.loads(project.read("search/search_index.json"))["docs"]:
            for html in (entry["title"], entry["text"]):
                assert {tag.name for tag in BeautifulSoup(html, "html.parser").find_all()} <= {"p"}
        (item,) = json.loads(project.read("feeds/notes.json"))["items"]
        assert item["title"] == f"About {ENDS_ALL}"
        assert f"\ntitle: {json.dumps(f'Of {ENDS_ALL}')}\ndescription: " in project.read("index.md")

    check()
    edit(project, "docs/.overrides/main.html", "<title>{{ own }} - ", "<title>{{ own | striptags }} - ")
    with pytest.raises(AssertionError):
        check()


def test_scripts_put_texts_on_pages_as_text() -> None:
    """What a script reads from a file or an address would run as HTML."""
    as_html = re.compile(
        r"\b(?:inner|outer)HTML\b|insertAdjacentHTML|document\.write|srcdoc|\beval\(|\bFunction\("
    )
    assert as_html.search("made.innerHTML = text;") and not as_html.search("made.textContent = text;")
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted((ROOT / "docs/assets").glob("*.js"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if as_html.search(line)
    ]
    assert found == ["machines.js: template.innerHTML = html;"], "pieces of pages, as the build wrote them"


def test_braces_that_nobody_resolved_stop_the_page(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A typing mistake in a placeholder is published as it stands where nobody looks at the result."""
    source = f"<div>\n{NUMBER}\n</div>\n"
    with pytest.raises(PublishErrors, match="add markdown=1"):
        convert(source, site)
    monkeypatch.setattr(leftovers, "find", lambda html: iter(()))
    assert NUMBER in convert(source, site)


# --- elsewhere ----------------------------------------------------------------------------------------


def test_the_tests_that_hold_off_the_others_are_there() -> None:
    for file, held in HELD_ELSEWHERE.items():
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        for trap, test in held.items():
            name, _, case = test.partition("[")
            assert re.search(rf"^def {name}\b", source, re.MULTILINE), f"{file} has no {name} ({trap})"
            if case:
                assert case.rstrip("]") in CASES, f"no case {case} ({trap})"
