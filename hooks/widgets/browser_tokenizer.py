"""A pinned tokenizer as one script for a browser: the library, the vocabulary, and what cuts text. Shows none of it.

The script is made of hooks/browser/ (a library of another project, unchanged, and our few lines around it) and of the
same file that the build cuts text with. It needs no request but its own, evaluates no text as code, and works from a
file.

The vocabulary is written in the order of its ids, and each merge as the place where it cuts an entry: a third of the
tokenizer's own JSON once compressed. What this file's rules call a letter or a digit, and which characters its
normalisation touches, depends on the version of Unicode of whoever applies them. So the build asks its own tokenizer.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hooks.caching.cache import Cache, digest, file_digest, of_environment
from hooks.data.store import Store
from hooks.errors import Place, PublishError
from hooks.writing import tokens

if TYPE_CHECKING:
    from tokenizers.normalizers import Normalizer

FOLDER = Path(__file__).parents[1] / "browser"
"""The library with its licence and origin, and our lines around it."""

ZERO = 32
"""The character that stands for a cut after no letter."""


@lru_cache(maxsize=1)
def _every() -> str:
    """Every character of the planes that hold any, but for those of private use, neither letters nor composed."""
    return "".join(map(chr, (*range(0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xE1000))))


@dataclass(frozen=True)
class Script:
    """The script: its path and that of its licences, from the site's root; both texts; its size once compressed."""

    path: str
    text: str
    licence_path: str
    licence: str
    gzip_bytes: int


def script(store: Store, name: str, kept: Cache) -> Script:
    """The script of the tokenizer `name`.

    Raises:
        PublishError: The tokenizer is unknown or not the pinned one; it works in a way that the script does not
            follow; or the library is not the pinned one.
    """
    key = _key(store, name)
    known = kept.get("browser-tokenizer", key)
    if known is None:
        text = _text(store, name, kept)
        size = len(gzip.compress(text.encode(), 9, mtime=0))
        known = {"text": text, "sha256": hashlib.sha256(text.encode()).hexdigest(), "gzip_bytes": size}
        kept.put("browser-tokenizer", key, known)
    path = f"assets/tokenizer-{name}-{known['sha256'][:12]}.js"
    return Script(
        path,
        known["text"],
        f"assets/tokenizer-{name}.licence.txt",
        _licence(store, name),
        known["gzip_bytes"],
    )


def library(folder: Path = FOLDER) -> str:
    """The library's source.

    Raises:
        PublishError: It is not the pinned one.
    """
    origin = json.loads((folder / "origin.json").read_text(encoding="utf-8"))
    path: Path = folder / origin["file"]
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != origin["sha256"]:
        raise PublishError(
            "this is not the pinned library",
            place=Place(str(path)),
            expected=f"sha256 {origin['sha256']}",
            found=f"sha256 {found}",
            mend=f"`git checkout -- {path}`, or pin another version in origin.json beside it",
        )
    return content.decode()


def _key(store: Store, name: str) -> str:
    files = [Path(__file__), *sorted(FOLDER.iterdir()), tokens.file_of(store, name)]
    sources = [file_digest(path) for path in files]
    return digest("browser-tokenizer", dict(store.tokenizers[name]), sources, version("tokenizers"))


def _text(store: Store, name: str, kept: Cache) -> str:
    origin = json.loads((FOLDER / "origin.json").read_text(encoding="utf-8"))
    place = Place(str(tokens.file_of(store, name)))
    made = data(json.loads(tokens.content(store, name)), place, of_environment(kept))
    return "\n".join(
        [
            f"/* {origin['title']} {origin['version']} ({origin['licence']}, {origin['url']}) and the "
            f"{store.tokenizers[name]['title']} ({store.tokenizers[name]['origin']['licence']},",
            f"   {store.tokenizers[name]['origin']['url']}).",
            f"   Both licences: tokenizer-{name}.licence.txt, beside this file. */",
            '(() => {\n"use strict";',
            "const library = (() => {\nconst module = { exports: {} };",
            library(),
            "return module.exports;\n})();",
            (FOLDER / "tokenizer.js").read_text(encoding="utf-8"),
            f"const data = {json.dumps(made, ensure_ascii=False, separators=(',', ':'))};",
            f"(globalThis.splicedTokenizers ??= {{}})[{json.dumps(name)}] = () => cutter(library, data);",
            "})();\n",
        ]
    )


def _licence(store: Store, name: str) -> str:
    of_tokenizer = (store.folder / "tokenizers" / name / "LICENSE").read_text(encoding="utf-8")
    of_library = (FOLDER / "LICENSE").read_text(encoding="utf-8")
    title = json.loads((FOLDER / "origin.json").read_text(encoding="utf-8"))["title"]
    return f"{title}\n\n{of_library}\n\n{store.tokenizers[name]['title']}\n\n{of_tokenizer}"


