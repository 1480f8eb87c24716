"""The lists of all numbers and of all runs, and what the Data section says of both in figures. Reads no sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hooks.catalogue.entries import KINDS, Entry
from hooks.catalogue.render import QUANTITIES, RUNS, render
from hooks.catalogue.values import RunValues
from hooks.data.records import Run
from hooks.data.store import Store

GROUPS = {
    "prefill": "Prefill",
    "decode": "Decode",
    "time": "Time compared",
    "ceilings": "Ceilings",
    "energy": "Energy compared",
    "idle": "Waiting",
    "weights": "Weights",
    "kv_cache": "KV cache",
}
"""Headings of the list, by the first word of an id; other words are their own heading."""


@dataclass(frozen=True)
class Group:
    """Numbers under one heading."""

    heading: str
    anchor: str
    entries: tuple[Entry, ...]


def quantities(entries: Mapping[str, Entry], store: Store) -> str:
    """The list of all numbers, complete without a script."""
    return render(
        "quantities.html",
        uri=f"{QUANTITIES}/index.html",
        groups=groups(entries, store),
        kinds=KINDS,
        count=len(entries),
    )


def groups(entries: Mapping[str, Entry], store: Store) -> list[Group]:
    """The numbers under headings: those of docs/quantities.toml first, then facts of models, then cited ones."""
    found: dict[str, tuple[str, list[Entry]]] = {}
    for entry in entries.values():
        anchor, heading = _group(entry, store)
        found.setdefault(anchor, (heading, []))[1].append(entry)
    return [Group(heading, anchor, tuple(each)) for anchor, (heading, each) in found.items()]


def _group(entry: Entry, store: Store) -> tuple[str, str]:
    first, _, rest = entry.id.partition(".")
    if entry.kind == "retired":
        return "retired", "No longer stated"
    if entry.definition is not None:
        return first.replace("_", "-"), GROUPS.get(first, first.replace("_", " ").capitalize())
    if first == "cite":
        name = next(name for name in store.cited if rest.startswith(f"{name}."))
        return f"cite-{name}", f"Cited: {store.cited[name]['origin']['title']}"
    if first == "model":
        name = rest.rpartition(".")[0]
        return f"model-{name}", f"Sizes of {store.models[name]['title']}"
    return first, "Tokenizers"


def runs(found: Sequence[tuple[Run, RunValues]], stated: Mapping[str, int], store: Store) -> str:
    """The list of all runs, the newest first.

    Args:
        found: The runs and what they say.
        stated: How many pages state a number of each run, by its id.
        store: The data, for titles of models.
    """
    return render(
        "runs.html",
        uri=f"{RUNS}/index.html",
        runs=found,
        stated=stated,
        titles={name: model["title"] for name, model in store.models.items()},
    )
