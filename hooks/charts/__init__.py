"""Charts by name, one function each: what is drawn, and what it shows in words. Turns none into HTML.

A chart states its finding with numbers from the same book as the text, draws the uncertainty, labels its
lines directly, and comes with the table that it draws. `hooks.pictures.figures` puts it on a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hooks.charts import memory, modes, per_token, roofline, samples
from hooks.charts.chart import Asked, Chart, Column, Kind
from hooks.data.records import Refusal
from hooks.errors import PublishError, nearest
from hooks.numbers.book import Book

__all__ = ["CHARTS", "Chart", "Column", "build"]

CHARTS: dict[str, Kind] = {
    "time-per-token": Kind(per_token.time_per_token, per_token.TIME),
    "energy-per-token": Kind(per_token.energy_per_token, per_token.ENERGY),
    "decode-by-depth": Kind(per_token.decode_by_depth, per_token.DEPTH),
    "decode-modes": Kind(modes.decode_modes, modes.TITLE),
    "roofline": Kind(roofline.roofline, roofline.TITLE, options=("datasheet",)),
    "samples": Kind(samples.samples, samples.TITLE, options=("of",)),
    "kv-cache-against-weights": Kind(memory.kv_cache_against_weights, memory.TITLE, of_run=False),
}
"""Every chart that a page can place."""


def build(name: str, book: Book, alias: str | None, options: Mapping[str, str] | None = None) -> Chart:
    """The chart of that name, drawn from the run `alias` (the first one where it is None).

    Raises:
        PublishError: There is no such chart, it takes no such option, or the data lack something that it draws.
    """
    if name not in CHARTS:
        raise PublishError(
            f"there is no chart `{name}`",
            expected=", ".join(CHARTS),
            found=name,
            nearest=nearest(name, CHARTS),
            mend="use a known one, or add a function to hooks/charts/",
        )
    kind, options = CHARTS[name], options or {}
    for option, value in options.items():
        if option not in kind.options:
            raise PublishError(
                f"the chart `{name}` takes no option `{option}`",
                expected=", ".join(f"{known}=…" for known in ("run", *kind.options)),
                found=f"{option}={value}",
                mend="leave it out, or use one of those",
            )
    key = ".".join([name, *filter(None, [alias]), *options.values()])
    alias = alias or book.definitions.main
    found = book.find(alias) if kind.of_run else None
    if isinstance(found, Refusal):
        return _to_come(name, key, kind, found)
    if found is not None and found is book.stand_in:
        key += f".{found.id}"
    return replace(kind.make(Asked(book, alias, options)), key=key)


def _to_come(name: str, key: str, kind: Kind, refusal: Refusal) -> Chart:
    """The chart of a run that is not there yet: its title, and why."""
    finding = f"There is nothing to draw: {refusal.reason}."
    column = Column("reason", "Why there is no data")
    return Chart(
        name=name,
        title=kind.title,
        finding=finding,
        note="",
        columns=(column,),
        rows=({column.key: refusal.reason},),
        shown=((refusal.reason,),),
        readings=(),
        draw=lambda narrow: None,
        refusal=refusal,
        key=key,
    )
