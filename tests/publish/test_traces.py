"""What a page asked of the samples is known: it is rendered anew where an answer changed, and only there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hooks.caching import traces
from hooks.charts import CHARTS
from hooks.data import store
from hooks.errors import PublishError
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.writing.tables import TABLES
from tests.publish import fixture_data
from tests.publish.fixture_data import ROOT
from tests.publish.test_rendered import PAGES, Site, same, site_in

MAIN, SMALL, GPU = "fixture-main", "fixture-small", "fixture-gpu"

EVERY = {
    **PAGES,
    **{f"{name}.md": f"{{{{ chart {name} }}}}\n" for name in CHARTS},
    **{f"table-{name}.md": f"{{{{ table {name} }}}}\n" for name in TABLES},
    "of-prefill.md": "{{ chart samples of=prefill.seconds_per_token }}\n\n{{ prefill.seconds_per_token }}\n",
    "energy.md": "{{ when energy.decode_over_prefill }}Measured.{{ otherwise }}Not.{{ end }}\n",
    "ceiling.md": "{{ decode.share_of_read_ceiling as=interval }} {{ ceilings.read_bytes_per_s }}\n",
    "calculator.md": "{{ calculator }}\n",
    "replay.md": '{{ replay "Spliced inference writes one token after another." }}\n',
}
MADE = ("page", "chart", "finished", "explorer")
"""Kinds of results that are made of samples; pictures are made of their specifications."""

Lines = list[dict[str, Any]]


def lines_of(site: Site, run: str) -> tuple[Path, Lines]:
    path = site.data / "runs" / run / "samples.jsonl"
    return path, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, lines: Lines) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "slower": lambda line: line.update(duration_s=(line["duration_s"] or 0.1) * 1.001),
    "much slower": lambda line: line.update(duration_s=(line["duration_s"] or 0.1) * 3),
    "refused": lambda line: line.update(refusal={"kind": "contaminated", "reason": "a fixture disturbed it"}),
    "a lower ceiling": lambda line: line.update(ceiling_bytes_per_s=(line["ceiling_bytes_per_s"] or 1e10) * 0.9),
    "more work": lambda line: line.update(work_bytes=(line["work_bytes"] or 1e9) * 1.1),
    "more energy": lambda line: line.update(energy_joules=line["energy_joules"] and line["energy_joules"] * 2),
}  # fmt: skip


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site with every chart and every table, on three machines, built once."""
    site = site_in(tmp_path_factory.mktemp("traces"), EVERY)
    fixture_data.gpu_run(site.data)
    site.build()
    return site


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    run=st.sampled_from([MAIN, MAIN, SMALL, GPU]),
    chosen=st.integers(0, 10_000),
    change=st.sampled_from(sorted(CHANGES)),
)
def test_whichever_sample_changes_no_page_is_old(every: Site, run: str, chosen: int, change: str) -> None:
    path, lines = lines_of(every, run)
    CHANGES[change](lines[chosen % len(lines)])
    write(path, lines)
    new = every.build()
    for kind in MADE:
        shutil.rmtree(every.folder / "cache" / kind, ignore_errors=True)
    anew = every.build()
    assert anew.rendered == set(EVERY) and same(new, anew)


def test_a_page_whose_numbers_stay_is_put_back(every: Site) -> None:
    path, lines = lines_of(every, MAIN)
    cell = {"experiment": "decode", "context_tokens": 500, "batch": 1, "mode": "eager", "warm_up": True}
    next(line for line in lines if cell.items() <= line.items())["duration_s"] *= 2
    write(path, lines)
    assert every.build().rendered == {"samples.md"}, "a warm-up is in no number, and drawn among the samples"
    assert every.build().rendered == set()


@pytest.mark.parametrize("name", CHARTS)
def test_drawing_asks_for_nothing_that_making_the_chart_did_not(name: str, tmp_path: Path) -> None:
    """What a chart is made of is known before it is drawn."""
    from hooks import charts

    data = fixture_data.site_data(tmp_path / "site_data")
    fixture_data.write_run(data)
    book = Book(store.load_cached(data), quantities.read(ROOT / "docs/quantities.toml"))
    chart = charts.build(name, book, None)
    trace = traces.begin()
    for narrow in (False, True):
        if chart.refusal is None:
            chart.draw(narrow)
    traces.end(trace)
    assert not trace.behind


def test_an_answer_hides_the_samples_behind_it_and_an_error_does_not() -> None:
    remembered, outer = traces.Remembered("site"), traces.begin()

    def make() -> int:
        traces.note("run")
        return 1

    def fail() -> int:
        traces.note("broken")
        raise PublishError("no")

    try:
        assert remembered.get(("read", "a"), lambda: remembered.get(("read", "b"), make)) == 1
        with pytest.raises(PublishError):
            remembered.get(("read", "c"), fail)
    finally:
        traces.end(outer)
    assert outer.runs == {"broken"} and outer.behind == {"run", "broken"}
    assert set(outer.answers) == {("site", ("read", "a"))}
    again = traces.begin()
    remembered.get(("read", "a"), fail)
    traces.end(again)
    assert again.behind == {"run"}, "whoever is given an answer from memory depends on it as well"
