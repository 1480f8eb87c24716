"""The ceilings of a roofline: what a run measured of each, and what a page cites. Draws none."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hooks.charts import words
from hooks.charts.chart import Asked
from hooks.data.records import Run
from hooks.drawings.marks import Roof
from hooks.errors import PublishError
from hooks.numbers import formatting
from hooks.numbers.readings import Reading


@dataclass(frozen=True)
class Ceiling:
    """All measurements of one ceiling in a run: its ends are those of the middle nine tenths."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """From where to where it moved, in `unit`."""
        if len(self.values) < 20:
            return min(self.values), max(self.values)
        twentieths = statistics.quantiles(self.values, n=20)
        return twentieths[0], twentieths[-1]

    def text(self) -> str:
        """The ends in words."""
        return formatting.span(*self.ends, self.unit, digits=2)


def measured(run: Run) -> Iterable[Ceiling]:
    """What the run measured of each ceiling: in windows of their own, and right beside its samples."""
    kinds = (
        ("read bandwidth", "read", "work_bytes", "ceiling_bytes_per_s", "bytes/s"),
        ("arithmetic", "gemm", "work_flop", "ceiling_flop_per_s", "flop/s"),
    )
    good = [sample for sample in run.samples if sample.counts]
    for name, mode, work, beside, unit in kinds:
        values = [getattr(sample, beside) for sample in good if getattr(sample, beside)]
        values += [
            getattr(sample, work) / sample.duration_s
            for sample in good
            if (sample.experiment, sample.mode) == ("ceilings", mode)
            and getattr(sample, work)
            and sample.duration_s
        ]
        if values:
            yield Ceiling(name, unit, tuple(values))


def cited(asked: Asked) -> Reading | None:
    """The cited ceiling that the page asked for by `datasheet=SOURCE.VALUE`."""
    name = asked.options.get("datasheet")
    if name is None:
        return None
    found = asked.book.read(f"cite.{name}")
    if found.unit not in ("bytes/s", "flop/s") or found.value is None:
        raise PublishError(
            f"`{name}` is no ceiling",
            expected="datasheet=SOURCE.VALUE with one value in bytes/s or flop/s",
            found=f"{found.text()}, in {found.unit}",
            mend="name another cited value, or leave datasheet= out",
        )
    return found


def as_cited(found: Reading) -> str:
    """With a prefix, and as many digits as the source gives."""
    value = found.value or 0.0
    given = len(str(int(value)).rstrip("0")) if value.is_integer() else found.digits
    return found.text("si", given)


def bands(ceilings: Sequence[Ceiling]) -> str:
    """What the bands are, or that there are none."""
    if not ceilings:
        return "No ceilings were measured in this run. "
    counts = [f"{len(ceiling.values):,} measurements of {ceiling.name}" for ceiling in ceilings]
    told = (
        "the middle 90 %"
        if all(len(ceiling.values) >= 20 for ceiling in ceilings)
        else "from the least to the most"
    )
    return f"Bands: how far the ceilings moved during the run ({told} of {words.listed(counts)}). "


def roofs(ceilings: Sequence[Ceiling], cited: Reading | None, divide: float) -> list[Roof]:
    """The ceilings as they are drawn, divided by `divide`."""
    found = [
        Roof(
            slope=ceiling.unit == "bytes/s",
            low=ceiling.ends[0] / divide,
            high=ceiling.ends[1] / divide,
            label=f"{ceiling.name}: {ceiling.text()}",
            short=ceiling.text(),
        )
        for ceiling in ceilings
    ]
    if cited and cited.value is not None:
        value, text = cited.value / divide, as_cited(cited)
        slope = cited.unit == "bytes/s"
        found.append(Roof(slope, value, value, f"datasheet: {text} (cited)", f"{text} (cited)", cited=True))
    return found
