"""Citations of works on a page: the label in the text, and the list at the end. Reads no file.

`[@key]` becomes a label that links to the page's list of references; a number cited from elsewhere puts its source
there, too. A work that is cited several times is listed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element

from markdown import Markdown

from hooks import markup
from hooks.citation import references
from hooks.citation.references import References, Work
from hooks.data.records import Record
from hooks.markup import element, relative
from hooks.writing.pages import PageState

TITLE = "References"


def label(text: str, works: References, page: PageState, *, linked: bool = True) -> tuple[Element, str]:
    """The label of a citation, and its text: `(Williams et al., 2009, p. 3)`.

    Args:
        text: The citation as written.
        works: All that can be cited.
        page: Is told what it cites.
        linked: Whether it links to the list; within a link it does not.

    Raises:
        PublishError: A key is unknown.
    """
    cited = [(works.find(one.key), one.locator) for one in references.parse(text)]
    parts: list[str | Element] = ["("]
    words = []
    for number, (work, locator) in enumerate(cited):
        after = f", {locator}" if locator else ""
        words.append(f"{work.label}{after}")
        if linked:
            anchor = None if page.references.get(work.key) else f"cite-{work.key}"
            link = element("a", {"href": f"#ref-{work.key}", "id": anchor}, work.label)
            page.references[work.key] = True
        else:
            page.references.setdefault(work.key, False)
        parts += ["; " if number else "", link if linked else work.label, after]
    keys = " ".join(work.key for work, _ in cited)
    return element(
        "span", {"class": "reference", "data-reference": keys}, *parts, ")"
    ), f"({'; '.join(words)})"


def note_sources(origins: Iterable[Record | None], sources: Mapping[str, Record], page: PageState) -> None:
    """Have the page cite the sources of its cited numbers."""
    for origin in origins:
        name = next((name for name, source in sources.items() if source["origin"] is origin), None)
        if name is not None:
            page.references.setdefault(name, False)


def listed(page: PageState, works: References, md: Markdown) -> Element:
    """The list of what the page cites, in the order of the labels."""
    cited = sorted((works.find(key) for key in page.references), key=lambda work: work.order.casefold())
    return element("ul", {"class": "references"}, *(_item(work, page, md) for work in cited))


def _item(work: Work, page: PageState, md: Markdown) -> Element:
    made = element("li", {"id": f"ref-{work.key}"})
    if work.page is not None:
        target = relative(work.page, page.uri)
        made.append(element("a", {"href": target}, work.label))
        made[-1].tail = ", on this site."
    else:
        made.text = md.htmlStash.store(work.html)
    if page.references[work.key]:
        back: dict[str, str | None] = {
            "class": "reference-back",
            "href": f"#cite-{work.key}",
            "aria-label": "Back to the text",
        }
        markup.append_text(made, " ")
        made.append(element("a", back, "↩"))
    return made
