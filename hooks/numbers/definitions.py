"""What docs/quantities.toml defines: names of runs, and quantities with their sources. Reads no file.

A quantity is measured (a field of one cell's samples, or of a series of cells), derived (a formula over other
ids), cited (a value in site_data/cited/) or a range over several ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hooks.errors import Place, PublishError, nearest
from hooks.numbers import expressions

WEIGHTS = ("random", "hub", "file", "unknown")
"""Kinds of weights that a run may have, as schema.json names them."""

FOREIGN = {"model", "cite", "run", "tokenizer"}
"""First words of ids that come from elsewhere: facts of models, runs and tokenizers, cited values."""


@dataclass(frozen=True)
class Alias:
    """A name for the newest complete run of one model that has what is asked for.

    `device` is cpu, gpu or None for both. `origin` is the program that an imported run comes from; without it
    only runs measured here answer. `none_yet` are the words for a run that is still to come. `was` are former names.
    """

    name: str
    label: str
    model: str
    plans: tuple[str, ...]
    weights: tuple[str, ...]
    place: Place
    device: str | None = None
    origin: str | None = None
    none_yet: str | None = None
    was: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """Which samples a quantity is made of, and what of each.

    `where` holds the cell's keys; a tuple of modes means the first of them that the run has. With `over`, a
    key of cells, the quantity is a series: one number for each planned cell that `where` allows.
    """

    field: str
    where: Mapping[str, Any]
    over: str | None = None


@dataclass(frozen=True)
class Definition:
    """One quantity: what it means and where it comes from.

    Exactly one of the four sources is set, or `retired`: why it is stated no longer. `was` are former ids.
    """

    id: str
    title: str
    meaning: str
    unit: str
    place: Place
    show: str = "si"
    digits: int | None = None
    run: str | None = None
    note: str | None = None
    measured: Measured | None = None
    formula: expressions.Expression | None = None
    cited: str | None = None
    range: tuple[str, ...] | None = None
    was: tuple[str, ...] = ()
    retired: str | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ids that its value is made of; none for a measured or a cited one."""
        return self.formula.ids if self.formula else self.range or ()

    @property
    def has_one_value(self) -> bool:
        """Whether it is a single number; a range and a series are not."""
        return self.range is None and not (self.measured and self.measured.over)


@dataclass(frozen=True)
class Definitions:
    """All of docs/quantities.toml. The first alias is the one that numbers use unless a page says another.

    `retired` are quantities that pages stated once: they have a page of their own still, and no number.
    """

    path: Path
    aliases: Mapping[str, Alias]
    quantities: Mapping[str, Definition]
    retired: Mapping[str, Definition] = field(default_factory=dict)

    @property
    def main(self) -> str:
        """Name of the first alias."""
        return next(iter(self.aliases))


def check_names(quantities: Mapping[str, Definition]) -> None:
    """Refuse formulas and ranges over unknown ids, over ranges, and over themselves.

    Raises:
        PublishError: With the place of the definition.
    """
    for definition in quantities.values():
        for name in definition.inputs:
            if name.partition(".")[0] in FOREIGN:
                continue
            if name not in quantities:
                raise PublishError(
                    f"{definition.id} uses `{name}`, which is not defined",
                    place=definition.place,
                    expected="ids of this file, model.NAME.FACT, cite.SOURCE.VALUE, run.FACT",
                    found=name,
                    nearest=nearest(name, quantities),
                    mend=f'define [quantity."{name}"] or mend the name',
                )
            if not quantities[name].has_one_value:
                raise PublishError(
                    f"{definition.id} computes with `{name}`, which is a range",
                    place=definition.place,
                    expected="ids that have one value",
                    found=name,
                    mend="use the ids that the range is made of",
                )
    ended: set[str] = set()
    for definition in quantities.values():
        _refuse_cycle(definition, quantities, (), ended)


def _refuse_cycle(
    definition: Definition, quantities: Mapping[str, Definition], chain: tuple[str, ...], ended: set[str]
) -> None:
    if definition.id in ended:
        return
    if definition.id in chain:
        cycle = " → ".join((*chain[chain.index(definition.id) :], definition.id))
        raise PublishError(
            f"{definition.id} is defined by itself",
            place=definition.place,
            expected="formulas that end in measured, computed or cited numbers",
            found=cycle,
            mend="take one of these ids out of the formula of the other",
        )
    for name in definition.inputs:
        if name in quantities:
            _refuse_cycle(quantities[name], quantities, (*chain, definition.id), ended)
    ended.add(definition.id)
