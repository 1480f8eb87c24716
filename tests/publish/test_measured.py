"""Numbers out of runs of version 2: gates, ceilings and shares, idle and net energy, modes, series, what is absent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hooks.data import store
from hooks.errors import PublishError
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.numbers.formatting import SPACE
from hooks.numbers.readings import Reading
from hooks.writing.provenance import rows
from tests.publish import fixture_data
from tests.publish.fixture_data import (
    BUSY_WATTS,
    COMPILED_OVER_EAGER,
    GEMM_CEILING,
    GPU_SPEED,
    IDLE_WATTS,
    KV_BYTES,
    PARAMETERS,
    READ_CEILING,
)

Edit = Callable[[dict[str, Any]], object]

STEP_BYTES = 4 * PARAMETERS + 500 * KV_BYTES
"""What a decode step of the fixture reads at depth 500: every weight, and the cache."""

CONTAMINATED = {"kind": "contaminated", "reason": "another process took the machine"}


def book_of(folder: Path) -> Book:
    return Book(store.load(folder), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))


def edited(folder: Path, edit: Edit, **changes: Any) -> Book:
    """The book of the main fixture run, each of its samples edited."""
    records = fixture_data.samples(energy=bool(changes.pop("energy", False)))
    for record in records:
        edit(record)
    fixture_data.write_run(folder, records=records, **changes)
    return book_of(folder)


def row(reading: Reading, name: str) -> str:
    return dict(rows(reading))[name]


# --- ceilings and shares ----------------------------------------------------------------------------


def test_ceilings_are_rates_of_their_own_cells(book: Book) -> None:
    assert book.read("ceilings.read_bytes_per_s").value == pytest.approx(READ_CEILING)
    assert book.read("ceilings.flop_per_s").value == pytest.approx(GEMM_CEILING)


def test_a_share_is_taken_of_the_ceiling_beside_each_sample(empty_data: Path) -> None:
    def move(record: dict[str, Any]) -> None:
        if record["experiment"] == "decode" and record["process"] % 2 and record["ceiling_bytes_per_s"]:
            # A machine half as fast for a while: step and ceiling together.
            record["duration_s"] *= 2
            record["ceiling_bytes_per_s"] /= 2

    moved, still = edited(empty_data, move), READ_CEILING
    share = moved.read("decode.share_of_read_ceiling")
    assert share.value == pytest.approx(STEP_BYTES / 0.355 / still)
    assert share.half is not None and share.half < 0.1 * (share.value or 0)
    assert moved.read("decode.seconds_per_token").half > 0.3  # type: ignore[operator]
    assert "measured right before and right after each sample" in row(share, "Ceiling")
    assert share.text().endswith(f"{SPACE}%")


def test_no_share_reaches_above_one(empty_data: Path) -> None:
    def scatter(record: dict[str, Any]) -> None:
        if record["experiment"] == "decode" and record["ceiling_bytes_per_s"]:
            record["ceiling_bytes_per_s"] = (
                record["work_bytes"] / record["duration_s"] * (1 + 0.2 * record["process"])
            )

    share = edited(empty_data, scatter).read("decode.share_of_read_ceiling")
    assert share.value is not None and share.value < 1 and share.half is not None
    assert share.value + share.half > 1 and share.high == 1.0
    assert (share.interval_text() or "").endswith(f"to 100{SPACE}%")


def test_a_share_above_one_is_refused_with_its_reason(empty_data: Path) -> None:
    def lower(record: dict[str, Any]) -> None:
        if record["experiment"] == "decode" and record["ceiling_bytes_per_s"]:
            record["ceiling_bytes_per_s"] = 1e9

    share = edited(empty_data, lower).read("decode.share_of_read_ceiling")
    assert share.refusal is not None and share.refusal.kind == "unresolved"
    assert "above the ceiling" in share.text()


def test_least_time_is_bytes_over_bandwidth(book: Book) -> None:
    least = book.read("decode.least_seconds_per_token").value
    assert least == pytest.approx(STEP_BYTES / READ_CEILING)
    assert book.read("time.decode_over_least").value == pytest.approx(0.355 / least)  # type: ignore[operator]


def test_an_older_run_says_that_it_has_no_ceilings(empty_data: Path) -> None:
    records = [
        record
        for record in fixture_data.samples()
        if record["experiment"] not in ("ceilings", "idle") and record["mode"] == "eager"
    ]
    for record in records:
        for name in ("work_bytes", "work_flop", "ceiling_bytes_per_s", "ceiling_flop_per_s", "gates"):
            del record[name]
    plan = fixture_data.run_record("x", 0)["plan"]
    keys = {(record["experiment"], record["mode"]) for record in records}
    plan["cells"] = [cell for cell in plan["cells"] if (cell["experiment"], cell["mode"]) in keys]
    fixture_data.write_run(empty_data, records=records, schema_version=1, plan=plan)
    book = book_of(empty_data)
    assert book.read("decode.seconds_per_token").text() == f"355{SPACE}ms"
    for id_, reason in (
        ("ceilings.read_bytes_per_s", "older than the measuring of ceilings"),
        ("decode.share_of_read_ceiling", "the work of these samples was not recorded"),
        ("decode.fast.seconds_per_token", "older than the measuring of the mode compiled"),
        ("decode.compiled.seconds_per_token.by_depth", "older than the measuring of the mode compiled"),
        ("idle.watts", "no energy meter"),
    ):
        reading = book.read(id_)
        assert reading.refusal is not None and reason in reading.text(), id_


# --- modes ------------------------------------------------------------------------------------------


def test_the_faster_mode(book: Book) -> None:
    assert book.read("decode.compiled.seconds_per_token").value == pytest.approx(0.355 * COMPILED_OVER_EAGER)
    assert book.read("time.eager_over_fast").value == pytest.approx(1 / COMPILED_OVER_EAGER)
    assert book.read("decode.graph.seconds_per_token").text() == (
        "CUDA graphs need a GPU, and this run is of a CPU"
    )
    on_gpu = book.read("decode.fast.seconds_per_token", "gpu")
    assert on_gpu.sources[0].cell["mode"] == "graph"
    assert on_gpu.value == pytest.approx(0.355 * COMPILED_OVER_EAGER / GPU_SPEED)
    assert (
        "decode steps are compiled on CPUs only"
        in book.read("decode.compiled.seconds_per_token", "gpu").text()
    )


def test_a_batch_is_counted_by_token(book: Book) -> None:
    one, eight = (
        book.read("decode.seconds_per_token").value,
        book.read("decode.seconds_per_token.batch_8").value,
    )
    assert one is not None and eight is not None and eight == pytest.approx(one * 1.35 / 8)
    assert book.read("time.batch_8_over_1").value == pytest.approx(1.35)
    alone = book.read("decode.compiled.seconds_per_token.batch_8")
    assert alone.text() == "compiled steps are made for one sequence at a time"
    assert book.read("decode.fast.seconds_per_token.batch_8").value == pytest.approx(eight)
    assert book.read("decode.fast.seconds_per_token.batch_8", "gpu").sources[0].cell["mode"] == "graph"


# --- energy -----------------------------------------------------------------------------------------


def test_energies_of_a_run_without_a_meter_are_unavailable(book: Book) -> None:
    for id_ in ("decode.joules_per_token", "decode.net_joules_per_token", "decode.second_joules_per_token",
                "energy.net_decode_over_prefill", "idle.watts", "decode.watts", "idle.share_of_decode",
                "decode.joules_per_token.by_depth", "decode.fast.joules_per_token"):  # fmt: skip
        refusal = book.read(id_).refusal
        assert refusal is not None and refusal.kind == "unavailable", id_


def test_net_energy_is_gross_less_idle(book: Book) -> None:
    gross = book.read("decode.joules_per_token", "gpu").value
    net = book.read("decode.net_joules_per_token", "gpu")
    assert gross == pytest.approx(0.355 / GPU_SPEED * BUSY_WATTS)
    idle = IDLE_WATTS["with_context"]
    assert net.value == pytest.approx(0.355 / GPU_SPEED * (BUSY_WATTS - idle))
    assert f"{idle:.1f}{SPACE}W" in row(net, "Subtracted")
    assert "stated error of a window 1.0" in row(net, "Meter") and "5" in row(net, "Meter")
    assert book.read("idle.watts", "gpu").value == pytest.approx(idle)
    assert book.read("idle.share_of_decode", "gpu").value == pytest.approx(idle / BUSY_WATTS)
    second = book.read("decode.second_joules_per_token", "gpu").value
    assert second == pytest.approx(0.98 * gross)  # type: ignore[operator]


def test_idle_power_is_that_of_the_same_process(empty_data: Path) -> None:
    """A process in which everything draws 20 W more has the same net energy; one without idle takes the median."""

    def shift(record: dict[str, Any]) -> None:
        if record["process"] == 3 and record["energy_joules"]:
            record["energy_joules"] += 20 * record["duration_s"]
        if record["process"] == 4 and record["experiment"] == "idle":
            record |= {"energy_joules": None, "energy_refusal": CONTAMINATED}

    book = edited(empty_data, shift, energy=True)
    net = book.read("decode.net_joules_per_token").estimate
    assert net is not None
    expected = [0.355 * (1 + 0.01 * (n - 2)) * 30 for n in range(5)]
    assert list(net.by_run["fixture-main"].values()) == pytest.approx(expected)


def test_net_energy_without_idle_is_refused(empty_data: Path) -> None:
    def refuse(record: dict[str, Any]) -> None:
        if record["experiment"] == "idle":
            record |= {"energy_joules": None, "energy_refusal": CONTAMINATED}

    book = edited(empty_data, refuse, energy=True)
    assert book.read("decode.joules_per_token").refusal is None
    assert book.read("energy.net_decode_over_prefill").text() == CONTAMINATED["reason"]


def test_no_more_energy_than_idle_is_unresolved(empty_data: Path) -> None:
    def draw(record: dict[str, Any]) -> None:
        if record["experiment"] == "idle" and record["energy_joules"]:
            record["energy_joules"] = 61.0 * record["duration_s"]

    refusal = edited(empty_data, draw, energy=True).read("decode.net_joules_per_token").refusal
    assert refusal is not None and refusal.kind == "unresolved"


# --- gates and refusals -----------------------------------------------------------------------------


def contaminate(*processes: int) -> Edit:
    def edit(record: dict[str, Any]) -> None:
        if record["experiment"] == "decode" and record["process"] in processes and not record["warm_up"]:
            record["duration_s"] *= 3
            record["gates"] = {**record["gates"], "company": "failed"}
            record["refusal"] = CONTAMINATED

    return edit


def test_contaminated_samples_do_not_count(empty_data: Path) -> None:
    reading = edited(empty_data, contaminate(3)).read("decode.seconds_per_token")
    assert reading.value == pytest.approx(0.355 * 0.995)
    assert reading.processes == 4 and reading.sources[0].refused == 3
    assert row(reading, "Measured") == "4 processes, 12 samples; 3 refused"


def test_fewer_than_three_good_processes_state_no_interval(empty_data: Path) -> None:
    book = edited(empty_data, contaminate(0, 1, 2))
    reading = book.read("decode.seconds_per_token")
    assert reading.low is None and reading.interval_text() is None
    assert row(reading, "Interval") == "none: fewer than 3 processes have good samples (2 do)"
    assert reading.text() == f"360{SPACE}ms", "two digits"
    assert reading.text(interval=True).endswith("(no interval)")
    ratio = book.read("time.decode_over_prefill")
    assert ratio.low is None and "fewer than 3 processes" in row(ratio, "Interval")


def test_a_cell_without_a_good_sample_has_the_reason_of_most(empty_data: Path) -> None:
    def refuse(record: dict[str, Any]) -> None:
        contaminate(0, 1, 2, 3, 4)(record)
        if record["refusal"] and record["process"] == 0:
            record["refusal"] = {"kind": "contaminated", "reason": "the clocks disagree"}

    reading = edited(empty_data, refuse).read("decode.tokens_per_second")
    assert reading.text() == CONTAMINATED["reason"]


def test_a_failed_gate_without_a_refusal_is_refused_at_the_edge(empty_data: Path) -> None:
    def fail(record: dict[str, Any]) -> None:
        if record["experiment"] == "prefill":
            record |= {
                "gates": {**record["gates"], "clock": "failed"},
                "energy_refusal": None,
                "energy_joules": 1.0,
            }

    with pytest.raises(PublishError, match="the gate clock failed without a refusal"):
        edited(empty_data, fail)


def test_a_cell_that_was_left_out_says_why(empty_data: Path) -> None:
    left_out = {"experiment": "decode", "batch": 1, "prompt_tokens": None, "context_tokens": 1000}
    left_out |= {"dtype": "float32", "mode": "eager"}
    records = [r for r in fixture_data.samples() if any(r[key] != value for key, value in left_out.items())]
    plan = fixture_data.run_record("x", 0)["plan"]
    plan["left_out"] = [
        {"cell": left_out, "planned": 15, "taken": 0, "reason": "the budget of 60 s was used up"}
    ]
    fixture_data.write_run(empty_data, records=records, plan=plan)
    book = book_of(empty_data)
    expected = "left out of this run: the budget of 60 s was used up"
    assert book.read("decode.seconds_per_token.at_1000").text() == expected
    assert book.read("decode.seconds_per_token.by_depth").text() == expected, (
        "a series does not lose a cell silently"
    )
    assert book.read("decode.seconds_per_token").refusal is None


def test_a_cell_that_no_plan_has_fails_with_the_mend(empty_data: Path) -> None:
    plan = fixture_data.run_record("x", 0)["plan"]
    plan["cells"] = [cell for cell in plan["cells"] if cell["batch"] == 1]
    records = [record for record in fixture_data.samples() if record["batch"] == 1]
    fixture_data.write_run(empty_data, records=records, plan=plan)
    with pytest.raises(PublishError) as caught:
        book_of(empty_data).read("time.batch_8_over_1")
    text = str(caught.value)
    assert "the run's plan has no such cell" in text and "mend the cell in docs/quantities.toml" in text


# --- series and bounds ------------------------------------------------------------------------------


def test_a_series_has_a_value_for_each_planned_cell(book: Book) -> None:
    reading = book.read("decode.seconds_per_token.by_depth")
    assert [part.title for part in reading.parts] == [f"{n:,} tokens deep" for n in fixture_data.DEPTHS]
    assert [part.value for part in reading.parts] == pytest.approx(
        [0.35 + n * 1e-5 for n in fixture_data.DEPTHS]
    )
    assert (reading.low, reading.high) == (reading.parts[0].value, reading.parts[-1].value)
    assert reading.kind == "range" and "not an interval" in row(reading, "Range")


def test_a_series_that_lost_a_cell_fails(empty_data: Path) -> None:
    records = [r for r in fixture_data.samples() if (r["experiment"], r["context_tokens"]) != ("decode", 128)]
    fixture_data.write_run(empty_data, records=records)
    with pytest.raises(PublishError, match=r"(?s)by_depth has no samples.*128 tokens deep.*no refusal"):
        book_of(empty_data).read("decode.seconds_per_token.by_depth")


DIFFERENCE = """
[quantity."decode.growth"]
title = "T"
meaning = "M"
unit = "s"
formula = "decode.seconds_per_token.at_1000 - decode.seconds_per_token.at_64"

