"""Does the browser cut any text into the tokens that the build does, and that an independent program says?

    python -m tests.bench.own_text [STRINGS]

Cuts 10,000 strings (emoji and normalisation tests of Unicode, random characters, code, Chinese, Arabic, mixtures of
these, very long words) three times: at build (hooks.writing.tokens), in Chromium by the script that the site loads,
and by tiktoken over the vocabulary that the package dashscope carries. Prints counts and the first strings that
differ.

Needs, beyond the group test: `pip install tiktoken` and `pip install --no-deps dashscope`; Debian's packages chromium
and unicode-data, or their places in CHROMIUM and UNICODE_DATA.

tiktoken does not normalise. What it is given was put into NFC by Python, whose Unicode is newer than the tokenizer's: a
string with a mark of a later version is another string for the two of them. Such strings are counted apart: there
tiktoken must agree once it is given the text as the build normalised it.
"""

from __future__ import annotations

import base64
import bz2
import json
import os
import random
import re
import sys
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from importlib.metadata import files
from itertools import cycle
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from hooks.caching.cache import Cache
from hooks.data import store
from hooks.widgets import browser_tokenizer
from hooks.writing import tokens
from tests.browser.conftest import CHROMIUM, FLAGS, ROOT

UNICODE = Path(os.environ.get("UNICODE_DATA", "/usr/share/unicode"))
COUNT = 10_000
AT_ONCE = 200

Cut = list[tuple[str, list[int]]]
"""Pieces: texts with the ids in them."""


# --- the strings ------------------------------------------------------------------------------------


