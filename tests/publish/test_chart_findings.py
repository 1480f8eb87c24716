"""What charts say in words: true whichever way the data turn, and plain about what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hooks import charts
from hooks.errors import PublishError
from tests.publish import fixture_data
from tests.publish.fixture_data import Record
from tests.publish.test_charts import book_of, figure, pictures

Time = Callable[[str, int, int], float]

OUT_OF_MEMORY = {"kind": "did_not_fit", "reason": "out of memory"}


def build(
    folder: Path, name: str, records: list[Record], alias: str | None = None, **options: str
) -> charts.Chart:
    fixture_data.write_run(folder, records=records)
    return charts.build(name, book_of(folder), alias, options)


def refuse(records: list[Record], refusal: dict[str, str] = OUT_OF_MEMORY, **cell: object) -> list[Record]:
    """The records, with those of a cell refused."""
    for record in records:
        if cell.items() <= record.items():
            record |= {"duration_s": None, "energy_joules": None, "refusal": refusal}
    return records


def factor(text: str) -> float:
    found = re.search(r"([\d.]+) times", text)
    assert found, text
    return float(found[1])


@pytest.mark.parametrize("faster", [0.001, 0.026, 0.35, 3.0])
def test_the_ratio_in_the_finding_is_that_of_the_data(empty_data: Path, faster: float) -> None:
    """Whether decode or prefill is slower."""

    def time(experiment: str, tokens: int, process: int) -> float:
        return (0.35 if experiment == "decode" else faster) * (1 + 0.001 * process)

    chart = build(empty_data, "time-per-token", fixture_data.samples(time))
    assert factor(chart.finding) == pytest.approx(0.35 / faster, rel=0.05)
    told = "no more than the spread between processes can explain" in chart.finding
    assert told == (faster == 0.35)


@pytest.mark.parametrize("growth", [0.5, 1.0, 2.0])
def test_decode_by_depth_says_how_it_grows_and_whether_noise_explains_it(
    empty_data: Path, growth: float
) -> None:
    def time(experiment: str, tokens: int, process: int) -> float:
        return (growth if tokens == 1000 else 1.0) * (1 + 0.01 * ((process * 7 + tokens) % 5))

    chart = build(empty_data, "decode-by-depth", fixture_data.samples(time))
    for sentence in re.split(r"(?<=\.) (?=A decode)", chart.finding):
        assert factor(sentence) == pytest.approx(growth, rel=0.06)
        assert ("spread between processes" in sentence) == (growth == 1.0)


def test_with_few_processes_no_ratio_is_called_a_difference(empty_data: Path) -> None:
    records = [record for record in fixture_data.samples() if record["process"] < 2]
    chart = build(empty_data, "time-per-token", records)
    assert "too few processes to tell such a ratio from chance" in chart.finding
    assert chart.note.startswith("No intervals: fewer than 3 processes.")


@pytest.mark.parametrize("packed", [0.5, 1.0, 1.6])
def test_modes_are_compared_whichever_is_faster(empty_data: Path, packed: float) -> None:
    records = fixture_data.samples()
    mode = next(r["mode"] for r in records if r["experiment"] == "decode" and r["mode"] != "eager")
    keys = ("batch", "context_tokens", "process", "repetition", "warm_up")
    eager = {
        tuple(record[key] for key in keys): record["duration_s"]
        for record in records
        if (record["experiment"], record["mode"]) == ("decode", "eager")
    }
    for record in records:
        if record["mode"] == mode:
            record["duration_s"] = packed * eager[tuple(record[key] for key in keys)]
    chart = build(empty_data, "decode-modes", records)
    assert factor(chart.finding) == pytest.approx(1 / packed, rel=0.05)
    assert ("spread between processes" in chart.finding) == (packed == 1.0)
    shares = {
        row["experiment"]: row["share_of_ceiling"] for row in chart.rows if row["context_tokens"] == 500
    }
    assert shares["decode, eager"] / shares[f"decode, {mode}"] == pytest.approx(packed)


def test_a_refused_point_is_named_in_caption_and_table_and_the_others_are_drawn(empty_data: Path) -> None:
    records = refuse(fixture_data.samples(), experiment="decode", context_tokens=1000, mode="eager")
    chart = build(empty_data, "time-per-token", records)
    assert "Not drawn: decode at 1,000 tokens (out of memory)." in chart.note
    assert ("decode", "1,000", "out of memory") in {row[:3] for row in chart.shown}
    assert chart.refusal is None and len(pictures(figure(chart, "a.md"))) == 2


def test_a_refused_series_is_named_point_by_point(empty_data: Path) -> None:
    chart = build(empty_data, "time-per-token", refuse(fixture_data.samples(), experiment="decode"))
    *most, last = (f"{depth:,} tokens" for depth in fixture_data.DEPTHS)
    assert f"Not drawn: decode at {', '.join(most)} and {last} (out of memory)." in chart.note
    assert re.fullmatch(
        r"At 500 tokens a prefilled token takes 26.0\sms\. There is nothing to compare: out of memory\.",
        chart.finding,
    )
    assert chart.refusal is None and len(pictures(figure(chart, "a.md"))) == 2


@pytest.mark.parametrize("name", ["time-per-token", "decode-by-depth", "decode-modes", "roofline", "samples"])
def test_a_chart_without_any_value_shows_the_reason_in_its_place(empty_data: Path, name: str) -> None:
    records = fixture_data.samples()
    for experiment in ("prefill", "decode"):
        refuse(records, experiment=experiment)
    chart = build(empty_data, name, records)
    html = figure(chart, "a.md", explore="x.json")
    assert pictures(html) == [] and "Explore" not in html
    assert '<p class="chart-refused" data-refusal="did_not_fit">Nothing to draw: out of memory</p>' in html
    assert "out of memory" in chart.finding and html.count("<tr>") > 1


def test_energy_without_a_meter_is_refused_with_its_reason(book_folder: Path) -> None:
    chart = charts.build("energy-per-token", book_of(book_folder), None)
    assert chart.refusal and chart.refusal.kind == "unavailable"
    assert fixture_data.UNAVAILABLE["reason"] in figure(chart, "a.md")


def test_a_run_that_is_to_come_has_the_alias_s_words(empty_data: Path) -> None:
    fixture_data.write_run(empty_data)
    book = book_of(empty_data)
    words = book.definitions.aliases["gpu"].none_yet
    for name, kind in charts.CHARTS.items():
        chart = charts.build(name, book, "gpu")
        assert (words in figure(chart, "a.md")) == kind.of_run, name


def test_a_cell_that_the_run_left_out_is_named_with_the_run_s_reason(empty_data: Path) -> None:
    cell = {"experiment": "decode", "context_tokens": 1000, "mode": "eager", "batch": 1}
    records = [record for record in fixture_data.samples() if not cell.items() <= record.items()]
    plan = fixture_data.run_record("x", 0)["plan"]
    left = next(each for each in fixture_data.cells() if cell.items() <= each.items())
    plan["left_out"] = [{"cell": left, "planned": 15, "taken": 0, "reason": "the time was used up"}]
    fixture_data.write_run(empty_data, records=records, plan=plan)
    chart = charts.build("decode-by-depth", book_of(empty_data), None)
    assert re.search(r"Not drawn: decode, eager at 1,000 tokens \(.*the time was used up\)", chart.note)


def test_a_planned_cell_without_samples_is_an_error_not_a_missing_point(empty_data: Path) -> None:
    records = [r for r in fixture_data.samples() if r["prompt_tokens"] != 128]
    with pytest.raises(PublishError, match=r"(?s)prompt of 128 tokens.* has no samples"):
        build(empty_data, "time-per-token", records)


def test_an_imported_run_is_labelled_in_title_and_caption(book_folder: Path) -> None:
    book = book_of(book_folder)
    for name, kind in charts.CHARTS.items():
        chart = charts.build(name, book, "llama-bench")
        html = figure(chart, "a.md")
        assert ("imported from llama-bench" in chart.title) == kind.of_run
        assert ("not measured by this site" in html) == kind.of_run


def test_refused_samples_are_counted_out_loud(empty_data: Path) -> None:
    records = fixture_data.samples()
    noisy = [
        r for r in records if r["experiment"] == "prefill" and r["prompt_tokens"] == 500 and not r["warm_up"]
    ]
    noisy[0]["refusal"] = {"kind": "contaminated", "reason": "others used the CPU"}
    chart = build(empty_data, "time-per-token", records)
    assert "Not counted: 1 refused sample." in chart.note


@pytest.fixture
def book_folder(site_data: Path) -> Path:
    return site_data
