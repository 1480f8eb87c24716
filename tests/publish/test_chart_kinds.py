"""The roofline and the raw samples: their arithmetic, their marks, and what they refuse to draw."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from hooks import charts
from hooks.errors import PublishError
from tests.publish import fixture_data
from tests.publish.test_charts import SVG, book_of, figure, marks, pictures


def test_the_roofline_s_points_are_work_over_work_and_work_over_time(site_data: Path) -> None:
    book = book_of(site_data)
    chart = charts.build("roofline", book, None)
    run = book.run("main")
    for row in chart.rows:
        if row["flop_per_byte"] is None:
            continue
        mode = row["what"].partition(", ")[2] or "eager"
        cell = [
            sample
            for sample in run.samples
            if sample.counts
            and (sample.experiment, sample.mode, sample.batch)
            == (row["what"].partition(",")[0], mode, row["batch"])
            and (sample.prompt_tokens or sample.context_tokens) == row["tokens"]
        ]
        sample = cell[0]
        assert sample.work_flop and sample.work_bytes
        assert row["flop_per_byte"] == pytest.approx(sample.work_flop / sample.work_bytes)
        by_round = {
            number: statistics.median(s.work_flop / s.duration_s for s in cell if s.round == number)  # type: ignore[operator]
            for number in {s.round for s in cell}
        }
        assert row["value_flop_per_s"] == pytest.approx(statistics.median(by_round.values()))
    assert sum(row["flop_per_byte"] is not None for row in chart.rows) == len(
        [cell for cell in fixture_data.cells() if cell["experiment"] in ("prefill", "decode")]
    )


def test_the_bands_hold_the_middle_of_all_measured_ceilings(empty_data: Path) -> None:
    records = fixture_data.samples()
    probed = [record for record in records if record["ceiling_bytes_per_s"]]
    for index, record in enumerate(probed):
        record["ceiling_bytes_per_s"] = fixture_data.READ_CEILING * (1.4 if index % 2 else 1.0)
    probed[0]["ceiling_bytes_per_s"] = 1e18  # one that is no ceiling of this machine
    fixture_data.write_run(empty_data, records=records)
    chart = charts.build("roofline", book_of(empty_data), None)
    row = next(row for row in chart.rows if "read bandwidth" in row["what"])
    assert row["low_bytes_per_s"] == pytest.approx(fixture_data.READ_CEILING, rel=0.03)
    assert row["high_bytes_per_s"] == pytest.approx(1.4 * fixture_data.READ_CEILING, rel=0.03)
    assert "middle 90\N{NARROW NO-BREAK SPACE}%" in chart.note


def test_a_run_without_ceilings_draws_its_points_and_says_so(empty_data: Path) -> None:
    records = [record for record in fixture_data.samples() if record["experiment"] != "ceilings"]
    for record in records:
        record |= {"ceiling_bytes_per_s": None, "ceiling_flop_per_s": None}
    plan = fixture_data.run_record("x", 0)["plan"]
    plan["cells"] = [cell for cell in plan["cells"] if cell["experiment"] != "ceilings"]
    fixture_data.write_run(empty_data, records=records, plan=plan)
    chart = charts.build("roofline", book_of(empty_data), None)
    assert "No ceilings were measured in this run." in chart.note
    assert "no ceiling was measured" in chart.finding
    for picture in pictures(figure(chart, "a.md")):
        assert marks(picture, "points_marks") and not marks(picture, "mark-area")


def test_a_datasheet_is_drawn_only_as_cited(site_data: Path) -> None:
    book = book_of(site_data)
    asked = {"datasheet": "nvidia-memory-bandwidth.h200"}
    plain, cited = (charts.build("roofline", book, "gpu", options) for options in ({}, asked))
    for size in (0, 1):
        texts = [
            {text.text or "" for text in pictures(figure(chart, "a.md"))[size].iter(f"{SVG}text")}
            for chart in (plain, cited)
        ]
        assert not any("cited" in text for text in texts[0])
        assert sum("cited" in text and "4.8" in text for text in texts[1]) == 1
    assert "cited and not measured" in cited.note and "cited" not in plain.note
    assert any(reading.kind == "cited" for reading in cited.readings), "the page lists the source"


@pytest.mark.parametrize("name", ["qwen2.5-speed-benchmark.vllm", "earlier-notes.decode-over-prefill-energy"])
def test_what_is_no_ceiling_is_no_datasheet(site_data: Path, name: str) -> None:
    with pytest.raises(PublishError, match="is no ceiling"):
        charts.build("roofline", book_of(site_data), None, {"datasheet": name})


def test_every_sample_of_the_cell_is_there_with_its_state(empty_data: Path) -> None:
    fixture_data.write_run(empty_data, records=fixture_data.uneven(fixture_data.samples()))
    book = book_of(empty_data)
    chart = charts.build("samples", book, None)
    own = [
        sample
        for sample in book.run("main").samples
        if (sample.experiment, sample.mode, sample.batch, sample.context_tokens)
        == ("decode", "eager", 1, 500)
    ]
    assert len(own) == len(chart.rows) == fixture_data.PROCESSES * (fixture_data.REPETITIONS + 1)
    expected = [
        ("warm-up" if s.warm_up else "refused" if s.refusal else "counted", s.duration_s / s.tokens)  # type: ignore[operator]
        for s in own
    ]
    assert [(row["state"], row["value_s"]) for row in chart.rows] == expected
    refused = [row for row in chart.rows if row["state"] == "refused"]
    assert [row["reason"] for row in refused] == ["other processes used 12 % of the CPU"]
    assert "5 warm-ups and 1 refused" in chart.finding
    for picture in pictures(figure(chart, "a.md")):
        texts = [text.text for text in picture.iter(f"{SVG}text")]
        assert texts.count("warm-up") == texts.count("refused") == 1
        fills = [mark.get("fill") for mark in marks(picture, "points_marks")]
        assert fills.count(None) == 5 and len(set(fills)) == 3, "hollow, filled, and in another colour"


def test_samples_far_out_are_drawn_at_the_edge_and_told(empty_data: Path) -> None:
    fixture_data.write_run(empty_data, records=fixture_data.uneven(fixture_data.samples()))
    chart = charts.build("samples", book_of(empty_data), None)
    assert "5 samples lie outside of the picture" in chart.note, (
        "a warm-up takes three times as long in the fixture"
    )
    highest = max(row["value_s"] for row in chart.rows)
    assert f"up to {highest:.3f}".rstrip("0") in chart.note
    for picture in pictures(figure(chart, "a.md")):
        height = float(picture.get("height", "0"))
        for mark in marks(picture, "points_marks"):
            y = float((mark.get("transform") or "").partition(",")[2].rstrip(")"))
            assert -1 <= y <= height


@pytest.mark.parametrize("id_", ["time.decode_over_prefill", "weights.bytes", "no.such.number"])
def test_only_measured_numbers_have_samples(site_data: Path, id_: str) -> None:
    with pytest.raises(PublishError, match=r"cannot draw|there is no quantity"):
        charts.build("samples", book_of(site_data), None, {"of": id_})