def strings(count: int) -> Iterator[tuple[str, str]]:
    """Kinds and strings, the same at each call."""
    chance = random.Random(20)
    emoji, composed = (sorted(set(tests())) for tests in (emoji_tests, normalisation_tests))
    next_emoji = cycle(chance.sample(emoji, len(emoji)))
    next_composed = cycle(chance.sample(composed, len(composed)))

    def mixture() -> str:
        parts = (
            next(next_emoji),
            next(next_composed),
            characters(chance, EVERYTHING, 9),
            "a é b",
            "<|im_end|>",
        )
        return " ".join(chance.choice(parts) for _ in range(chance.randint(2, 8)))

    for share, kind, make in (
        (25, "emoji", lambda: next(next_emoji)),
        (30, "normalisation", lambda: next(next_composed)),
        (15, "random", lambda: characters(chance, EVERYTHING, 40)),
        (10, "code", lambda: code(chance)),
        (5, "Chinese", lambda: characters(chance, CHINESE, 60)),
        (5, "Arabic", lambda: characters(chance, ARABIC, 60)),
        (8, "mixed", mixture),
        (2, "long words", lambda: long_word(chance)),
    ):
        yield from ((kind, make()) for _ in range(count * share // 100))


def emoji_tests() -> Iterator[str]:
    """Every sequence of emoji-test.txt and its companions."""
    for name in ("emoji-test.txt", "emoji-sequences.txt", "emoji-zwj-sequences.txt"):
        for line in (UNICODE / "emoji" / name).read_text(encoding="utf-8").splitlines():
            codes = line.partition("#")[0].partition(";")[0].split()
            if codes and ".." not in codes[0]:
                yield "".join(chr(int(code, 16)) for code in codes)


def normalisation_tests() -> Iterator[str]:
    """Every string of NormalizationTest.txt, each column of it."""
    path = UNICODE / "NormalizationTest.txt"
    text = (
        path.read_text(encoding="utf-8")
        if path.exists()
        else bz2.decompress(path.with_name(f"{path.name}.bz2").read_bytes()).decode()
    )
    for line in text.splitlines():
        columns = line.partition("#")[0].split(";")
        if len(columns) >= 5:
            yield from ("".join(chr(int(code, 16)) for code in column.split()) for column in columns[:5])


EVERYTHING = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
ASSIGNED = [character for character in EVERYTHING if unicodedata.category(character) not in ("Cn", "Co")]
CHINESE = [*map(chr, range(0x4E00, 0x9FFF)), *"，。！？、《》“”：；（）0123 Aa\n"]
ARABIC = [*map(chr, range(0x0620, 0x0653)), *map(chr, range(0x0660, 0x066A)), *"،؛؟ " * 4, "\u200d", "\u200f"]


def characters(chance: random.Random, among: list[str], most: int) -> str:
    """Random ones; of all of Unicode, most are drawn among those that mean something."""
    if among is EVERYTHING and chance.random() < 0.8:
        among = ASSIGNED
        if chance.random() < 0.5:
            among = [
                character for character in chance.sample(ASSIGNED, 200) if ord(character) < 0x3000
            ] or ASSIGNED
    return "".join(chance.choice(among) for _ in range(chance.randint(1, most)))


SOURCES = sorted(Path(os.__file__).parent.glob("*.py"))


def code(chance: random.Random) -> str:
    """Lines of the standard library."""
    lines = chance.choice(SOURCES).read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    at = chance.randrange(max(1, len(lines) - 20))
    return "".join(lines[at : at + chance.randint(1, 20)]) or "pass"


def long_word(chance: random.Random) -> str:
    """One word of up to ten thousand letters, with a few marks and emoji in some."""
    letters = chance.choice(
        ["ab", "abcdefghijklmnopqrstuvwxyz", "äöüé", "日本語", "🦔", "e\u0301", "0", "-", " "]
    )
    return "".join(chance.choice(letters) for _ in range(chance.randint(500, 10_000)))


# --- three programs ---------------------------------------------------------------------------------


def by_build(texts: Iterable[str], data: store.Store) -> list[Cut]:
    """The pieces as `{{ tokens }}` writes them."""
    return [[(piece.text, list(piece.ids)) for piece in tokens.tokenize(text, data)] for text in texts]


def by_browser(texts: list[str], data: store.Store) -> tuple[list[Cut], str]:
    """The pieces as the page's script gives them, from a file; and the browser's version."""
    made = browser_tokenizer.script(data, tokens.DEFAULT, Cache(None))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        (Path(folder) / "tokenizer.js").write_text(made.text, encoding="utf-8")
        page_file = Path(folder) / "page.html"
        page_file.write_text('<!doctype html><meta charset="utf-8"><script src="tokenizer.js"></script>')
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.goto(page_file.as_uri())
        page.evaluate(f"() => {{ window.cut = splicedTokenizers[{json.dumps(tokens.DEFAULT)}](); }}")
        found: list[Any] = []
        for at in range(0, len(texts), AT_ONCE):
            found += page.evaluate("texts => texts.map((text) => cut(text))", texts[at : at + AT_ONCE])
        version = browser.version
        browser.close()
    return [[(text, ids) for text, ids in pieces] for pieces in found], version


class Tiktoken:
    """tiktoken over the vocabulary and the pattern of dashscope; added tokens are those of the tokenizer's file."""

    def __init__(self, added: dict[str, int]) -> None:
        import tiktoken

        carried = {path.name: Path(str(path.locate())) for path in files("dashscope") or ()}
        pattern = re.search(
            r'^PAT_STR = r"""(.*?)"""', carried["qwen_tokenizer.py"].read_text(encoding="utf-8"), re.MULTILINE
        )
        assert pattern is not None
        lines = carried["qwen.tiktoken"].read_bytes().splitlines()
        ranks = {base64.b64decode(entry): int(rank) for entry, rank in map(bytes.split, filter(None, lines))}
        self.added = added
        self.encoding = tiktoken.Encoding(
            "qwen", pat_str=pattern[1], mergeable_ranks=ranks, special_tokens={}
        )
        self.splitter = re.compile(f"({'|'.join(map(re.escape, added))})")

    def ids(self, text: str, normalise: Any) -> list[int]:
        """The ids of the text, normalised between its added tokens."""
        found: list[int] = []
        for part in self.splitter.split(text):
            found += (
                [self.added[part]] if part in self.added else self.encoding.encode_ordinary(normalise(part))
            )
        return found


# --- the comparison ---------------------------------------------------------------------------------


def main() -> int:
    """Print the counts; 1 where an id differs. Pieces may: they end where the browser's Unicode ends a character."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    pairs = [(kind, text.replace("\0", "")) for kind, text in strings(count)]
    pairs = [(kind, text) for kind, text in pairs if text]
    texts = [text for _, text in pairs]
    data = store.load_cached(ROOT / "site_data")
    built = by_build(texts, data)
    shown, version = by_browser(texts, data)
    record = json.loads(tokens.content(data))
    tiktoken = Tiktoken({token["content"]: token["id"] for token in record["added_tokens"]})
    tokenizer = tokens.load(data)

    kinds: dict[str, dict[str, int]] = {}
    differing: list[str] = []
    for (kind, text), at_build, in_browser in zip(pairs, built, shown, strict=True):
        row = kinds.setdefault(kind, dict.fromkeys(COLUMNS, 0))
        ids = [id_ for _, piece in at_build for id_ in piece]
        row["strings"] += 1
        row["tokens"] += len(ids)
        row["pieces differ"] += at_build != in_browser
        row["ids differ"] += ids != [id_ for _, piece in in_browser for id_ in piece]
        by_python = tiktoken.ids(text, lambda part: unicodedata.normalize("NFC", part)) == ids
        by_tokenizer = tiktoken.ids(text, tokenizer.normalizer.normalize_str) == ids
        row["newer marks"] += by_tokenizer and not by_python
        row["tiktoken differs"] += not by_tokenizer
        if at_build != in_browser or not by_tokenizer:
            differing.append(f"{kind}: {text[:80]!a}\n  build   {at_build[:8]}\n  browser {in_browser[:8]}")
    print(f"Chromium {version}; Python's Unicode {unicodedata.unidata_version}; {len(texts):,} strings\n")
    print(f"{'':16}" + "".join(f"{name:>18}" for name in COLUMNS))
    total = {name: sum(row[name] for row in kinds.values()) for name in COLUMNS}
    for kind, row in {**kinds, "all": total}.items():
        print(f"{kind:16}" + "".join(f"{row[name]:18,}" for name in COLUMNS))
    print("\n" + ("\n".join(differing[:20]) or "Nothing differs."))
    return 1 if total["ids differ"] or total["tiktoken differs"] else 0


COLUMNS = ("strings", "tokens", "ids differ", "pieces differ", "tiktoken differs", "newer marks")


if __name__ == "__main__":
    sys.exit(main())
