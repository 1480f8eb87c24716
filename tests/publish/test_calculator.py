"""The calculator's arithmetic against that of the measuring program, and the machines that it offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.errors import PublishError
from hooks.numbers.book import Book
from hooks.widgets import calculator, calculator_words, footprint
from hooks.widgets.footprint import LIMITS, Setting
from measure import work
from measure.plan import Cell
from measure.sizes import Sizes


@pytest.mark.parametrize("model", ["smollm2-135m", "qwen2.5-1.5b", "llama-2-70b"])
@pytest.mark.parametrize(("context", "batch"), [(1, 1), (500, 8), (4096, 1024)])
def test_a_decode_step_is_that_of_the_measuring_program(
    book: Book, model: str, context: int, batch: int
) -> None:
    of = calculator.models(book)[model]
    cell = Cell("decode", batch, None, context, "bfloat16", "eager")
    expected = work.work_of(Sizes.load(book.store.folder, model), cell, 1, 2)
    found = footprint.footprint(of, Setting(context, batch))
    assert expected is not None
    assert (found.read_bytes, found.flop) == (expected.bytes, expected.flop)


def test_whole_numbers_are_exact_in_a_browser(book: Book) -> None:
    most = Setting(LIMITS["context_tokens"], LIMITS["batch"], 32, 32)
    for of in calculator.models(book).values():
        found = footprint.footprint(of, most)
        elements = most.context_tokens * most.batch * found.cache_elements_per_token
        assert max(elements * most.cache_bits, found.flop, found.parameters * 32) < 2**53
        assert found.kept_bytes == int(found.kept_bytes)


def test_the_least_time_is_of_reading_or_of_arithmetic(book: Book) -> None:
    of = calculator.models(book)["qwen2.5-1.5b"]
    one, many = (footprint.footprint(of, Setting(64, batch)) for batch in (1, 1024))
    assert footprint.least_seconds(one, 1e12, 1e14) == one.read_bytes / 1e12
    assert footprint.least_seconds(many, 1e12, 1e14) == many.flop / 1e14
    assert footprint.least_seconds(many, 1e12, None) == many.read_bytes / 1e12


def test_measured_machines_come_first_and_cards_are_cited(book: Book) -> None:
    found = list(calculator.machines(book))
    kinds = [machine.read.kind for machine in found]
    assert kinds == sorted(kinds, key=["measured", "cited"].index) and {"measured", "cited"} == set(kinds)
    cards = {machine.key: machine.plain() for machine in found}
    assert cards["h200"]["read_text"].replace("\N{NARROW NO-BREAK SPACE}", " ") == "4.8 TB/s"
    assert cards["a100-80gb"]["read_text"].replace("\N{NARROW NO-BREAK SPACE}", " ") == "2.039 TB/s"


def test_what_does_not_fit_says_by_how_much(book: Book) -> None:
    of = calculator.models(book)["llama-2-70b"]
    card = {"h100": next(one.plain() for one in calculator.machines(book) if one.key == "h100")}
    tight = calculator_words.machines(of, Setting(4096, 1), card)["h100"]
    assert not tight.holds and tight.least == "–" and tight.fits.startswith("no, 59.3")
    assert calculator_words.machines(of, Setting(4096, 1, 4), card)["h100"].holds


def test_a_rate_counts_at_its_own_precision(book: Book) -> None:
    of = calculator.models(book)["qwen2.5-1.5b"]
    card = next(one.plain() for one in calculator.machines(book) if one.key == "h200")
    formulas = {
        bits: {line.name: line.formula for line in calculator_words.results(of, Setting(1, 1024, bits), card)}
        for bits in footprint.WEIGHT_BITS
    }
    assert "not known here" in formulas[32]["least"]
    assert all("more than" in formulas[bits]["least"] for bits in (16, 8, 4))


def test_without_any_machine_it_is_refused(
    book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calculator, "machines", lambda _: iter(()))
    with pytest.raises(PublishError, match="no machine to calculate for"):
        calculator.build(book, None, id_="calculator", address=str)  # type: ignore[arg-type]
