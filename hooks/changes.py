"""What changed between two builds: `python -m hooks.changes OLD NEW`. Builds nothing by itself.

Each is published.json as a build writes it (site/published.json, or .build/published.json, which a failed build leaves
too), the folder of a built site, or a commit, whose site `hooks.publication.snapshots` builds. Prints, page by page,
whether it is new, gone or edited, each number with its old and its new value, claims that no longer hold, and charts
that show something else; then numbers that stand on no page but their own, and new runs that no page can use. The exit
code is 0 whatever changed, and 2 for what cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hooks.errors import PublishError
from hooks.publication import snapshots
from hooks.publication.snapshots import Published

ROOT = Path(__file__).resolve().parent.parent

_NONE: Published = {"quantities": [], "claims": [], "charts": [], "drawn": []}


def compare(old: Published, new: Published, *, everything: bool = False) -> Iterator[str]:
    """Lines that say what changed, page by page; none where nothing did.

    Args:
        old: The earlier build.
        new: The later one.
        everything: Whether numbers that stand on no page but their own are named, and not only counted.
    """
    sources = old.get("sources", {}), new.get("sources", {})
    for uri in sorted(old["pages"].keys() | new["pages"].keys() | sources[0].keys() | sources[1].keys()):
        before, after = old["pages"].get(uri, _NONE), new["pages"].get(uri, _NONE)
        lines = [
            *_page(uri, *sources),
            *_numbers(before, after),
            *_claims(before, after),
            *_charts(before, after),
        ]
        if lines:
            yield uri
            yield from (f"  {line}" for line in lines)
    elsewhere = list(_elsewhere(old, new))
    if elsewhere and everything:
        yield "on no page but their own"
        yield from (f"  {line}" for line in elsewhere)
    elif elsewhere:
        count = "1 number" if len(elsewhere) == 1 else f"{len(elsewhere)} numbers"
        yield f"and {count} on no page but their own, which --all names"
    for run, what in new.get("unasked_runs", {}).items():
        if run not in old.get("unasked_runs", {}):
            yield f"{run} is on no page: no alias in docs/quantities.toml takes it ({what})"


def _page(uri: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """What became of the page itself; nothing where one of the builds did not say which pages it had."""
    if not old or not new:
        return
    if uri not in old:
        yield "a new page"
    elif uri not in new:
        yield "no longer there"
    elif old[uri] != new[uri]:
        yield "its source was edited"


def _numbers(before: Published, after: Published) -> Iterator[str]:
    old = {_key(number): number for number in before["quantities"]}
    new = {_key(number): number for number in after["quantities"]}
    for key in [*old, *(key for key in new if key not in old)]:
        if key not in new:
            yield f"{key}: {old[key]['text']} → no longer on the page"
        elif key not in old:
            yield f"{key}: new on the page → {new[key]['text']}"
        elif _stated(old[key]) != _stated(new[key]):
            yield _changed(key, old[key], new[key])


def _claims(before: Published, after: Published) -> Iterator[str]:
    old = {(claim["expression"], claim["sentence"]): claim for claim in before["claims"]}
    numbers = {_key(number): number for number in before["quantities"]}
    for claim in after["claims"]:
        was = old.get((claim["expression"], claim["sentence"]))
        if claim["held"] is False:
            yield f"no longer true: “{claim['sentence']}” ({claim['expression']})"
            for value in claim["values"]:
                known = numbers.get(value.partition(" = ")[0])
                yield f"  {value}" + (f"; before: {known['text']}" if known else "")
        elif claim["held"] is None and was is not None and was["held"]:
            yield f"no longer checked: “{claim['sentence']}” ({claim['expression']})"
        elif claim["held"] and was is not None and was["held"] is None:
            yield f"checked now: “{claim['sentence']}” ({claim['expression']})"
    made, makes = (Counter(claim["expression"] for claim in each["claims"]) for each in (before, after))
    yield from (f"a claim that is made no longer: {expression}" for expression in (made - makes))
    yield from (f"a new claim: {expression}" for expression in (makes - made))


def _charts(before: Published, after: Published) -> Iterator[str]:
    if "drawn" not in before or "drawn" not in after:
        return
    old, new = ({chart["id"]: chart for chart in each["drawn"]} for each in (before, after))
    for id_ in [*old, *(id_ for id_ in new if id_ not in old)]:
        if id_ not in new:
            yield f"{id_}: no longer on the page"
        elif id_ not in old:
            yield f"{id_}: new on the page"
        elif old[id_]["caption"] != new[id_]["caption"]:
            yield f"{id_}: “{old[id_]['caption']}” → “{new[id_]['caption']}”"
        elif old[id_]["data"] != new[id_]["data"]:
            yield f"{id_}: other data, and the same words"


def _elsewhere(old: Published, new: Published) -> Iterator[str]:
    """Numbers that changed and are stated on no page but that of the quantity."""
    shown = {
        _key(number)
        for each in (old, new)
        for page in each["pages"].values()
        for number in page["quantities"]
    }
    before, after = ({_key(number): number for number in each.get("numbers", ())} for each in (old, new))
    for key in sorted(before.keys() & after.keys() - shown):
        if _stated(before[key]) != _stated(after[key]):
            yield _changed(key, before[key], after[key])


def _changed(key: str, old: Published, new: Published) -> str:
    line = f"{key}: {_full(old)} → {_full(new)}"
    return line if old["run"] == new["run"] else f"{line} (run {old['run']} → {new['run']})"


def _key(number: Published) -> str:
    alias = number.get("alias")
    return f"{number['id']} run={alias}" if alias else str(number["id"])


def _stated(number: Published) -> tuple[Any, ...]:
    return number["text"], number["low"], number["high"], number["run"], number["refusal"]


def _full(number: Published) -> str:
    return f"{number['text']} ({number['interval']})" if number.get("interval") else str(number["text"])


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m hooks.changes", description="Print what changed between two builds of the site."
    )
    what = "published.json, the folder of a built site, or a commit"
    parser.add_argument("old", help=f"the earlier build: {what}")
    parser.add_argument("new", help="the later build, likewise")
    parser.add_argument(
        "--all", action="store_true", help="name numbers that are on no page but their own, too"
    )
    options = parser.parse_args(arguments)
    try:
        old, new = (snapshots.find(name, ROOT) for name in (options.old, options.new))
    except PublishError as error:
        print(error, file=sys.stderr)
        return 2
    lines = list(compare(old, new, everything=options.all))
    print("\n".join(lines) if lines else "Nothing that is published changed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