def data(tokenizer: dict[str, Any], place: Place, tables: Cache | None = None) -> dict[str, Any]:
    """What `cutter` in browser/tokenizer.js takes, from a tokenizer.json.

    Args:
        tokenizer: What the file holds.
        place: The file.
        tables: Where the characters of rules are kept. They are made of the package that cuts text alone, which is
            asked about each character that there is.
    """
    tables = tables or Cache(None)
    model = dict(tokenizer["model"])
    entries = _entries(model.pop("vocab"), place)
    cuts = _cuts(model.pop("merges"), entries, place)
    normalizer = tokenizer["normalizer"]
    if normalizer not in (None, {"type": "NFC"}):
        raise _unlike("normaliser", "NFC or none", normalizer, place)
    rest = {key: value for key, value in tokenizer.items() if key not in ("model", "normalizer")}
    if "P{" in str(rest["pre_tokenizer"]):
        raise _unlike("pattern for words", "properties of Unicode as \\p{…}", "\\P{…}", place)
    return {
        "entries": "\n".join(entries),
        "cuts": "".join(chr(ZERO + cut) for cut in cuts),
        "zero": ZERO,
        "touched": _listed("touched by NFC", touched_by_nfc, tables) if normalizer else "",
        "rest": {**rest, "pre_tokenizer": _spelled_out(rest["pre_tokenizer"], tables), "model": model},
    }


def _entries(vocab: dict[str, int], place: Place) -> list[str]:
    entries = sorted(vocab, key=vocab.__getitem__)
    if [vocab[entry] for entry in entries] != list(range(len(entries))) or any(
        "\n" in one for one in entries
    ):
        raise _unlike("vocabulary", "ids from 0 without a gap, and no line feeds", "another one", place)
    return entries


def _cuts(merges: list[str], entries: list[str], place: Place) -> list[int]:
    """For each merge the length of its first half; merge by merge they make the last entries."""
    cuts = []
    for merge, entry in zip(merges, entries[len(entries) - len(merges) :], strict=True):
        first, _, second = merge.partition(" ")
        if first + second != entry:
            raise _unlike("list of merges", f"one that makes `{entry}`", f"`{merge}`", place)
        cuts.append(len(first))
    return cuts


def _unlike(what: str, expected: str, found: Any, place: Place) -> PublishError:
    return PublishError(
        f"a browser cannot follow this tokenizer's {what}",
        place=place,
        expected=expected,
        found=str(found),
        mend="teach hooks/widgets/browser_tokenizer.py about it, or show its tokens by {{ tokens … }} alone",
    )


def _listed(name: str, make: Callable[[], Iterable[str]], tables: Cache) -> str:
    """What `_set` makes of characters, kept under this name for this package and this code."""
    key = digest("characters", name, version("tokenizers"), sys.version, file_digest(__file__))
    known = tables.get("characters", key)
    if not isinstance(known, str):
        known = _set(make())
        tables.put("characters", key, known)
    return known


def _spelled_out(rules: dict[str, Any], tables: Cache) -> dict[str, Any]:
    """The rules that split text into words, each property of Unicode in their patterns as a list of characters."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: spelled(item, tables) if key == "Regex" else walk(item) for key, item in value.items()
            }
        return [walk(item) for item in value] if isinstance(value, list) else value

    return walk(rules)  # type: ignore[no-any-return]


def spelled(pattern: str, tables: Cache) -> str:
    r"""The pattern with `\p{…}` spelled out, inside and outside of brackets."""
    made, depth = "", 0
    for part in re.findall(r"\\p\{[^}]*\}|\\.|.", pattern, re.DOTALL):
        if part.startswith("\\p{"):
            listed = _listed(part, partial(members, part), tables)
            made += listed if depth else f"[{listed}]"
            continue
        depth += (part == "[") - (part == "]")
        made += part
    return made


@lru_cache(maxsize=8)
def members(pattern: str) -> frozenset[str]:
    """The characters that the pattern of one character matches, as the build's own tokenizer takes them."""
    from tokenizers import Regex, pre_tokenizers  # only where the script is made

    rule = pre_tokenizers.Split(Regex(f"(?:{pattern})+"), "removed")
    others: set[str] = set()
    for run, _ in rule.pre_tokenize_str(_every()):
        others.update(run)
    return frozenset(_every()).difference(others)


def touched_by_nfc() -> set[str]:
    """The characters that the build's own normalisation changes, puts together or puts in another order."""
    from tokenizers import normalizers  # only where the script is made

    rule = normalizers.NFD()
    found: set[str] = set()
    for character, parts in zip(_every(), _each(rule, ("", "")), strict=True):
        if parts != character:
            found.update(character, parts)  # what is taken apart here is what may be put together
    # One that moves past a mark of the least or the greatest class has a class of its own.
    for before, after in (("", "\u0334"), ("\u0345", "")):
        for character, parts in zip(_every(), _each(rule, (before, after)), strict=True):
            if parts != before + character + after:
                found.add(character)
    return found


def _each(rule: Normalizer, around: tuple[str, str]) -> Iterable[str]:
    """What the rule makes of each character between two others, all in one call."""
    before, after = around
    between = "\N{OBJECT REPLACEMENT CHARACTER}"  # normalisation neither changes nor crosses it
    lines = between.join(f"{before}{character}{after}" for character in _every() if character != between)
    made = iter(rule.normalize_str(lines).split(between))
    return [f"{before}{character}{after}" if character == between else next(made) for character in _every()]


def _set(characters: Iterable[str]) -> str:
    """The characters as the inside of brackets, with escapes that both the tokenizer and a browser read."""
    ranges: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(_escape(first) + (f"-{_escape(last)}" if last > first else "") for first, last in ranges)


def _escape(code: int) -> str:
    return f"\\u{{{code:x}}}"
