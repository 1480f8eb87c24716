"""How a reference looks: pybtex's plain style, written as HTML that is safe to put on a page. Reads no file."""

from __future__ import annotations

from typing import Any

from pybtex.backends.html import Backend as HtmlBackend
from pybtex.style.formatting import toplevel
from pybtex.style.formatting.unsrt import Style as UnsrtStyle
from pybtex.style.template import field, href, join, optional, sentence

from hooks.markup import escaped


class Style(UnsrtStyle):  # type: ignore[misc]
    """Names, title, where it appeared, year, addresses; the address of a page is its link."""

    def format_url(self, entry: Any) -> Any:
        """The address as a link, without a word before it."""
        url = field("url", raw=True)
        return href(url)[url]

    def format_eprint(self, entry: Any) -> Any:
        """The number on arXiv."""
        number = field("eprint", raw=True)
        return href(join["https://arxiv.org/abs/", number])[join["arXiv:", number]]

    def format_title(self, entry: Any, which_field: str, as_sentence: bool = True) -> Any:
        """The title as it is written: a bibliography for people keeps its capitals."""
        title = field(which_field)
        return sentence[title] if as_sentence else title


class SourceStyle(Style):
    """The same for fields that are plain text: a backslash, a dollar or a brace in them is no TeX."""

    def get_misc_template(self, entry: Any) -> Any:
        """Title, publisher, place, address and when it was read."""
        return toplevel[
            sentence[field("title", raw=True)],
            sentence[optional[field("howpublished", raw=True)], optional[field("note", raw=True)]],
            self.format_web_refs(entry),
        ]


class Backend(HtmlBackend):  # type: ignore[misc]
    """HTML in which every text and every address is escaped."""

    def format_str(self, text: str) -> str:
        """Escaped text."""
        return escaped(text)

    def format_protected(self, text: str) -> str:
        """Braces kept a title's capitals; on a page they mean nothing."""
        return text

    @staticmethod
    def format_href(url: str, text: str, external: bool = False) -> str:
        """A link, to the web alone."""
        if not url.startswith(("https://", "http://")):
            return text
        return f'<a href="{escaped(url)}">{text}</a>' if text else ""
