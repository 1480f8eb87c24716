"""The chart of the KV cache against the weights, computed from the models' published sizes. Measures nothing."""

from __future__ import annotations

from hooks.charts import words
from hooks.charts.chart import Asked, Chart, Column
from hooks.drawings.drawing import Shares
from hooks.drawings.marks import Line, Mark
from hooks.numbers import formatting
from hooks.numbers.book import Book

TITLE = "KV cache as a share of the weights, by length of the context"


def kv_cache_against_weights(asked: Asked) -> Chart:
    """The cache as a share of the weights, by length of the context, for every model."""
    book = asked.book
    names = sorted(book.store.models, key=lambda name: _fact(book, name, "parameters"))
    longest = max(_fact(book, name, "kv_equals_weights_tokens") for name in names)
    readings = tuple(
        book.read(f"model.{name}.{fact}")
        for name in names
        for fact in ("weights_bytes_16bit", "kv_bytes_per_token_16bit", "kv_equals_weights_tokens")
    )
    equal = [
        f"{book.store.models[name]['title']} at {book.read(f'model.{name}.kv_equals_weights_tokens').text()}"
        for name in names
    ]
    contexts = [2**power for power in range(9, 30) if 2**power < 2 * longest]
    rows = [
        {
            "model": book.store.models[name]["title"],
            "context_tokens": context,
            "kv_cache_bytes": context * int(_fact(book, name, "kv_bytes_per_token_16bit")),
            "weights_bytes": int(_fact(book, name, "weights_bytes_16bit")),
            "within_context": context <= _fact(book, name, "max_positions"),
        }
        for name in names
        for context in contexts
    ]
    shown = [
        (
            row["model"],
            formatting.number(row["context_tokens"], "tokens", style="exact"),
            formatting.number(row["kv_cache_bytes"], "bytes"),
            formatting.number(row["weights_bytes"], "bytes"),
            "yes" if row["within_context"] else "no",
        )
        for row in rows
    ]
    lines = [
        (
            Line(
                book.store.models[name]["title"],
                color % 4,
                tuple(
                    Mark(
                        x=row["context_tokens"],
                        y=row["kv_cache_bytes"] / row["weights_bytes"],
                        about=f"{text[0]}, {text[1]}: cache {text[2]}, weights {text[3]}",
                    )
                    for row, text in zip(rows, shown, strict=True)
                    if row["model"] == book.store.models[name]["title"]
                ),
            ),
            int(_fact(book, name, "max_positions")),
        )
        for color, name in enumerate(names)
    ]
    return Chart(
        name="kv-cache-against-weights",
        title=TITLE,
        finding=f"The KV cache grows with each token. It is as large as the weights of {words.listed(equal)}.",
        note="Computed from published sizes at 16 bits, batch 1. Dashed: longer than the model’s own longest context.",
        columns=(
            Column("model", "Model"),
            Column("context_tokens", "Context"),
            Column("kv_cache_bytes", "KV cache"),
            Column("weights_bytes", "Weights"),
            Column("within_context", "Within the model’s longest context"),
        ),
        rows=tuple(rows),
        shown=tuple(shown),
        readings=readings,
        draw=lambda narrow: Shares(lines, narrow),
    )


def _fact(book: Book, model: str, fact: str) -> float:
    value = book.read(f"model.{model}.{fact}").value
    assert value is not None
    return value
