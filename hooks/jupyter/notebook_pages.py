"""A notebook as a page: its cells as one Markdown source, and what its execution printed. Executes nothing.

mkdocs-jupyter executes the notebook (`hooks.jupyter.execution`) and makes HTML of the outputs of its cells, by the
template in mkdocs_html/. The rest of a notebook is Markdown to be rendered here, so that a notebook looks like any
other page, is as light, and its text takes the same placeholders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hooks.caching.opened import Seen, take
from hooks.errors import Place, PublishError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

__all__ = ["Notebook", "PublishError"]

_PRINTED = re.compile(r'<script type="application/json">(.*?)</script>')
_BLOCKED = ("style", "link", "iframe")
_HIDDEN = "hide-input"
_NUMBER = re.compile(r"[-−+]?[\d,]*\.?\d+(?:e[-+]\d+)?|NaN|<NA>")
"""Tag of a code cell whose code the page leaves out."""


@dataclass(frozen=True)
class Cell:
    """A cell: `number` counts all cells from 1, as an editor shows them."""

    number: int
    kind: str
    source: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Notebook:
    """A notebook as read from its file. `meta` is what other pages say in front matter: its metadata's `page`."""

    name: str
    meta: Mapping[str, str]
    cells: tuple[Cell, ...]
    markdown: str
    _starts: tuple[tuple[int, Cell], ...]

    @classmethod
    def read(cls, path: Path, name: str) -> Notebook:
        """Read an .ipynb file; `name` is what errors call it.

        Raises:
            PublishError: It is no notebook.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            meta = dict(data["metadata"].get("page", {}))
            cells = tuple(
                Cell(
                    number,
                    cell["cell_type"],
                    "".join(cell["source"]),
                    tuple(cell.get("metadata", {}).get("tags", ())),
                )
                for number, cell in enumerate(data["cells"], 1)
            )
        except (ValueError, KeyError, TypeError) as error:
            raise PublishError(
                "this is not a notebook",
                place=Place(name),
                expected="an .ipynb file of format 4",
                found=f"{type(error).__name__}: {error}",
                mend="save it from Jupyter again",
            ) from error
        markdown, starts = _join(cells)
        return cls(name, meta, cells, markdown, starts)

    def locate(self, line: int) -> Place:
        """The place in the notebook of a line of `markdown`."""
        found = Place(self.name)
        for start, cell in self._starts:
            if start <= line:
                found = Place(self.name, line - start + 1, cell.number)
        return found

    def outputs(self, html: str) -> tuple[dict[int, str], Seen]:
        """The HTML of each code cell's output by the cell's number, and what the cells read.

        Args:
            html: mkdocs-jupyter's HTML of the executed notebook, by our template.

        Raises:
            PublishError: Its HTML is not of the kind that is known here, or needs a script.
        """
        from bs4 import BeautifulSoup

        code = [cell for cell in self.cells if cell.kind == "code" and cell.source.strip()]
        printed = [json.loads(outputs) for outputs in _PRINTED.findall(html)]
        if len(printed) != len(code):
            raise PublishError(
                "the executed notebook has other cells than its file",
                place=Place(self.name),
                expected=f"{len(code)} code cells",
                found=f"{len(printed)} in mkdocs-jupyter's HTML",
                mend="report this: hooks/jupyter/notebook_pages.py reads another version of mkdocs-jupyter",
            )
        made: dict[int, str] = {}
        reads: Seen = {}
        for cell, outputs in zip(code, printed, strict=True):
            parts = []
            for output in outputs:
                report = take(output)
                reads |= report or {}
                if report is not None:
                    continue
                soup = BeautifulSoup(output, "html.parser")
                if soup.find("script"):
                    raise PublishError(
                        "an output of this cell needs a script, which a page may not have",
                        place=Place(self.name, cell=cell.number),
                        expected="text, a table, a picture, or a figure of hooks.notebook",
                        found="HTML with a script, as Altair and others show their charts",
                        mend="show an Altair chart with picture(…) from hooks.notebook, others as an image",
                    )
                parts.append(_cleaned(soup))
            inner = "".join(parts)
            made[cell.number] = f'<div class="cell-output">{inner}</div>' if inner else ""
        return made, reads

    def fill(self, html: str, outputs: Mapping[int, str]) -> str:
        """The page's HTML with each output in its place."""
        return _OUTPUT.sub(lambda match: outputs.get(int(match[1]), ""), html)

    def raised(self, error: Exception) -> PublishError:
        """The error for a cell that raised: it names the cell, the line and the exception."""
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        code = [cell for cell in self.cells if cell.kind == "code" and cell.source.strip()]
        failed = max(
            (cell for cell in code if cell.source.strip() in text),
            key=lambda cell: len(cell.source),
            default=None,
        )
        lines = re.findall(r"Cell In\[\d+\], line (\d+)", text)
        name, value = getattr(error, "ename", ""), getattr(error, "evalue", "")
        return PublishError(
            "a cell raised an exception",
            place=Place(self.name, int(lines[0]) if lines else None, failed.number if failed else None),
            expected="every cell to run on today's data",
            found=f"{name}: {value}" if name else text.strip().splitlines()[-1],
            mend="mend the cell, or the data that it reads",
        )


_OUTPUT = re.compile(r'<div data-cell-output="(\d+)"></div>')


def _join(cells: tuple[Cell, ...]) -> tuple[str, tuple[tuple[int, Cell], ...]]:
    """One Markdown source, and the line on which each cell's own source begins."""
    lines: list[str] = []
    starts: list[tuple[int, Cell]] = []
    for cell in cells:
        if not cell.source.strip():
            continue
        if cell.kind == "markdown":
            starts.append((len(lines) + 1, cell))
            lines += [*cell.source.split("\n"), ""]
        elif cell.kind == "code":
            if _HIDDEN not in cell.tags:
                fence = "`" * max(
                    3, 1 + max((len(ticks) for ticks in re.findall("`+", cell.source)), default=0)
                )
                lines.append(f"{fence}python")
                starts.append((len(lines) + 1, cell))
                lines += [*cell.source.rstrip().split("\n"), fence, ""]
            lines += [f'<div data-cell-output="{cell.number}"></div>', ""]
    return "\n".join(lines), tuple(starts)


def _cleaned(output: BeautifulSoup) -> str:
    """What the cell printed, without anything that a page may not have."""
    for blocked in output.find_all(_BLOCKED):
        blocked.decompose()
    for item in output.find_all(True):
        item.attrs.pop("style", None)  # the site's policy has none of it
        if item.name == "table" and "dataframe" in item.get_attribute_list("class"):
            item.attrs.pop("border", None)
            cells = [cell.get_text(strip=True) for cell in item.select("tbody td")]
            if all(_NUMBER.fullmatch(cell) for cell in cells if cell):
                item["class"] = "dataframe of-numbers"
        elif item.name == "th":
            item.attrs.pop("halign", None)  # of pandas; HTML has no such attribute
            if not item.get_text(strip=True):
                item.name = "td"  # a corner of the table heads nothing
    return output.decode_contents().strip()
