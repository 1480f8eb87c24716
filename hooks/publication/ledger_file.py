"""site_data/ledger.jsonl: reading it, checking that nothing in it was rewritten, appending to it. Looks no number up.

Each line holds the key of its publication, a hash of all that the publication says and of the keys of those before it.
So a line that was changed, added or taken away shows, and so does a publication that a later one followed. A chain
over lines would show the same, and would break where two branches are put together; these keys do not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from hooks.data.contract import Contract, parse
from hooks.data.contract import read as read_text
from hooks.errors import Place, PublishError
from hooks.files import replace_text
from hooks.publication.ledger import Entry, Ledger, Number, Publication, ordered

FILE = "ledger.jsonl"
KIND = "ledger_line"

_NUMBER = tuple(field.name for field in fields(Number))
_HEAD = {"version", "date", "publication", "after"}
_DIGITS = 16
RESTORE = "`git checkout -- {path}`; a line that was published is never changed, a later publication says what is new"

Former = Mapping[str, tuple[str, ...]]


def read(folder: Path, was: Former | None = None, runs: Former | None = None) -> Ledger:
    """The ledger in a site_data/ folder, checked; an empty one where nothing has been published.

    Args:
        folder: site_data/.
        was: Former ids of quantities by their present ones.
        runs: Former aliases of runs by their present ones.

    Raises:
        PublishError: A line is not as schema.json has it, or was changed, or lines are missing.
    """
    path = folder / FILE
    if not path.is_file():
        return Ledger((), was or {}, runs or {})
    text = read_text(path)
    places = {line: number for number, line in reversed(list(enumerate(text.split("\n"), 1))) if line.strip()}
    contract = Contract(folder / "schema.json")
    groups: dict[str, list[tuple[Mapping[str, Any], Place]]] = {}
    for line, number in places.items():  # the same line twice is once
        place = Place(str(path), number)
        record = contract.check(KIND, parse(line, place), place)
        groups.setdefault(record["publication"], []).append((record, place))
    publications = {key: _publication(key, lines) for key, lines in groups.items()}
    for key, publication in publications.items():
        _refuse_disorder(publication, publications, groups[key][0][1])
    entries = (
        Entry(publications[key], Number(**{name: record[name] for name in _NUMBER}))
        for key, lines in groups.items()
        for record, _ in lines
    )
    return Ledger(tuple(entries), was or {}, runs or {})


def append(folder: Path, ledger: Ledger, numbers: Iterable[Number], date: str) -> Publication | None:
    """Append what changed among `numbers` as a publication of its own; None, and nothing written, where nothing did.

    Args:
        folder: site_data/.
        ledger: What `read` gave.
        numbers: Every number that the site states.
        date: Today, YYYY-MM-DD. A ledger that is ahead of it keeps its own date.
    """
    changed = ledger.changed(numbers)
    if not changed:
        return None
    version = next_version(ledger, date)
    after = tuple(sorted(head.key for head in ledger.heads))
    publication = Publication(
        version, version.partition(".")[0], _key(version, after, map(asdict, changed)), after
    )
    path = folder / FILE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text and not text.endswith("\n"):
        text += "\n"
    replace_text(path, text + "".join(f"{line(publication, number)}\n" for number in changed))
    return publication


def next_version(ledger: Ledger, date: str) -> str:
    """The version after all known ones: a date and a counter."""
    if ledger.latest is not None:
        date = max(date, ledger.latest.date)
    taken = [ordered(each.version)[1] for each in ledger.publications if each.date == date]
    return f"{date}.{max(taken, default=0) + 1}"


def line(publication: Publication, number: Number) -> str:
    """A line of the file, without its end."""
    head = {
        "version": publication.version,
        "date": publication.date,
        "publication": publication.key,
        "after": list(publication.after),
    }
    return json.dumps(head | asdict(number), ensure_ascii=False, allow_nan=False)


def _key(version: str, after: Sequence[str], numbers: Iterable[Mapping[str, Any]]) -> str:
    """The key of a publication. In a hash nothing may depend on how a file was written: parts are sorted."""
    said = sorted(json.dumps(number, sort_keys=True) for number in numbers)
    content = json.dumps([version, sorted(after), said])
    return hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]


def _publication(key: str, lines: list[tuple[Mapping[str, Any], Place]]) -> Publication:
    """The publication of these lines, whose key must be the hash of them."""
    first, place = lines[0]
    heads = {(record["version"], record["date"], tuple(record["after"])) for record, _ in lines}
    version, date, after = next(iter(heads))
    numbers = [{name: record[name] for name in record.keys() - _HEAD} for record, _ in lines]
    found = _key(version, after, numbers)
    if len(heads) > 1 or found != key or date != version.partition(".")[0]:
        raise PublishError(
            f"the publication {first['version']} is not what was published",
            place=place,
            expected=f"the lines whose hash is {key}",
            found=f"{len(lines)} of them, whose hash is {found}: one was changed, added or taken away",
            mend=RESTORE.format(path=place.file),
        )
    return Publication(version, date, key, tuple(sorted(after)))


def _refuse_disorder(publication: Publication, known: Mapping[str, Publication], place: Place) -> None:
    for key in publication.after:
        if key not in known:
            raise PublishError(
                f"the publication before {publication.version} is not in the ledger",
                place=place,
                expected=f"lines of the publication {key}",
                found="none",
                mend=RESTORE.format(path=place.file),
            )
        if ordered(known[key].version) >= ordered(publication.version):
            raise PublishError(
                f"{publication.version} is not later than the publication that it followed",
                place=place,
                expected=f"a version after {known[key].version}",
                found=publication.version,
                mend=RESTORE.format(path=place.file),
            )


def refuse_loss(folder: Path, texts: Iterable[str]) -> None:
    """Hold the ledger to what it was at earlier times: each line that it had, it has.

    Args:
        folder: site_data/.
        texts: The file's text at those times.

    Raises:
        PublishError: A line is gone.
    """
    path = folder / FILE
    held = set(path.read_text(encoding="utf-8").split("\n")) if path.is_file() else set()
    lost = dict.fromkeys(
        each for text in texts for each in text.split("\n") if each.strip() and each not in held
    )
    if lost:
        first = next(iter(lost))
        raise PublishError(
            "the ledger has lost what was published"
            if len(lost) == 1
            else f"the ledger has lost {len(lost)} lines",
            place=Place(str(path)),
            expected=f"every line that git has of it, such as {first[:160]}…",
            found="no such line",
            mend=f"`git log -p -- {path}` shows the lines; put them back, in any order",
        )
