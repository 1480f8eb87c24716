"""The command `python -m hooks.publish`: appends to the ledger what a site states anew, or checks it. Builds nothing.

`make publish` builds before it, so that what is published was checked, and after it, so that pages carry the version.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from hooks.errors import Place, PublishError
from hooks.numbers import quantities
from hooks.publication import committed, ledger_file, stated
from hooks.publication.ledger import Entry, Ledger, Number

ROOT = Path(__file__).resolve().parent.parent


def numbers(path: Path) -> tuple[Number, ...]:
    """Every number of a built site, from its published.json.

    Raises:
        PublishError: There is none, or an older build wrote it.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return tuple(Number(**number) for number in found["numbers"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PublishError(
            "this is not what a build published",
            place=Place(str(path)),
            expected="published.json with all numbers of the site",
            found=f"{type(error).__name__}: {error}",
            mend="`make site` writes it",
        ) from error


def check(site_data: Path, definitions: Path) -> Ledger:
    """The ledger, held to its own hashes and to all that git has of it.

    Raises:
        PublishError: A line was changed, added to an old publication, or lost.
    """
    ledger = ledger_file.read(site_data, *stated.was(quantities.read(definitions)))
    ledger_file.refuse_loss(site_data, committed.texts(site_data / ledger_file.FILE))
    return ledger


def words(number: Number, before: Sequence[Entry]) -> str:
    """One line on a changed number: `decode.seconds_per_token: 355 ms → 340 ms`."""
    name = f"{number.id} run={number.alias}" if number.alias else number.id
    if not before:
        return f"{name}: new → {number.text}"
    old = before[-1].number
    line = f"{name}: {old.text} → {number.text}"
    if old.text == number.text:
        line = f"{name}: {number.text}, as before, but not its interval or run"
    return line if old.run == number.run else f"{line} (run {old.run} → {number.run})"


def _publish(site_data: Path, ledger: Ledger, found: Sequence[Number], today: str) -> Iterator[str]:
    changed = ledger.changed(found)
    published = ledger_file.append(site_data, ledger, found, today)
    if published is None:
        last = f" since {ledger.latest.version}" if ledger.latest else ""
        yield f"Nothing that is published changed{last}: nothing is appended."
        return
    count = "1 number" if len(changed) == 1 else f"{len(changed)} numbers"
    yield f"Published {published.version}: {count} changed."
    yield from (f"  {words(number, ledger.last(*number.name))}" for number in changed)
    yield f"Commit {site_data.name}/{ledger_file.FILE}, so that citations of {published.version} can be checked."


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m hooks.publish",
        description="Append to site_data/ledger.jsonl what a built site states anew.",
    )
    parser.add_argument(
        "published",
        type=Path,
        nargs="?",
        default=ROOT / "site/published.json",
        help="published.json of the site",
    )
    parser.add_argument("--check", action="store_true", help="check the ledger, and append nothing")
    parser.add_argument(
        "--date", help="date of the publication, YYYY-MM-DD; today without it", type=date.fromisoformat
    )
    parser.add_argument(
        "--site-data", type=Path, default=Path(os.environ.get("SITE_DATA") or ROOT / "site_data")
    )
    parser.add_argument("--quantities", type=Path, default=ROOT / "docs/quantities.toml")
    options = parser.parse_args(arguments)
    try:
        ledger = check(options.site_data, options.quantities)
        if options.check:
            lines = [_checked(ledger)]
        else:
            today = options.date or datetime.now(UTC).date()
            lines = list(_publish(options.site_data, ledger, numbers(options.published), today.isoformat()))
    except PublishError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


def _checked(ledger: Ledger) -> str:
    if ledger.latest is None:
        return "Nothing has been published."
    count = len(ledger.publications)
    publications = f"{count} publication{'' if count == 1 else 's'}"
    return f"{len(ledger.entries)} lines of {publications}, the last {ledger.latest.version}."


if __name__ == "__main__":
    sys.exit(main())
