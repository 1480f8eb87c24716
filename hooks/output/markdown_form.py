"""A page as Markdown with its numbers filled in, made of the HTML that it was rendered to. Renders nothing itself.

For people who read with other tools, and for programs. A chart is there as its title, its finding and its data; tokens
are marked; popovers and buttons are left out. Whatever text the data hold stays text: nothing in it becomes markup.
"""

from __future__ import annotations

import copy
import json
import posixpath
import re
from collections.abc import Collection, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hooks.caching.cache import Cache, digest, file_digest

if TYPE_CHECKING:
    from bs4 import Tag

SUFFIX = ".md"

_LINK = re.compile(r'(?P<before><a\b[^<>]*? href=")(?P<path>[^"#?:]+)\.html(?=["#])')
_SLOT = re.compile(r'(<(?:bdi|svg)\b[^<>]*? data-slot=")[^"]*')
_LEFT_OUT = {"svg", "canvas", "script", "style", "template", "noscript"}
_LEFT_OUT |= {"form", "search", "label", "input", "select", "textarea", "output", "button"}
_LEFT_OUT_CLASSES = {
    "headerlink",
    "footnote-backref",
    "provenance",
    "claim-mark",
    "chart-tools",
    "cite",
    "own-text-entry",
    "page-end",
    "markdown-skip",
}
"""Classes of what means nothing without a page around it; `markdown-skip` says only that."""

_HEADING = re.compile(r"h[1-6]")
_SPECIAL = re.compile(r"([\\`*\[\]]|<(?=[A-Za-z/!?])|~~|&(?=#?\w+;))")
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_ANY = re.compile(r"[\\`*\[\]<~&_#>|:=+-]|\d[.)]")
"""What text has that may need an escape: most has none."""

_HASHES = re.compile(r"(?<!\S)(#+)(?=\s|$)")
_LINE_START = re.compile(
    r"^([ \t]*)(?:(>|[-+=](?=\s|$)|=+(?=[ \t]*$)|[|:-][|: \t-]*(?=$))|(\d{1,9})([.)])(?=\s|$))", re.MULTILINE
)
"""What begins a block, where it begins a line: a quotation, a list, the line below a heading or a table's head."""
_UNSAFE_IN_ADDRESS = re.compile(r"[\s<>()\\]")
_NOT_YAML = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_SCHEMES = ("http:", "https:", "mailto:")


def path_of(page: str) -> str:
    """Where the Markdown of a page lies, from the path of its HTML."""
    return posixpath.splitext(page)[0] + SUFFIX


def convert(html: str, page: str, pages: Collection[str], kept: Cache) -> str:
    """The Markdown of a page's content.

    Args:
        html: The content, with or without its pictures and popovers.
        page: Path of the page's HTML in the site.
        pages: Those of all pages that have a Markdown form: links to them lead to that.
        kept: Results of earlier builds.
    """
    folder = posixpath.dirname(page)

    def lead_to_markdown(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, f"{match['path']}.html"))
        return f"{match['before']}{match['path']}{SUFFIX if target in pages else '.html'}"

    # A slot's name is a hash of what will stand in it, which no Markdown shows: it may change alone.
    html = _SLOT.sub(r"\1slot", _LINK.sub(lead_to_markdown, html))
    key = digest("markdown", _MADE_WITH, html)
    made = kept.get("markdown", key)
    if not isinstance(made, str):
        made = _converter().convert(html).strip() + "\n"
        made = re.sub(r"[ \t]+\n", "\n", re.sub(r"\n{3,}", "\n\n", made))
        kept.put("markdown", key, made)
    return made


def document(content: str, head: Mapping[str, str | None]) -> str:
    """A page's Markdown with a head that says what it is. Values are quoted, so that no text in them ends it."""
    lines = [f"{name}: {_quoted(value)}" for name, value in head.items() if value]
    return "\n".join(["---", *lines, "---", "", content])


def escape(text: str, *, in_table: bool = False) -> str:
    """Text that Markdown shows as it is."""
    if not _ANY.search(text):
        return text
    text = _UNDERSCORE.sub(r"\\_", _SPECIAL.sub(r"\\\1", text))
    text = _HASHES.sub(r"\\\1", text)
    text = _LINE_START.sub(lambda match: f"{match[1]}{match[3] or ''}\\{match[2] or match[4]}", text)
    return text.replace("|", "\\|") if in_table else text


def _quoted(value: str) -> str:
    """A line of text as YAML takes it, which escapes as JSON does."""
    text = json.dumps(" ".join(value.split()), ensure_ascii=False)
    return _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _made_with() -> str:
    return digest(file_digest(__file__), version("markdownify"), version("beautifulsoup4"))


_MADE_WITH = _made_with()


def _address(text: str) -> str | None:
    """An address as Markdown takes it; None for one that a reader should not follow."""
    text = _UNSAFE_IN_ADDRESS.sub(lambda match: quote(match[0]), text.strip())
    scheme = _SCHEME.match(text)
    return text if scheme is None or scheme[0].lower() in _SCHEMES else None


