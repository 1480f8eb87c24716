"""What a page shows of a cell's outputs: the same as mkdocs-jupyter's own page, whatever its kind. Executes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mkdocs_jupyter
import nbformat
import pytest
from bs4 import BeautifulSoup
from mkdocs_jupyter.config import settings
from mkdocs_jupyter.nbconvert2 import nb2html

from hooks.errors import PublishError
from hooks.jupyter import nursery
from hooks.jupyter.notebook_pages import Notebook

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
OUTPUTS: dict[str, dict[str, Any]] = {
    "printed": {"output_type": "stream", "name": "stdout", "text": "1 < 2 & \x1b[1;31mred\x1b[0m {{ x }}\n"},
    "warned": {"output_type": "stream", "name": "stderr", "text": "</script><b>\n"},
    "raised": {
        "output_type": "error",
        "ename": "E",
        "evalue": "no",
        "traceback": ["\x1b[0;31m---\x1b[0m", "E: <no>"],
    },
    "plain": {"data": {"text/plain": "<Figure> & 'quoted'"}},
    "html": {
        "data": {"text/html": "<p class=a>x<br>&lt;b&gt; \u2028 é</p><!-- <script> -->", "text/plain": "x"}
    },
    "markdown": {"data": {"text/markdown": "**bold** $a<b$\n\n- item"}},
    "latex": {"data": {"text/latex": "$a < b$"}},
    "svg": {"data": {"image/svg+xml": "<svg><title>&amp;</title></svg>"}},
    "png": {"data": {"image/png": PNG}, "metadata": {"image/png": {"width": 12, "height": 8}}},
    "jpeg": {"data": {"image/jpeg": PNG}},
}


def write(folder: Path, *outputs: dict[str, Any]) -> Path:
    """A notebook with one code cell for each output, between cells of other kinds."""
    cells = [nbformat.v4.new_markdown_cell("# Text")]
    for output in outputs:
        made = nbformat.from_dict({"output_type": "display_data", "metadata": {}, **output})
        if "data" not in output:
            del made["metadata"]
        cells += [nbformat.v4.new_code_cell("x", outputs=[made]), nbformat.v4.new_code_cell("")]
    path = folder / "note.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def shown(path: Path) -> dict[int, str]:
    return Notebook.read(path, "note.ipynb").outputs(nursery._html(str(path)))[0]


def test_outputs_are_what_mkdocs_jupyter_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, *OUTPUTS.values())
    monkeypatch.setattr(settings, "templates_dir", str(Path(mkdocs_jupyter.__file__).parent / "templates"))
    theirs = BeautifulSoup(nb2html(str(path), custom_mathjax_url=""), "html.parser")
    expected = [text(item.decode_contents()) for item in theirs.select(".jp-OutputArea-output")]
    made = shown(path)
    assert list(made) == [2 + 2 * number for number in range(len(OUTPUTS))]
    found = [
        text(html.removeprefix('<div class="cell-output">').removesuffix("</div>")) for html in made.values()
    ]
    assert dict(zip(OUTPUTS, found, strict=True)) == dict(zip(OUTPUTS, expected, strict=True))


def text(html: str) -> str:
    """HTML in one form, without classes and styles that a page of this site does not have."""
    soup = BeautifulSoup(html.replace("<pre>\n", "<pre>"), "html.parser")  # no browser shows such a line
    for item in soup.find_all(True):
        item.attrs.pop("style", None)
        if item.name in ("img", "div"):
            item.attrs.pop("class", None)
        item.attrs = dict(sorted(item.attrs.items()))
    return soup.decode_contents().strip()


@pytest.mark.parametrize(
    "data",
    [
        {"text/html": "<p>x</p><script>alert(1)</script>"},
        {"application/javascript": "alert(1)"},
        {"text/vnd.mermaid": "graph TD"},
    ],
    ids=lambda data: next(iter(data)),
)
def test_what_needs_a_script_is_refused(data: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(PublishError, match=r"note\.ipynb, cell 2: an output of this cell needs a script"):
        shown(write(tmp_path, {"data": data}))
