"""llms.txt: what the site is and where its pages are as Markdown, for programs that read it. Opens no file.

The form is that of llmstxt.org: a heading, a summary, and lists of links.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hooks.output.markdown_form import escape

FILE = "llms.txt"
OPTIONAL = "Reference"
"""The section of the navigation that a short context may leave out."""


@dataclass(frozen=True)
class Link:
    """A page or file of the site: its section in the navigation, title, path in the site, and what it is."""

    section: str
    title: str
    path: str
    description: str | None = None


def text(site: str, description: str, version: str, links: Iterable[Link], address: str | None) -> str:
    """The file. Links are whole where the site's address is known, and else seen from the file."""
    sections: dict[str, list[Link]] = {}
    for link in links:
        sections.setdefault(link.section, []).append(link)
    parts = [f"# {_line(site)}", f"> {_line(description)}", _ABOUT.format(version=version)]
    for section in sorted(sections, key=lambda name: name == OPTIONAL):
        heading = "Optional" if section == OPTIONAL else _line(section)
        parts.append(
            "\n".join([f"## {heading}", "", *(_item(link, address or "") for link in sections[section])])
        )
    return "\n\n".join(parts) + "\n"


def _item(link: Link, address: str) -> str:
    words = f": {_line(link.description)}" if link.description else ""
    return f"- [{_line(link.title)}]({address}{link.path}){words}"


def _line(words: str) -> str:
    return escape(" ".join(words.split()))


_ABOUT = """\
Every measured number on these pages comes from a run on a named machine, and states its unit. A number that could not
be had has its reason in its place. Version of the numbers: {version}. Each page has this Markdown form beside its HTML.
To cite a number, give its run and date; the page of each quantity has both. Text and data are under CC BY 4.0."""