def _converter() -> Any:
    """The converter. The library takes a tenth of a second to be imported, and most builds convert no page."""
    from markdownify import ATX, MarkdownConverter

    class Converter(MarkdownConverter):
        """What the library does, with what it does not know: our elements, and text that may hold anything."""

        def process_tag(self, node: Tag, parent_tags: set[str] | None = None) -> str:
            classes = set(node.get("class") or ())
            if (
                node.name in _LEFT_OUT
                or classes & _LEFT_OUT_CLASSES
                or (node.name == "bdi" and node.get("data-slot"))
            ):
                return ""
            if "tokens" in classes:
                return _tokens(node, parent_tags or set())
            if node.name == "table":
                _tidy(node)
            return str(super().process_tag(node, parent_tags))  # type: ignore[misc]

        def escape(self, text: str, parent_tags: set[str]) -> str:
            return escape(text, in_table=bool({"td", "th"} & parent_tags))

        def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            if {"footnote-ref", "term"} & set(el.get("class") or ()):
                return text
            address = _address(str(el.get("href") or ""))
            if not address or not text.strip() or "_noformat" in parent_tags:
                return text
            before, after = (" " if text[:1].isspace() else ""), (" " if text[-1:].isspace() else "")
            return f"{before}[{' '.join(text.split())}]({address}){after}"

        def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            alt, address = escape(str(el.get("alt") or "")), _address(str(el.get("src") or ""))
            return f"![{' '.join(alt.split())}]({address})" if address else alt

        def convert_code(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            made = str(super().convert_code(el, text, parent_tags))  # type: ignore[misc]
            return made.replace("|", "\\|") if {"td", "th"} & parent_tags else made

        def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            return "\n".join(("", "", fence, text.strip("\n"), fence, "", "")) if text.strip() else ""

        def convert_span(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return f" {text} " if "data-text" in (el.get("class") or ()) else text

        def convert_sup(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            note = str(el.get("id") or "").startswith("fnref")
            return f"[^{text.strip()}]" if note else f"^{text}"

        def convert_sub(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return f"\\_{text}"

        def convert_hr(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            footnotes = el.parent is not None and "footnote" in (el.parent.get("class") or ())
            return "" if footnotes else "\n\n---\n\n"

        def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            if not str(el.get("id") or "").startswith("fn:"):
                return str(super().convert_li(el, text, parent_tags))  # type: ignore[misc]
            number = 1 + len(el.find_previous_siblings("li"))
            indented = text.strip().replace("\n", "\n    ")
            return f"[^{number}]: {indented}\n"

        def convert_summary(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return f"\n\n**{text.strip()}**\n\n" if text.strip() else ""

        def convert_p(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            if "admonition-title" in (el.get("class") or ()):
                return f"\n\n**{text.strip()}**\n\n"
            return str(super().convert_p(el, text, parent_tags))  # type: ignore[misc]

    return Converter(heading_style=ATX, bullets="-", strip_document=None)


def _tidy(table: Tag) -> None:
    """Give a table one row of headings and a cell for each column, as Markdown's have."""
    for row in table.find_all("tr"):
        for cell in row.find_all(["td", "th"], recursive=False, rowspan=True):
            rows = str(cell["rowspan"])
            column = len(cell.find_previous_siblings(["td", "th"]))
            for below in row.find_next_siblings("tr")[: min(int(rows), 1000) - 1 if rows.isdigit() else 0]:
                same = copy.copy(cell)
                del same["rowspan"]
                before = below.find_all(["td", "th"], recursive=False)[:column]
                if before:
                    before[-1].insert_after(same)
                else:
                    below.insert(0, same)
    # Not by `select`: to understand a selector takes longer than to convert a page.
    heads = [row for head in table.find_all("thead") for row in head.find_all("tr", recursive=False)]
    for extra in heads[1:]:
        for cell, more in zip(heads[0].find_all("th"), extra.find_all("th"), strict=False):
            if more.get_text(strip=True):
                cell.append(" ")
                cell.extend(list(more.contents))
        extra.decompose()


def _tokens(node: Tag, parent_tags: set[str]) -> str:
    """The text, with a mark between tokens; in a heading as it is."""
    texts = [token.get_text() for token in node.find_all(class_="token")] or [node.get_text()]
    if any(_HEADING.fullmatch(tag) for tag in parent_tags):
        return escape("".join(texts))
    return "·".join(_code(text) for text in texts)


def _code(text: str) -> str:
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    inside = " ".join(text.split("\n"))
    padded = longest or (
        inside[:1] == inside[-1:] == " " and inside.strip()
    )  # else Markdown takes the spaces away
    return f"{ticks} {inside} {ticks}" if padded else f"{ticks}{inside}{ticks}"
