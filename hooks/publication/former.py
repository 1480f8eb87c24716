"""Former names: what a renamed quantity was called, what was retired, what was published and is gone. Reads no file.

Whoever cited a number cited its name. So a name that was published leads somewhere for good: `was` in
docs/quantities.toml says which quantity took its place, `retired` why none did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hooks.data.store import Store
from hooks.errors import Place, PublishError, nearest
from hooks.numbers import facts
from hooks.numbers.definitions import FOREIGN, Alias, Definition, Definitions
from hooks.publication.ledger import Entry, Ledger


def ids(definitions: Definitions) -> dict[str, str]:
    """The present id of each former one."""
    return _present({**definitions.quantities, **definitions.retired})


def runs(definitions: Definitions) -> dict[str, str]:
    """The present alias of each former one."""
    return _present(definitions.aliases)


def check(definitions: Definitions) -> None:
    """Refuse a former name that is in use, or that two say of themselves.

    Raises:
        PublishError: With the place of the later definition.
    """
    tables: tuple[Mapping[str, Definition] | Mapping[str, Alias], ...] = (
        {**definitions.quantities, **definitions.retired},
        definitions.aliases,
    )
    for table in tables:
        seen: dict[str, str] = dict.fromkeys(table, "a definition of its own")
        for name, each in table.items():
            for old in each.was:
                if old in seen:
                    raise PublishError(
                        f"`{old}` cannot be what {name} was called",
                        place=each.place,
                        expected="a name that leads to one place",
                        found=f"{old} leads to {seen[old]}, too",
                        mend="take it out of one of the two",
                    )
                seen[old] = name


def refuse(definitions: Definitions, id_: str) -> None:
    """Nothing, or the error for an id that is a former one.

    Raises:
        PublishError: The id was renamed or retired.
    """
    present = ids(definitions).get(id_)
    if present is not None:
        raise PublishError(
            f"`{id_}` has another name now",
            expected=present,
            found=id_,
            mend=f"write {present}",
        )
    if id_ in definitions.retired:
        raise PublishError(
            f"`{id_}` is retired",
            expected="a quantity that is still stated",
            found=f"{id_}: {definitions.retired[id_].retired}",
            mend="state another number, or give it a source again in docs/quantities.toml",
        )


def vanished(ledger: Ledger, definitions: Definitions, store: Store) -> Iterator[PublishError]:
    """An error for each number that was published and that leads nowhere now."""
    former_ids, former_runs = ids(definitions), runs(definitions)
    place = Place(str(definitions.path))
    for id_, alias in sorted({entry.number.name for entry in ledger.entries}, key=str):
        published = _words(ledger.last(id_, alias)[-1])
        if not is_known(id_, definitions, store) and id_ not in former_ids:
            yield PublishError(
                f"`{id_}` was published and is not defined any more",
                place=place,
                expected="a place to which a citation of it leads",
                found=published,
                nearest=nearest(id_, definitions.quantities),
                mend=f'add was = ["{id_}"] to the quantity that takes its place, or keep [quantity."{id_}"] with '
                'title, meaning, unit and retired = "why"',
            )
        elif alias is not None and alias not in definitions.aliases and alias not in former_runs:
            yield PublishError(
                f"`{id_}` was published of the run `{alias}`, which has no name any more",
                place=place,
                expected="a place to which a citation of it leads",
                found=published,
                nearest=nearest(alias, definitions.aliases),
                mend=f'add was = ["{alias}"] to the table of runs that takes its place, or keep [runs.{alias}]',
            )


def _words(entry: Entry) -> str:
    return f"published last as “{entry.number.text}” in {entry.version}"


def is_known(id_: str, definitions: Definitions, store: Store) -> bool:
    """Whether the id is defined, retired or a fact, so that it has a page."""
    if id_ in definitions.quantities or id_ in definitions.retired:
        return True
    if id_.partition(".")[0] not in FOREIGN:
        return False
    try:
        return facts.read(store, id_) is not None
    except PublishError:
        return False


def _present(table: Mapping[str, Definition] | Mapping[str, Alias]) -> dict[str, str]:
    return {old: name for name, each in table.items() for old in each.was}
