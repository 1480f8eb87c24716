"""Numbers made of other numbers: formulas and ranges. Reads no samples; asks the book for its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hooks.data.records import Refusal
from hooks.errors import PublishError, nearest
from hooks.numbers import model_facts
from hooks.numbers.definitions import Alias, Definition
from hooks.numbers.estimates import Estimate, through
from hooks.numbers.readings import Reading, Source, described, end_of, with_interval

if TYPE_CHECKING:
    from hooks.numbers.book import Book

RUN_FACTS = ("run.parameters", "run.weights_bytes", "run.bytes_per_element", "run.memory_bytes")
"""Facts of a run that a formula may use; `run.memory_bytes` is the accelerator's memory where it has one."""


def formula(definition: Definition, alias: str, book: Book) -> Reading:
    """A formula over other ids, model facts and facts of the run that it is about.

    Raises:
        PublishError: An input has no single value, or the result is not finite.
    """
    expression = definition.formula
    assert expression is not None
    inputs: dict[str, Estimate] = {}
    sources: dict[tuple[str, str], Source] = {}
    aliases: list[Alias] = []
    about = refusal = None
    for name in expression.ids:
        if name.startswith("run."):
            aliases.append(book.alias(alias))
            run = book.find(alias)
            if isinstance(run, Refusal):
                refusal = refusal or run
                continue
            fact = _run_fact(name, alias, book)
            about = run
            if isinstance(fact, Refusal):
                refusal = refusal or fact
            else:
                inputs[name] = Estimate(fact)
            continue
        reading = book.read(name, alias)
        sources |= {(source.run.id, source.cell_words): source for source in reading.sources}
        aliases += reading.aliases
        if reading.refusal:
            refusal = refusal or reading.refusal
        else:
            inputs[name] = reading.estimate or Estimate(end_of(reading, None))
    made = _of_inputs(definition, "derived" if sources else "computed", aliases, alias)
    made = made.but(sources=tuple(sources.values()), formula=expression.source, about=about)
    if refusal:
        return made.but(refusal=refusal)
    try:
        found = through(lambda values: float(expression.evaluate(values)), inputs)
    except PublishError as error:
        raise error.at(definition.place) from error
    return with_interval(made.but(estimate=found))


def span(definition: Definition, parts: Sequence[Reading], alias: str) -> Reading:
    """From the least to the greatest of `parts`; refused where one of them is.

    Raises:
        PublishError: They have different units.
    """
    sources = {(source.run.id, source.cell_words): source for part in parts for source in part.sources}
    aliases = [name for part in parts for name in part.aliases]
    made = _of_inputs(definition, "range", aliases, alias)
    made = made.but(sources=tuple(sources.values()), parts=tuple(parts))
    for part in parts:
        if part.refusal:
            return made.but(refusal=part.refusal)
        if part.unit != definition.unit:
            raise PublishError(
                f"{definition.id} spans numbers of different units",
                place=definition.place,
                expected=definition.unit,
                found=f"{part.id} in {part.unit}",
                mend="give them one unit",
            )
    values = [end_of(part, None) for part in parts]
    return made.but(low=min(values), high=max(values))


def _of_inputs(definition: Definition, kind: str, aliases: Sequence[Alias], alias: str) -> Reading:
    """A reading under the run that it was asked for, where its inputs are of that run; else under theirs."""
    own = next((one for one in aliases if one.name == alias), aliases[0] if aliases else None)
    return described(definition, kind, own).but(others=tuple(aliases))


def check_run_fact(name: str, book: Book) -> None:
    """Refuse a fact that no run has.

    Raises:
        PublishError: With the nearest known.
    """
    everything = next(iter(book.store.models.values()), {})
    numbers = {
        f"run.model.{fact}" for fact, found in model_facts.facts(everything).items() if found.unit != "text"
    }
    if name not in numbers | set(RUN_FACTS):
        raise PublishError(
            f"a run has no fact `{name}`",
            expected=f"{', '.join(RUN_FACTS)}, run.model.FACT",
            found=name,
            nearest=nearest(name, numbers | set(RUN_FACTS)),
            mend="write a known one",
        )


def _run_fact(name: str, alias: str, book: Book) -> float | Refusal:
    record = book.run(alias).record
    model, machine = record["model"], record["machine"]
    if name.startswith("run.model."):
        value = book.read(f"model.{model['name']}.{name.removeprefix('run.model.')}").value
        if value is not None:
            return value
    if name == "run.bytes_per_element" and model["dtype"] not in model_facts.BYTES_OF:
        return Refusal("unavailable", f"elements of type {model['dtype']} have no whole number of bytes")
    memory_bytes = (machine["accelerator"] or machine)["memory_bytes"]
    if name == "run.memory_bytes" and memory_bytes is None:
        return Refusal("unavailable", "the run does not say how much memory its machine has")
    values = {
        "run.parameters": model["parameters"],
        "run.weights_bytes": model["weights_bytes"],
        "run.bytes_per_element": model_facts.BYTES_OF.get(model["dtype"]),
        "run.memory_bytes": memory_bytes,
    }
    return float(values[name])