[quantity."decode.growths"]
title = "T"
meaning = "M"
unit = "s"
range = ["decode.growth", "decode.seconds_per_token"]
"""


def test_a_difference_below_resolution_is_a_bound(empty_data: Path, tmp_path: Path) -> None:
    def flat(record: dict[str, Any]) -> None:
        if record["experiment"] == "decode" and record["batch"] == 1 and record["mode"] == "eager":
            shift = 0.001 * (record["process"] - 2) * (1 if record["context_tokens"] == 1000 else -1)
            record["duration_s"] = 4 * (0.35 - (record["context_tokens"] == 1000) * 1e-4 + shift)

    edited(empty_data, flat)
    path = tmp_path / "quantities.toml"
    path.write_text((fixture_data.ROOT / "docs/quantities.toml").read_text() + DIFFERENCE)
    book = Book(store.load(empty_data), quantities.read(path))
    growth = book.read("decode.growth")
    assert growth.value == pytest.approx(-1e-4) and growth.is_bound
    assert growth.text().startswith("under ") and growth.text().endswith(f"{SPACE}ms")
    assert "cannot exceed" in row(growth, "Bound")
    assert book.read("decode.growths").text().startswith("under ")


# --- aliases ----------------------------------------------------------------------------------------


def test_a_run_that_is_to_come_is_refused_in_words(empty_data: Path) -> None:
    fixture_data.write_run(empty_data)
    book = book_of(empty_data)
    for id_, alias in (
        ("energy.decode_over_prefill", "gpu"),
        ("weights.bytes", "gpu"),
        ("decode.seconds_per_token.by_depth", "gpu"),
        ("time.decode_over_prefill.lengths", "gpu"),
    ):
        refusal = book.read(id_, alias).refusal
        assert refusal is not None and refusal.kind == "unavailable", id_
        assert refusal.reason == "no GPU has been measured for this site yet"
    assert book.read("llama_bench.decode.seconds_per_token").text().startswith("no file of llama-bench")
    with pytest.raises(PublishError, match="no run answers to the alias `gpu` yet"):
        book.run("gpu")


def test_devices_and_imports_do_not_answer_for_others(empty_data: Path) -> None:
    fixture_data.write_run(empty_data)
    fixture_data.imported_run(empty_data, finished_at="2099-01-01T00:00:00Z")
    book = book_of(empty_data)
    assert book.run("main").id == "fixture-main"
    assert book.run("llama-bench").id == "fixture-llama-bench"
    fixture_data.gpu_run(empty_data)
    book = book_of(empty_data)
    assert book.run("gpu").id == "fixture-gpu"
    assert list(book.unasked()) == []


def test_an_imported_number_names_its_file(book: Book) -> None:
    reading = book.read("llama_bench.decode.seconds_per_token")
    assert row(reading, "Origin") == "imported from llama-bench 0c1e570 (1), file fixture.json"
    (part, *_) = reading.parts
    assert part.low is None and row(part, "Interval").startswith("none: fewer than 3 processes")
    assert (
        "which this run was imported from, did not measure it"
        in book.read("idle.watts", "llama-bench").text()
    )


@pytest.mark.parametrize(
    "changes", [{"origin": None}, {"code": {"version": "1", "commit": None, "changed": None}}]
)
def test_a_run_is_either_measured_here_or_imported(changes: dict[str, Any], empty_data: Path) -> None:
    fixture_data.imported_run(empty_data, **changes)
    with pytest.raises(PublishError, match=r"measured this run"):
        store.load(empty_data)
