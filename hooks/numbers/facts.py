"""Numbers that no run of ours measured: model facts, cited values, facts of a tokenizer. Computes none itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hooks.data.store import Store
from hooks.errors import PublishError, nearest
from hooks.numbers import model_facts
from hooks.numbers.estimates import Estimate
from hooks.numbers.formatting import UNITS
from hooks.numbers.readings import Reading


def known(store: Store) -> Iterator[str]:
    """Every id that `read` answers to."""
    for name, model in store.models.items():
        yield from (f"model.{name}.{fact}" for fact in model_facts.facts(model))
    for name, source in store.cited.items():
        yield from (f"cite.{name}.{value['name']}" for value in source["values"])
    yield from (f"tokenizer.{name}.entries" for name in store.tokenizers)


def read(store: Store, id_: str) -> Reading | None:
    """The fact `id_`; None where its first word is not one of ours.

    Raises:
        PublishError: The first word is, and there is no such fact.
    """
    kinds = {"model": _model_fact, "cite": _cited, "tokenizer": _tokenizer_fact}
    find = kinds.get(id_.partition(".")[0])
    return None if find is None else find(store, id_)


def _cited(store: Store, id_: str) -> Reading:
    words = id_.removeprefix("cite.")
    for name, record in store.cited.items():
        for value in record["values"]:
            if words == f"{name}.{value['name']}":
                show, digits = _shown_as_cited(value["value"], value["unit"])
                return Reading(
                    id=id_,
                    title=value["meaning"],
                    meaning=value["meaning"],
                    unit=value["unit"],
                    kind="cited",
                    show=show,
                    digits=digits,
                    estimate=Estimate(value["value"]),
                    low=value["value"] if "high" in value else None,
                    high=value.get("high"),
                    origin=record["origin"],
                    place=value["place"],
                )
    known_ids = [name for name in known(store) if name.startswith("cite.")]
    raise PublishError(
        f"nothing is cited as `{words}`",
        expected="SOURCE.VALUE with site_data/cited/SOURCE.json and a value of that name in it",
        found=words,
        nearest=nearest(id_, known_ids),
        mend="mend the name, or add the value and its place in the source to site_data/cited/",
    )


def _model_fact(store: Store, id_: str) -> Reading:
    name, _, fact = id_.removeprefix("model.").rpartition(".")
    model = store.models.get(name)
    there = model_facts.facts(model) if model else {}
    if model is None or fact not in there:
        everything = [known_id for known_id in known(store) if known_id.startswith("model.")]
        raise PublishError(
            f"there is no model fact `{id_}`",
            expected=f"a fact of {name}: {', '.join(there)}"
            if model
            else f"a model: {', '.join(store.models)}",
            found=id_,
            nearest=nearest(id_, everything),
            mend="mend the name, or add the model to site_data/models/",
        )
    found = there[fact]
    described = Reading(
        id=id_,
        title=f"{model['title']}: {model_facts.TITLES[fact]}",
        meaning=found.meaning,
        unit="1" if found.unit == "text" else found.unit,
        kind="computed" if found.computed else "published",
        show="exact",
        origin=model["origin"],
        place=model["origin"].get("place"),
    )
    if isinstance(found.value, str):
        return replace(described, word=found.value)
    return replace(described, estimate=Estimate(found.value))


def _tokenizer_fact(store: Store, id_: str) -> Reading:
    name, _, fact = id_.removeprefix("tokenizer.").rpartition(".")
    record = store.tokenizers.get(name)
    if record is None or fact != "entries":
        known_ids = [f"tokenizer.{name}.entries" for name in store.tokenizers]
        raise PublishError(
            f"there is no tokenizer fact `{id_}`",
            expected=", ".join(known_ids),
            found=id_,
            nearest=nearest(id_, known_ids),
            mend="mend the name",
        )
    return Reading(
        id=id_,
        title=f"Vocabulary of the {record['title']}",
        meaning=f"Entries in the vocabulary of the {record['title']}, added ones counted",
        unit="1",
        kind="published",
        show="exact",
        estimate=Estimate(record["entries"]),
        origin=record["origin"],
        place=record["origin"].get("place"),
    )


def _shown_as_cited(value: float, unit: str) -> tuple[str, int | None]:
    """How a cited number is shown, with all digits that its source printed.

    Significant digits are None for a whole number, which is shown whole. One of millions whose unit takes a prefix is
    shown with that: 4.8 TB/s, where 4,800,000,000,000 bytes/s would have to be counted.
    """
    if not float(value).is_integer():
        return "exact", len(repr(value).replace(".", "").lstrip("-0"))
    if abs(value) >= 1e6 and unit in UNITS and len(UNITS[unit].prefixes) > 1:
        return "si", len(f"{value:.0f}".strip("-0"))
    return "exact", None
