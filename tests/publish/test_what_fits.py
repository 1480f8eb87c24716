"""What fits into which memory: the facts of a run that it rests on, and the table for readers."""

from __future__ import annotations

import pytest

from hooks.numbers.book import Book
from hooks.writing import tables
from hooks.writing.pages import PageState
from tests.publish import fixture_data


@pytest.mark.parametrize(("alias", "memory_bytes"), [("main", 16e9), ("gpu", 80e9)])
def test_memory_is_the_accelerator_s_where_there_is_one(book: Book, alias: str, memory_bytes: float) -> None:
    assert book.read("fits.machine.memory_bytes", alias).value == memory_bytes


def test_a_run_that_does_not_say_its_memory_is_refused(book: Book) -> None:
    found = book.read("fits.machine.memory_bytes", "llama-bench")
    assert found.refusal is not None
    assert found.refusal.kind == "unavailable" and "memory" in found.refusal.reason


def test_tokens_are_what_the_weights_leave_over(book: Book) -> None:
    weights, per_token = 2 * fixture_data.PARAMETERS, fixture_data.KV_BYTES // 2
    assert book.read("fits.machine.qwen_tokens").value == (16e9 - weights) / per_token
    assert book.read("fits.machine.qwen_tokens", "gpu").value == (80e9 - weights) / per_token


def test_the_table_says_where_the_weights_alone_do_not_fit(book: Book) -> None:
    made, readings = tables.build("what-fits", book, PageState("page.md"), None)
    rows = ["".join(row.itertext()) for row in made.iter("tr")]
    assert len(rows) == 6
    refused = {reading.id for reading in readings if reading.refusal}
    assert refused == {f"fits.{where}.llama_tokens" for where in ("machine", "h100", "a100", "rtx4090")}
    assert all(reading.refusal.kind == "did_not_fit" for reading in readings if reading.refusal)
    assert book.read("fits.h100.llama_tokens").value == 0, (
        "the number itself stays a number that claims can use"
    )


def test_the_cache_s_sizes_multiply_to_what_the_table_says(book: Book) -> None:
    made, _ = tables.build("kv-cache-arithmetic", book, PageState("page.md"), None)
    rows = [
        [cell.get("data-quantity") for cell in row.iter() if cell.get("data-quantity")]
        for row in made.iter("tr")
    ]
    assert len(rows) == 1 + len(book.store.models)
    for ids in rows[1:]:
        layers, heads, size, numbers, bytes_ = (book.read(str(id_)).value for id_ in ids)
        assert None not in (layers, heads, size)
        assert 2 * layers * heads * size == numbers  # type: ignore[operator]
        assert bytes_ == 2 * numbers  # type: ignore[operator]
