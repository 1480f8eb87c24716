"""How plain are the primers? Prints the grade that several readability formulas give each primer and note.

A grade is the years of school after which a reader follows; the tenth is within what a secondary school teaches. The
formulas count letters, syllables and words, so they see long words and long sentences and nothing else. Run by hand:

    python -m tests.bench.readability
"""

from __future__ import annotations

import re
import statistics

import readability

from tests import sentences
from tests.publish.fixture_data import ROOT

FORMULAS = {
    "Kincaid": "Flesch–Kincaid",
    "ARI": "automated (ARI)",
    "Coleman-Liau": "Coleman–Liau",
    "GunningFogIndex": "Gunning fog",
    "SMOGIndex": "SMOG",
}
_WORD = re.compile(r"\w+(?:[’'-]\w+)*")


def main() -> None:
    """Print a row for each page."""
    print(
        f"{'page':46}{'words':>7}{'longest':>9}",
        *(f"{name:>17}" for name in FORMULAS.values()),
        f"{'median':>9}",
    )
    for page in sentences.pages(ROOT / "docs", "primers/", "notes/"):
        found = list(sentences.of(page))
        # The library takes a sentence a line, its words parted by spaces.
        lines = "\n".join(" ".join(_WORD.findall(one.text)) for one in found)
        grades = readability.getmeasures(lines, lang="en")["readability grades"]
        values = [grades[name] for name in FORMULAS]
        print(
            f"{page.uri:46}{sum(one.words for one in found):7,}{max(one.words for one in found):9}",
            *(f"{value:17.1f}" for value in values),
            f"{statistics.median(values):9.1f}",
        )


if __name__ == "__main__":
    main()
