"""What CITATION.cff says of the repository, and .zenodo.json written from it. Describes no page.

CITATION.cff is the one place for title, authors, licence and address: the site's citations take them from it, and
`python -m hooks.repository` writes .zenodo.json anew, which Zenodo reads in its place.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hooks.citation.citations import Author
from hooks.errors import Place, PublishError
from hooks.files import replace_text

FILE = "CITATION.cff"
ZENODO = ".zenodo.json"
_SHOWN = "docs/reference/citing.md shows the file; `cffconvert --validate` checks all of it"


@dataclass(frozen=True)
class Repository:
    """The repository, as CITATION.cff describes it. `address` is where the site stands, or else the repository."""

    title: str
    abstract: str
    authors: tuple[Author, ...]
    orcids: tuple[str | None, ...]
    version: str
    date: str
    licence: str
    keywords: tuple[str, ...] = ()
    address: str | None = None


def read(path: Path) -> Repository:
    """Read CITATION.cff.

    Raises:
        PublishError: It is missing, is no YAML, or lacks what citations are made of.
    """
    try:
        record = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise PublishError(
            "there is no such file",
            place=Place(str(path)),
            expected="title and authors, from which the site's citations are made",
            mend=f"`git checkout -- {FILE}`",
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        raise PublishError(
            "this is not YAML",
            place=Place(str(path), mark.line + 1 if mark else None),
            found=" ".join(str(error).split())[:200],
            mend=f"mend the line; {_SHOWN}",
        ) from error
    if not isinstance(record, dict):
        raise _wrong(path, "a mapping", type(record).__name__)
    authors = [_author(item, path) for item in _list(record, "authors", path)]
    if not authors:
        raise _wrong(path, "at least one author", "none")
    return Repository(
        title=_text(record, "title", path),
        abstract=" ".join(_text(record, "abstract", path).split()),
        authors=tuple(author for author, _ in authors),
        orcids=tuple(orcid for _, orcid in authors),
        version=_text(record, "version", path),
        date=_text(record, "date-released", path),
        licence=_text(record, "license", path),
        keywords=tuple(map(str, _list(record, "keywords", path))),
        address=next((str(record[key]) for key in ("url", "repository-code") if record.get(key)), None),
    )


def zenodo(repository: Repository) -> str:
    """The text of .zenodo.json. A person stands there as `Family, Given`, a body by its name."""
    creators = [
        {"name": author.inverted, **({"orcid": orcid.rpartition("/")[2]} if orcid else {})}
        for author, orcid in zip(repository.authors, repository.orcids, strict=True)
    ]
    record = {
        "title": repository.title,
        "description": repository.abstract,
        "upload_type": "software",
        "creators": creators,
        "version": repository.version,
        "publication_date": repository.date,
        "access_right": "open",
        "license": repository.licence,
        "language": "eng",
        "keywords": list(repository.keywords),
    }
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def _author(item: object, path: Path) -> tuple[Author, str | None]:
    if not isinstance(item, dict):
        raise _wrong(path, "an author with `name`, or with `family-names` and `given-names`", str(item))
    orcid = str(item["orcid"]) if item.get("orcid") else None
    if item.get("name"):
        return Author(str(item["name"])), orcid
    if not item.get("family-names"):
        raise _wrong(path, "an author with `name`, or with `family-names` and `given-names`", str(item))
    family = " ".join(
        str(item[key]) for key in ("name-particle", "family-names", "name-suffix") if item.get(key)
    )
    return Author(family, str(item.get("given-names", ""))), orcid


def _text(record: Mapping[str, Any], key: str, path: Path) -> str:
    value = record.get(key)
    if value in (None, "") or isinstance(value, dict | list):
        raise _wrong(path, f"`{key}`", "none" if value in (None, "") else type(value).__name__)
    return str(value)


def _list(record: Mapping[str, Any], key: str, path: Path) -> list[Any]:
    value = record.get(key, [])
    if not isinstance(value, list):
        raise _wrong(path, f"`{key}`: a list", str(value))
    return value


def _wrong(path: Path, expected: str, found: str) -> PublishError:
    return PublishError(
        "citations cannot be made from this",
        place=Place(str(path)),
        expected=expected,
        found=found,
        mend=_SHOWN,
    )


def main() -> int:
    """The command line: write .zenodo.json beside CITATION.cff."""
    root = Path(__file__).resolve().parent.parent
    try:
        text = zenodo(read(root / FILE))
    except PublishError as error:
        print(error, file=sys.stderr)
        return 1
    replace_text(root / ZENODO, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
