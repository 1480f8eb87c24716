"""What changed between two builds: `python -m hooks.changes OLD.json NEW.json`. Builds nothing.

Both files are published.json as a build writes it (site/published.json, or .build/published.json, which a
failed build leaves too). Prints, page by page, each number with its old and its new value, numbers that came
or went, and claims that no longer hold; then new runs that no page can use. The exit code is 0 whatever
changed, and 2 for a file that cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hooks.errors import Place, PublishError

Published = Mapping[str, Any]


def read(path: Path) -> Published:
    """Read a published.json.

    Raises:
        PublishError: There is none, or it is something else.
    """
    try:
        published: Published = json.loads(path.read_text(encoding="utf-8"))
        assert published["version"] == 1 and isinstance(published["pages"], dict)
    except (OSError, ValueError, KeyError, TypeError, AssertionError) as error:
        raise PublishError(
            "this is not what a build published",
            place=Place(str(path)),
            expected="published.json of version 1",
            found=f"{type(error).__name__}: {error}",
            mend="`make site` writes site/published.json",
        ) from error
    return published


def compare(old: Published, new: Published) -> Iterator[str]:
    """Lines that say what changed, page by page; none where nothing did."""
    for uri in sorted(old["pages"].keys() | new["pages"].keys()):
        before = old["pages"].get(uri, {"quantities": [], "claims": []})
        after = new["pages"].get(uri, {"quantities": [], "claims": []})
        lines = [*_numbers(before, after), *_claims(before, after)]
        if lines:
            yield uri
            yield from (f"  {line}" for line in lines)
    for run, what in new.get("unasked_runs", {}).items():
        if run not in old.get("unasked_runs", {}):
            yield f"{run} is on no page: no alias in docs/quantities.toml takes it ({what})"


def _numbers(before: Published, after: Published) -> Iterator[str]:
    old = {_key(number): number for number in before["quantities"]}
    new = {_key(number): number for number in after["quantities"]}
    for key in [*old, *(key for key in new if key not in old)]:
        if key not in new:
            yield f"{key}: {old[key]['text']} → no longer on the page"
        elif key not in old:
            yield f"{key}: new on the page → {new[key]['text']}"
        elif _stated(old[key]) != _stated(new[key]):
            line = f"{key}: {_full(old[key])} → {_full(new[key])}"
            if old[key]["run"] != new[key]["run"]:
                line += f" (run {old[key]['run']} → {new[key]['run']})"
            yield line


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
        prog="python -m hooks.changes", description="Print what changed between two published.json files."
    )
    parser.add_argument("old", type=Path, help="published.json of the earlier build")
    parser.add_argument("new", type=Path, help="published.json of the later build")
    options = parser.parse_args(arguments)
    try:
        lines = list(compare(read(options.old), read(options.new)))
    except PublishError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(lines) if lines else "Nothing that is published changed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
