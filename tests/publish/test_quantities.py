"""quantities.toml is read strictly, and numbers come out of samples as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.data import store
from hooks.errors import PublishError
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.numbers.formatting import SPACE
from tests.publish import fixture_data

HEAD = 'version = 1\n[runs.main]\nlabel = "L"\nmodel = "qwen2.5-1.5b"\nplans = ["standard"]\n'
DECODE = """
[quantity."decode.x"]
title = "T"
meaning = "M"
unit = "s"
measured = { experiment = "decode", context_tokens = 500, field = "seconds_per_token" }
"""


def derived(id_: str, formula: str, unit: str = "1") -> str:
    return f'[quantity."{id_}"]\ntitle = "T"\nmeaning = "M"\nunit = "{unit}"\nformula = "{formula}"\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "quantities.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> str:
    with pytest.raises(PublishError) as caught:
        quantities.read(write(folder, text))
    report = str(caught.value)
    assert str(folder / "quantities.toml") in report and "mend: " in report
    return report


BAD = {
    "unknown key": (DECODE.replace("title", "titel"), "unknown key `titel` in decode.x"),
    "unknown top key": ("[quantities]\n", "unknown key `quantities`"),
    "unknown field": (DECODE.replace('"seconds_per_token"', '"second_per_token"'), "nearest known: seconds_per_token"),
    "unknown cell key": (DECODE.replace("context_tokens", "depth"), "unknown key `depth` in measured of decode.x"),
    "wrong unit": (DECODE.replace('"s"', '"bytes"'), 'expected: unit = "s"'),
    "unknown unit": (derived("a.b", "1", "ms"), "`unit` of a.b is unknown"),
    "no meaning": (DECODE.replace('meaning = "M"\n', ""), "decode.x needs `meaning`"),
    "wrong type": (DECODE.replace("context_tokens = 500", 'context_tokens = "500"'), "context_tokens = a whole"),
    "two sources": (DECODE + 'formula = "1"\n', "decode.x needs one source"),
    "no source": (DECODE.replace("measured = { experiment", "note = 'x' # {"), "found: none"),
    "no dot": (DECODE.replace("decode.x", "decode"), "`decode` cannot be an id"),
    "reserved word": (DECODE.replace("decode.x", "decode.low"), "cannot be an id"),
    "foreign word": (DECODE.replace("decode.x", "model.x"), "cannot be an id"),
    "unknown alias": (DECODE + 'run = "mian"\n', "nearest known: main"),
    "unknown weights": ('[runs.r]\nlabel = "R"\nmodel = "m"\nplans = ["p"]\nweights = ["fiel"]\n', "known: file"),
    "not an expression": (derived("a.b", "decode.x +"), "is not an expression"),
    "unknown name": (DECODE + derived("a.b", "decode.y / 2"), "nearest known: decode.x"),
    "cycle": (
        derived("a.one", "a.two") + derived("a.two", "a.three * 2") + derived("a.three", "a.one"),
        "a.one → a.two → a.three → a.one",
    ),
    "self": (derived("a.one", "a.one + 1"), "a.one → a.one"),
    "not TOML": ("[quantity.\n", "this is not TOML"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_definitions(case: str, tmp_path: Path) -> None:
    text, message = BAD[case]
    assert message in refused(tmp_path, text)


def test_the_error_names_the_line_of_the_table(tmp_path: Path) -> None:
    assert "quantities.toml:12: unknown key" in refused(
        tmp_path, DECODE + derived("a.b", "1") + "extra = 1\n"
    )


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PublishError, match="there is no such file"):
        quantities.read(tmp_path / "quantities.toml")


def test_names_that_only_the_data_know_are_checked_before_a_page_uses_them(
    site_data: Path, tmp_path: Path
) -> None:
    for formula, near in (
        ("model.qwen2.5-1.5b.parameter", "model.qwen2.5-1.5b.parameters"),
        ("cite.earlier-notes.decode-over-prefill", "cite.earlier-notes.decode-over-prefill-energy"),
    ):
        with pytest.raises(PublishError) as caught:
            Book(store.load_cached(site_data), quantities.read(write(tmp_path, derived("a.b", formula))))
        assert "quantities.toml:6: " in str(caught.value) and f"nearest known: {near}" in str(caught.value)


def test_measured_numbers(book: Book) -> None:
    reading = book.read("prefill.seconds_per_token")
    assert reading.value == pytest.approx(0.026)
    assert reading.processes == 5 and reading.samples == 15, "warm-ups must not count"
    assert reading.low is not None and reading.low < 0.026 < (reading.high or 0)
    assert reading.runs[0].id == "fixture-main"


def test_the_other_run(book: Book) -> None:
    reading = book.read("decode.seconds_per_token", "real-weights")
    assert reading.value == pytest.approx(0.355 / 20) and reading.runs[0].id == "fixture-small"


def test_ratios_keep_what_processes_share(book: Book) -> None:
    ratio = book.read("time.decode_over_prefill")
    assert ratio.value == pytest.approx(0.355 / 0.026)
    assert ratio.low == pytest.approx(ratio.high), "the fixture's processes are slow and fast as a whole"


def test_a_range_is_over_cells(book: Book) -> None:
    reading = book.read("time.decode_over_prefill.lengths")
    assert reading.value is None and reading.kind == "range"
    assert reading.low == book.read("time.decode_over_prefill.at_64").value
    assert " to " in reading.text()


def test_energy_without_a_meter_is_refused_through_formulas(book: Book) -> None:
    reading = book.read("energy.decode_over_prefill")
    assert reading.refusal is not None and reading.refusal.kind == "unavailable"
    assert reading.text() == "no energy meter on this fixture machine"


def test_energy_with_a_meter(empty_data: Path) -> None:
    fixture_data.write_run(empty_data, records=fixture_data.samples(energy=True))
    book = Book(store.load(empty_data), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))
    assert book.read("prefill.joules_per_token").value == pytest.approx(0.026 * 60)
    assert book.read("energy.decode_over_prefill").value == pytest.approx(0.355 / 0.026)


def test_the_cache_as_measured_and_as_computed(book: Book) -> None:
    for alias in ("main", "real-weights"):
        measured = book.read("kv_cache.bytes_per_token", alias).value
        assert measured == book.read("kv_cache.bytes_per_token.computed", alias).value
    assert book.read("kv_cache.bytes_per_token").text() == f"57,344{SPACE}bytes"


def test_a_cell_without_samples_and_without_a_reason(empty_data: Path) -> None:
    records = [r for r in fixture_data.samples() if (r["experiment"], r["context_tokens"]) != ("decode", 500)]
    run = fixture_data.write_run(empty_data, records=records)
    book = Book(store.load(empty_data), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))
    with pytest.raises(PublishError) as caught:
        book.read("time.decode_over_prefill")
    text = str(caught.value)
    assert text.startswith(f"{run / 'samples.jsonl'}: decode.seconds_per_token has no samples")
    assert "expected: samples of decode, 500 tokens deep" in text and "no refusal" in text


def test_a_cell_whose_samples_are_all_refused(empty_data: Path) -> None:
    refusal = {"kind": "did_not_fit", "reason": "the model did not fit into memory"}
    records = fixture_data.samples()
    for record in records:
        if record["experiment"] == "decode":
            record |= {"duration_s": None, "refusal": refusal}
    fixture_data.write_run(empty_data, records=records)
    book = Book(store.load(empty_data), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))
    assert book.read("decode.tokens_per_second").text() == "the model did not fit into memory"


def test_refused_samples_do_not_count(empty_data: Path) -> None:
    records = fixture_data.samples()
    for record in records:
        if record["repetition"] == 2 and record["duration_s"] is not None:
            record["duration_s"] *= 100
            record["refusal"] = {"kind": "contaminated", "reason": "another process took the machine"}
    fixture_data.write_run(empty_data, records=records)
    book = Book(store.load(empty_data), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))
    reading = book.read("prefill.seconds_per_token")
    assert reading.value == pytest.approx(0.026)
    assert reading.samples == 10 and reading.sources[0].refused == 5


def test_two_processes_give_no_interval_and_two_digits(empty_data: Path) -> None:
    records = [record for record in fixture_data.samples() if record["process"] < 2]
    fixture_data.write_run(empty_data, records=records)
    book = Book(store.load(empty_data), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))
    reading = book.read("decode.seconds_per_token")
    assert reading.interval_text() is None and reading.text() == f"350{SPACE}ms"
    verdict = book.evaluate("decode.seconds_per_token.low > 0")
    assert verdict.result is None and verdict.refusal is not None
    assert (
        verdict.refusal.reason == "Decode, 500 tokens deep: measured in 2 processes, and an interval takes 3"
    )


def test_a_resumed_round_counts_as_one_process(empty_data: Path) -> None:
    records = fixture_data.samples()
    for record in records:
        if record["process"] == 4 and record["experiment"] == "decode":
            record["process"] = 5
    processes = [*fixture_data.run_record("x", 0)["processes"]]
    processes.append({**processes[4], "process": 5})
    fixture_data.write_run(empty_data, records=records, processes=processes)
    book = Book(store.load(empty_data), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))
    assert book.read("time.decode_over_prefill").processes == 5


def test_the_newest_run_counts(empty_data: Path) -> None:
    fixture_data.write_run(empty_data, "a-newer", finished_at="2026-02-01T00:00:00Z")
    fixture_data.write_run(empty_data, "z-older", finished_at="2026-01-01T00:00:00Z")
    book = Book(store.load(empty_data), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))
    assert book.run("main").id == "a-newer"


def test_random_weights_do_not_pass_for_real_ones(site_data: Path, empty_data: Path) -> None:
    """A newer run of the small model with random weights leaves the alias for real weights where it was."""
    fixture_data.small_run(empty_data)
    real = next((empty_data / "runs").iterdir()).name
    record = fixture_data.run_record("newer-random", 0, finished_at="2099-01-01T00:00:00Z")["model"]
    model = record | {"name": "smollm2-135m", "parameters": 134_515_008}
    fixture_data.write_run(empty_data, "newer-random", finished_at="2099-01-01T00:00:00Z", model=model)
    book = Book(store.load(empty_data), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))
    assert book.run("real-weights").id == real
    assert [run.id for run in book.unasked()] == ["newer-random"]


def test_no_run_answers_to_an_alias(empty_data: Path) -> None:
    book = Book(store.load(empty_data), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))
    with pytest.raises(
        PublishError, match=r"(?s)no run answers to the alias `main`.*python -m measure run --model"
    ):
        book.read("decode.seconds_per_token")


def test_a_filter_that_takes_in_two_cells(site_data: Path, tmp_path: Path) -> None:
    path = write(tmp_path, DECODE.replace("context_tokens = 500, ", ""))
    book = Book(store.load_cached(site_data), quantities.read(path))
    with pytest.raises(PublishError, match="takes in 9 cells"):
        book.read("decode.x")


def test_every_quantity_of_the_repository_has_a_value_or_a_reason(book: Book) -> None:
    for id_ in book.definitions.quantities:
        reading = book.read(id_)
        assert reading.text(), id_


def test_an_unknown_id_suggests_the_nearest(book: Book) -> None:
    with pytest.raises(PublishError, match=r"nearest known: decode\.seconds_per_token"):
        book.read("decode.second_per_token")


@pytest.mark.parametrize("model", ["qwen2.5-1.5b", "smollm2-135m", "llama-2-70b"])
def test_model_facts_hang_together(book: Book, model: str) -> None:
    def fact(name: str) -> float:
        value = book.read(f"model.{model}.{name}").value
        assert value is not None
        return value

    tokens = fact("kv_equals_weights_tokens")
    cache, weights = fact("kv_bytes_per_token_16bit"), fact("weights_bytes_16bit")
    assert (tokens - 1) * cache < weights <= tokens * cache
    assert fact("weights_bytes_32bit") == 2 * weights == 4 * fact("parameters")


@pytest.mark.parametrize(
    ("id_", "value"),
    [
        ("model.qwen2.5-1.5b.parameters", 1_543_714_304),
        ("model.smollm2-135m.parameters", 134_515_008),
        ("model.llama-2-70b.parameters", 68_976_648_192),
        ("model.qwen2.5-1.5b.kv_bytes_per_token_16bit", 28_672),
        ("model.llama-2-70b.kv_bytes_per_token_16bit", 327_680),
    ],
)
def test_published_counts_come_out(book: Book, id_: str, value: int) -> None:
    assert book.read(id_).value == value
