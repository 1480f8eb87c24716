"""A page that was rendered before is put back only where rendering it would give the same, and then whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import markdown
import pytest

from hooks.build import Build, dump
from hooks.caching.rendered import Recording, restore
from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT, seconds_per_token

PAGES = {
    "measured.md": "Decode takes {{ decode.seconds_per_token }}, {{ decode.seconds_per_token }}.\n",
    "formula.md": "A ratio: {{ time.decode_over_prefill }}. {{ claim time.decode_over_prefill > 1 }}\n",
    "chart.md": "# Chart\n\n{{ chart time-per-token }}\n\n{{ measured-in }}\n",
    "table.md": "{{ when decode.seconds_per_token > 0.3 }}\n\nSlow.\n\n{{ otherwise }}\n\nFast.\n\n{{ end }}\n",
    "small.md": (
        "Small: {{ decode.seconds_per_token run=real-weights }}.\n\n{{ chart time-per-token run=real-weights }}\n"
    ),
    "samples.md": "{{ chart samples }}\n",
    "facts.md": '{{ model qwen2.5-1.5b.parameters }} in all. {{ tokens "Spliced inference" }}\n',
}
OF_MAIN = {"measured.md", "formula.md", "chart.md", "table.md", "samples.md"}
FILES_OF_MAIN = {"data/charts/time-per-token.csv", "data/charts/time-per-token.explore.json"}


@dataclass
class Built:
    """What a build made of the pages, and which of them it rendered."""

    pages: dict[str, str]
    files: dict[str, str]
    published: str
    rendered: set[str]


@dataclass
class Site:
    """Data, definitions and pages in a folder, built as a host builds them."""

    folder: Path
    settings: tuple[Any, ...] = ()
    pages: Mapping[str, str] = field(default_factory=lambda: PAGES)

    @property
    def data(self) -> Path:
        return self.folder / "site_data"

    def build(self, *, kept: bool = True, order: Callable[[Any], Any] = list, good: bool = True) -> Built:
        memory, docs = self.folder / ".build", self.folder / "docs"
        cache = self.folder / "cache" if kept else None
        build = Build.open(
            self.data, docs / "quantities.toml", memory, self.folder / "site", cache, self.settings
        )
        contents, rendered = {}, set()
        try:
            for uri in order(self.pages):
                source = (docs / uri).read_text(encoding="utf-8")
                state = build.begin(uri, uri, source)
                key = build.shelf.key(uri, source, {})
                known = build.shelf.find(key)
                if known is None:
                    recording = Recording(build.site)
                    html = markdown.markdown(source, extensions=["tables", build.extension])
                    made, behind = recording.end(state, {"html": html})
                    build.shelf.put(key, behind, made)
                    rendered.add(uri)
                else:
                    restore(state, known, build.site)
                contents[uri] = html if known is None else known.left["html"]
                build.end()
            assert not build.errors, [str(error) for error in build.errors]
            pages = {uri: build.complete(uri, contents[uri]) for uri in sorted(contents)} | dict(build.last())
            published = dump(build.published())
            build.remember(good=good)
            return Built(pages, build.site.files, published, rendered)
        finally:
            build.close()


def site_in(folder: Path, pages: Mapping[str, str]) -> Site:
    """A site with two runs."""
    data = fixture_data.site_data(folder / "site_data")
    fixture_data.write_run(data)
    fixture_data.small_run(data)
    (folder / "docs").mkdir()
    for name in ("quantities.toml", "glossary.md"):
        shutil.copy(ROOT / "docs" / name, folder / "docs")
    for uri, source in pages.items():
        (folder / "docs" / uri).write_text(source, encoding="utf-8")
    return Site(folder, pages=pages)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_in(tmp_path, PAGES)


def same(one: Built, other: Built) -> bool:
    return (one.pages, one.files, one.published) == (other.pages, other.files, other.published)


def slower(site: Site) -> None:
    time = lambda *cell: seconds_per_token(*cell) * (1.5 if cell[0] == "decode" else 1)  # noqa: E731
    fixture_data.write_run(site.data, records=fixture_data.samples(time))


def test_what_was_rendered_before_is_put_back_whole(site: Site) -> None:
    first = site.build()
    assert first.rendered == set(PAGES)
    again = site.build()
    assert again.rendered == set()
    assert same(again, first) and same(again, site.build(kept=False))
    assert "<svg" in again.pages["chart.md"] and "data-slot" not in again.pages["chart.md"]


@pytest.mark.parametrize("order", [list, lambda pages: list(reversed(list(pages)))])
def test_only_pages_behind_which_samples_changed_are_rendered_anew(
    site: Site, order: Callable[[Any], Any]
) -> None:
    """Whichever page asked for a number first: the others are given it from memory, and depend on it as well."""
    first = site.build(order=order)
    slower(site)
    new = site.build(order=order)
    assert new.rendered == OF_MAIN
    assert same(new, site.build(kept=False, order=order))
    assert all(new.pages[uri] != first.pages[uri] for uri in OF_MAIN - {"table.md"})
    assert all(new.files[path] != first.files[path] for path in FILES_OF_MAIN)
    fixture_data.write_run(site.data)
    assert same(site.build(order=order), first), "and back again"


def test_a_page_that_draws_samples_is_rendered_anew_when_one_of_them_changed(site: Site) -> None:
    """Though no number is another: warm-ups do not count, and are drawn."""
    site.build()
    records = fixture_data.samples()
    cell = {"experiment": "decode", "context_tokens": 500, "mode": "eager", "batch": 1, "warm_up": True}
    next(record for record in records if cell.items() <= record.items())["duration_s"] *= 1.5
    fixture_data.write_run(site.data, records=records)
    new = site.build()
    assert "samples.md" in new.rendered and "measured.md" not in new.rendered
    assert same(new, site.build(kept=False))


def test_samples_that_are_read_past_all_answers_count(site: Site) -> None:
    def opened() -> Build:
        docs, memory, cache = (site.folder / name for name in ("docs", ".build", "cache"))
        return Build.open(site.data, docs / "quantities.toml", memory, site.folder / "site", cache)

    build = opened()
    try:
        state = build.begin("own.md", "own.md", "Text.")
        recording = Recording(build.site)
        assert build.site.book.run("main").samples
        made, behind = recording.end(state, {})
        build.shelf.put("key", behind, made)
        build.shelf.keep()
        assert build.shelf.find("key") is not None
    finally:
        build.close()
    slower(site)
    build = opened()
    try:
        assert build.shelf.find("key") is None
    finally:
        build.close()


CHANGES: dict[str, Callable[[Site], object]] = {
    "a definition": lambda site: edit(site.folder / "docs/quantities.toml", "Decode, 500", "Decoding, 500"),
    "another page": lambda site: (site.folder / "docs/glossary.md").write_text("# Nothing\n"),
    "a model": lambda site: edit(site.data / "models/qwen2.5-1.5b.json", "{", '{ '),
    "the schema": lambda site: edit(site.data / "schema.json", "{", '{ '),
    "a run's record": lambda site: edit(site.data / "runs/fixture-main/run.json", "{", '{ '),
    "another run": lambda site: shutil.rmtree(site.data / "runs/fixture-small"),
    "a setting": lambda site: setattr(site, "settings", ("another",)),
}  # fmt: skip


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("change", CHANGES)
def test_all_are_rendered_anew_when_anything_else_changed(site: Site, change: str) -> None:
    site.build()
    CHANGES[change](site)
    left = [uri for uri in PAGES if uri != "small.md"]  # its run may be gone
    assert site.build(order=lambda pages: left).rendered == set(left)


def test_what_is_saved_while_a_build_runs_is_in_no_kept_page(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Build.published

    def published(build: Build) -> dict[str, Any]:
        (site.folder / "docs/glossary.md").write_text(f"# Saved by {id(build)}\n")
        return original(build)

    monkeypatch.setattr(Build, "published", published)
    site.build()
    monkeypatch.undo()
    assert site.build().rendered == set(PAGES)


def test_pages_of_a_failed_build_are_not_kept(site: Site) -> None:
    site.build(good=False)
    assert site.build().rendered == set(PAGES)
