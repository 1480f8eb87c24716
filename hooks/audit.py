"""Numbers in prose that nothing stands behind: `python -m hooks.audit`. Renders nothing, changes nothing.

A number that looks measured (with a unit, a per cent sign, as a multiple) must come from a placeholder; or the claim
after its sentence must state it; or it is marked as not measured: `{{ plain "500 tokens" }}`, or an entry with a
reason in docs/typed-numbers.toml. Everything else is listed with its place, its sentence and what would bind it. The
exit code is 1 then, and 2 where a file cannot be read.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from hooks.errors import Place, PublishError
from hooks.extension import Site
from hooks.numbers.book import Book
from hooks.numbers.readings import Reading
from hooks.writing import prose, written
from hooks.writing.placeholders import PATTERN

ALLOWED = "typed-numbers.toml"
CLOSE = 0.1
"""A quantity this near, as a share, may be what the author had in mind."""

_KEYS = {"page", "text", "reason"}
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Allowed:
    """A typed number that is not measured: its page, its text, why, and the line of its entry."""

    page: str
    text: str
    reason: str
    place: Place


def read_allowed(path: Path) -> tuple[Allowed, ...]:
    """The allow list; empty where there is no such file.

    Raises:
        PublishError: It is not TOML, or an entry lacks something.
    """
    if not path.is_file():
        return ()
    name = f"{path.parent.name}/{path.name}"
    text = path.read_text(encoding="utf-8")
    try:
        data = tomllib.loads(text)
        entries = data.pop("allow", [])
        if data or not isinstance(entries, list):
            raise ValueError(f"{', '.join(data) or 'allow'} in place of tables [[allow]]")
    except ValueError as error:
        told = re.search(r"at line (\d+)", str(error))
        raise PublishError(
            "this is no list of typed numbers",
            place=Place(name, int(told[1]) if told else None),
            expected="tables [[allow]] with page, text and reason",
            found=str(error),
            mend="mend the line; the head of the file shows the format",
        ) from error
    begins = [number for number, line in enumerate(text.split("\n"), 1) if line.startswith("[[allow]]")]
    found = []
    for entry, line in zip_longest(entries, begins):
        place = Place(name, line)
        if (
            not isinstance(entry, dict)
            or set(entry) != _KEYS
            or not all(isinstance(value, str) and value for value in entry.values())
        ):
            raise PublishError(
                "an entry needs page, text and reason, and nothing else",
                place=place,
                expected='page = "method.md", text = "95 %", reason = "…"',
                found=repr(entry),
                mend="write all three",
            )
        found.append(Allowed(**entry, place=place))
    return tuple(found)


def unbound(docs: Path, book: Book) -> Iterator[PublishError]:
    """An error for each number that nothing stands behind, page by page; then for entries that nothing uses."""
    allowed = read_allowed(docs / ALLOWED)
    used: Counter[Allowed] = Counter()
    known = list(_values(book))
    titles = [str(model["title"]) for model in book.store.models.values()]
    for page in prose.pages(docs):
        text = page.without(titles)
        for number in written.find(text):
            begin, end = page.sentence(number.start, text)
            if _claimed(number, page.claims(end)):
                continue
            entry = _entry(page, number, allowed)
            if entry is not None:
                used[entry] += 1
                continue
            yield _error(page, number, " ".join(_said(page.source[begin:end]).split()), known)
    for entry in allowed:
        if not used[entry]:
            yield PublishError(
                f"“{entry.text}” is allowed on {entry.page} and does not stand there",
                place=entry.place,
                expected="a typed number with this text on that page",
                found="none",
                mend="remove the entry, or mend its text",
            )


def _claimed(number: written.Written, claims: Iterator[str]) -> bool:
    """Whether the claims after the sentence state the number: `about(ID, 24, 10%)` states 24."""
    stated = {float(digits) for claim in claims for digits in _NUMBER.findall(claim)}
    return set(number.plain) <= stated or set(number.values) <= stated


def _entry(page: prose.Page, number: written.Written, allowed: Sequence[Allowed]) -> Allowed | None:
    around = " ".join(page.source[max(0, number.start - 80) : number.start + 120].split())
    for entry in allowed:
        if entry.page == page.uri and number.text in entry.text and entry.text in around:
            return entry
    return None


def _said(source: str) -> str:
    """A sentence without the marks of claims before it."""
    return re.sub(PATTERN, lambda match: "" if match[1].split()[:1] == ["claim"] else match[0], source)


def _error(
    page: prose.Page, number: written.Written, sentence: str, known: Sequence[tuple[str, Reading]]
) -> PublishError:
    near = _nearest(number, known)
    first = near[0][0] if near else None
    return PublishError(
        f"“{number.text}” looks measured, and nothing stands behind it",
        place=page.place(number.start),
        sentence=f"“{sentence}”",
        expected="a placeholder, or a claim after the sentence that states the number",
        found=number.text,
        nearest=", ".join(f"{id_} ({reading.text()})" for id_, reading in near) or None,
        mend=(f"write {{{{ {_form(first)} }}}}" if first else "define it in docs/quantities.toml")
        + f'; where it was not measured, write {{{{ plain "{number.text}" }}}} or add it to docs/{ALLOWED}',
    )


def _form(id_: str) -> str:
    for word in ("model", "cite"):
        if id_.startswith(f"{word}."):
            return f"{word} {id_.removeprefix(f'{word}.')}"
    return id_


def _nearest(number: written.Written, known: Sequence[tuple[str, Reading]]) -> list[tuple[str, Reading]]:
    """At most three numbers of the same unit and about the same value, the nearest first."""
    found = []
    for id_, reading in known:
        count = number.unit == "1" and reading.kind in ("published", "computed")
        if reading.unit != number.unit or count:
            continue
        stated = [value for value in (reading.value, reading.low, reading.high) if value is not None]
        distances = [
            min(abs(value - one) / abs(value) for one in stated) if value and stated else 1.0
            for value in number.values
        ]
        if max(distances) <= CLOSE:
            found.append((max(distances), id_, reading))
    return [(id_, reading) for _, id_, reading in sorted(found, key=lambda item: item[:2])[:3]]


def _values(book: Book) -> Iterator[tuple[str, Reading]]:
    for id_ in book.known():
        try:
            reading = book.read(id_)
        except PublishError:
            continue  # no page uses it, or the build says more of it
        if reading.refusal is None and reading.word is None:
            yield id_, reading


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m hooks.audit", description="List numbers in prose that nothing stands behind."
    )
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder of the pages")
    parser.add_argument("--site-data", type=Path, default=Path("site_data"), help="folder of the data")
    options = parser.parse_args(arguments)
    try:
        book = Site.open(options.site_data, options.docs / "quantities.toml").book
        errors = list(unbound(options.docs, book))
    except PublishError as error:
        print(error, file=sys.stderr)
        return 2
    for one in errors:
        print(one, end="\n\n")
    count = len(errors)
    print(f"{count} to mend." if count else "Every number that looks measured has something behind it.")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
