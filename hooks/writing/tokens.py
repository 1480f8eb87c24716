"""Text cut into the tokens of a pinned tokenizer, and their HTML. Looks up nothing else.

The tokenizer file is in site_data/tokenizers/NAME/, compressed; the sha256 of its content is checked each
time it is loaded. A character can span several tokens (an emoji is often three). Since half a character
cannot be shown, such tokens come as one piece with all their ids.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from hooks.caching.cache import Cache, digest, file_digest
from hooks.data.store import Store
from hooks.errors import Place, PublishError, nearest
from hooks.markup import exact

if TYPE_CHECKING:
    from tokenizers import Tokenizer

DEFAULT = "qwen2.5"
"""The tokenizer of the model that the site measures."""


@dataclass(frozen=True)
class Piece:
    """Text that can be shown, and the ids of the tokens in it: one, or more where a character is cut."""

    text: str
    ids: tuple[int, ...]


def tokenize(text: str, store: Store, name: str = DEFAULT, kept: Cache | None = None) -> tuple[Piece, ...]:
    """The pieces of `text`; their texts joined are exactly `text`.

    Args:
        text: Any text.
        store: Where the tokenizer is.
        name: Of the tokenizer.
        kept: Pieces of earlier times: a tokenizer takes a third of a second to be loaded.

    Raises:
        PublishError: The tokenizer is unknown or its file is not the pinned one; or the text holds
            something that no page can show (a lone surrogate, a NUL).
    """
    for character in text:
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise PublishError(
                f"a page cannot show U+{ord(character):04X}",
                expected="text",
                found=ascii(character),
                mend="leave the character out",
            )
    key = _key(text, store, name)
    known = kept.get("tokens", key) if kept else None
    if known is not None:
        return tuple(Piece(part, tuple(ids)) for part, ids in known)
    tokenizer = load(store, name)
    encoding = tokenizer.encode(text, add_special_tokens=False)
    # A tokenizer may normalise (é as one character or two), and offsets then speak of the original text.
    pieces = tuple(_pieces(text, encoding.ids, encoding.offsets))
    if kept:
        kept.put("tokens", key, [[piece.text, piece.ids] for piece in pieces])
    return pieces


def _key(text: str, store: Store, name: str) -> str:
    """A hash of all that pieces are made of: the text, the file, what it should be, and the code."""
    record = store.tokenizers.get(name, {})
    file = file_digest(store.folder / "tokenizers" / name / record.get("file", ""))
    versions = [version(package) for package in ("tokenizers", "wcwidth")]
    return digest("tokens", text, file, dict(record), versions, file_digest(__file__))


def html(pieces: Iterable[Piece], *, focus: bool = True) -> str:
    """A span for each piece; their text content joined is exactly the source text.

    With `focus` each can be reached with the Tab key, so that its id can be seen without a pointer.
    """
    reach = ' tabindex="0"' if focus else ""
    return "".join(
        f'<span class="token" data-token-id="{" ".join(map(str, piece.ids))}"{reach}>{exact(piece.text)}</span>'
        for piece in pieces
    )


def count(pieces: Iterable[Piece]) -> int:
    """How many tokens they are: more than pieces, where a character is cut."""
    return sum(len(piece.ids) for piece in pieces)


def load(store: Store, name: str = DEFAULT) -> Tokenizer:
    """The tokenizer in site_data/tokenizers/NAME/, checked against its sha256."""
    path = file_of(store, name)
    record = store.tokenizers[name]
    state = path.stat()
    return _load(path, record["sha256"], record["entries"], state.st_mtime_ns, state.st_size)


def content(store: Store, name: str = DEFAULT) -> bytes:
    """Its tokenizer.json, checked against its sha256."""
    return _content(file_of(store, name), store.tokenizers[name]["sha256"])


def file_of(store: Store, name: str) -> Path:
    """The tokenizer's file, which is there.

    Raises:
        PublishError: It is not, or the tokenizer is unknown.
    """
    if name not in store.tokenizers:
        raise PublishError(
            f"there is no tokenizer `{name}`",
            expected=", ".join(store.tokenizers) or "one in site_data/tokenizers/",
            found=name,
            nearest=nearest(name, store.tokenizers),
            mend="use a known one",
        )
    record = store.tokenizers[name]
    path: Path = store.folder / "tokenizers" / name / record["file"]
    if not path.is_file():
        raise PublishError(
            "there is no such file",
            place=Place(str(path)),
            expected=f"the tokenizer with sha256 {record['sha256']}",
            mend=f"`git checkout -- {path}`",
        )
    return path


def _content(path: Path, sha256: str) -> bytes:
    try:
        text = lzma.decompress(path.read_bytes())
    except lzma.LZMAError as error:
        raise PublishError(
            "this is not a whole xz file",
            place=Place(str(path)),
            found=str(error),
            mend=f"`git checkout -- {path}`",
        ) from error
    found = hashlib.sha256(text).hexdigest()
    if found != sha256:
        raise PublishError(
            "this is not the pinned tokenizer",
            place=Place(str(path)),
            expected=f"sha256 {sha256}",
            found=f"sha256 {found}",
            mend=f"`git checkout -- {path}`, or pin another file in origin.json beside it",
        )
    return text


@lru_cache(maxsize=4)
def _load(path: Path, sha256: str, entries: int, modified: int, size: int) -> Tokenizer:
    from tokenizers import Tokenizer  # only where text is cut

    tokenizer = Tokenizer.from_buffer(_content(path, sha256))
    if tokenizer.get_vocab_size() != entries:
        raise PublishError(
            "the tokenizer has another vocabulary than origin.json says",
            place=Place(str(path)),
            expected=f"{entries} entries",
            found=f"{tokenizer.get_vocab_size()} entries",
            mend="correct origin.json",
        )
    return tokenizer


def _pieces(text: str, ids: list[int], offsets: list[tuple[int, int]]) -> list[Piece]:
    """Merge tokens until every piece begins and ends between two graphemes."""
    from wcwidth import iter_graphemes  # only where text is cut

    cuts = set(accumulate(map(len, iter_graphemes(text))))
    pieces: list[Piece] = []
    begin = 0
    held: list[int] = []
    reached = 0
    for index, (id_, (_, end)) in enumerate(zip(ids, offsets, strict=True)):
        held.append(id_)
        reached = max(reached, end)
        next_begin = offsets[index + 1][0] if index + 1 < len(offsets) else len(text)
        if next_begin >= reached and next_begin in cuts and next_begin > begin:
            pieces.append(Piece(text[begin:next_begin], tuple(held)))
            begin, held = next_begin, []
    if begin < len(text) or held:
        if not pieces or begin < len(text):
            pieces.append(Piece(text[begin:], tuple(held)))
        else:
            last = pieces.pop()
            pieces.append(Piece(last.text, (*last.ids, *held)))
    return pieces
