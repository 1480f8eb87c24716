"""Text as TeX and BibTeX write it. Reads none, and knows no record."""

from __future__ import annotations

import re

_TEX = {
    "\\": r"{\textbackslash}",
    "~": r"{\textasciitilde}",
    "^": r"{\textasciicircum}",
    **{character: f"\\{character}" for character in "&%$#_"},
}
_PAIR = {"{": r"\{", "}": r"\}"}
_ALONE = {"{": r"{\textbraceleft}", "}": r"{\textbraceright}"}
"""BibTeX counts braces even after a backslash, so one without its other has a name."""

_LIGATURES = {"--", "``", "''", "?`", "!`", ",,", "<<", ">>"}
"""What TeX prints as one sign."""

_ANY = re.compile("|".join(map(re.escape, sorted({*_TEX, *_PAIR, *_LIGATURES}))))
"""What is not written as it is: most texts have none."""


def tex(text: str) -> str:
    """Text as TeX writes it, so that BibTeX and what reads it give the text back."""
    if not _ANY.search(text):
        return text
    paired = _paired(text)
    made = ""
    for index, character in enumerate(text):
        if text[index - 1 : index + 1] in _LIGATURES:
            made += "{}"
        braces = _PAIR if index in paired else _ALONE
        made += braces.get(character) or _TEX.get(character, character)
    return made


def _paired(text: str) -> set[int]:
    """The places of braces that open and close one another."""
    waiting: list[int] = []
    found: set[int] = set()
    for index, character in enumerate(text):
        if character == "{":
            waiting.append(index)
        elif character == "}" and waiting:
            found |= {waiting.pop(), index}
    return found
