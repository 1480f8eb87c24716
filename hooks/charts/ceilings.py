"""The ceilings of a roofline: what a page cites, and how all are told and drawn. Measures none."""

from __future__ import annotations

from collections.abc import Sequence

from hooks.charts import words
from hooks.charts.chart import Asked
from hooks.drawings.marks import Roof
from hooks.errors import PublishError
from hooks.numbers.ceilings import Ceiling
from hooks.numbers.formatting import SPACE
from hooks.numbers.readings import Reading


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
        f"the middle 90{SPACE}%"
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
