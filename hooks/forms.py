"""What each form of placeholder becomes: one function a form. Finds none on a page, and puts none in its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from markdown import Markdown

from hooks import charts, explorer, figures, markup, provenance, tables, tokens
from hooks.errors import Place, PublishError
from hooks.pages import NumberUse, PageState
from hooks.placeholders import PATTERN, Placeholder, parse

if TYPE_CHECKING:
    from hooks.extension import Site

_HEADINGS = {f"h{level}" for level in range(1, 7)}
_INTERACTIVE = {"a", "summary", "button", "label"}
_WITHOUT_POPOVER = _HEADINGS | _INTERACTIVE
_PREFIX = {"model": "model.", "cite": "cite."}


@dataclass(frozen=True)
class Context:
    """Where a placeholder stands: the build's numbers, the page, the tags around it, and the conversion."""

    site: Site
    page: PageState
    within: frozenset[str]
    md: Markdown


@dataclass(frozen=True)
class Made:
    """What takes a placeholder's place: an element or escaped text, and what a reader sees of it.

    A block takes the place of the paragraph around it, and may be finished HTML.
    """

    node: Element | str
    text: str | None = None
    block: bool = False


def _number(parsed: Placeholder, context: Context) -> Made:
    alias = parsed.options.get("run")
    reading = context.site.book.read(_PREFIX.get(parsed.form.name, "") + parsed.argument, alias)
    text = reading.text(parsed.style, parsed.digits)
    context.page.numbers.append(NumberUse(reading, text, alias))
    if parsed.options.get("as") == "plain":
        return Made(markup.inert(text))
    made = provenance.number(
        reading,
        context.page,
        style=parsed.style,
        digits=parsed.digits,
        label=parsed.options.get("label") != "off" and (alias is not None or reading.kind == "cited"),
        popover=not context.within & _WITHOUT_POPOVER,
    )
    return Made(made, text)


def _tokens(parsed: Placeholder, context: Context) -> Made:
    name = parsed.options.get("tokenizer", tokens.DEFAULT)
    pieces = tokens.tokenize(parsed.argument, context.site.book.store, name)
    focus = parsed.options.get("focus") != "off" and not context.within & _INTERACTIVE
    made = markup.element("span", {"class": "tokens", "data-tokenizer": name})
    made.text = context.md.htmlStash.store(tokens.html(pieces, focus=focus))
    return Made(made, parsed.argument)


def _chart(parsed: Placeholder, context: Context) -> Made:
    alias = parsed.options.get("run")
    options = {name: value for name, value in parsed.options.items() if name != "run"}
    chart = charts.build(parsed.argument, context.site.book, alias, options)
    page, files = context.page, context.site.files
    page.charts.append(chart.name)
    page.numbers.extend(NumberUse(reading, reading.text(), alias) for reading in chart.readings)
    specs = figures.specifications(chart)
    files[figures.csv_path(chart)] = figures.csv_text(chart)
    document = explorer.begin(specs)
    if document is not None:
        files[figures.explorer_path(chart)] = document
    made = figures.figure(
        chart,
        specs,
        page.uri,
        occurrence=page.charts.count(chart.name),
        explore=figures.relative(figures.explorer_path(chart), page.uri) if document else None,
    )
    return Made(made, block=True)


def _table(parsed: Placeholder, context: Context) -> Made:
    table, readings = tables.build(
        parsed.argument, context.site.book, context.page, parsed.options.get("run")
    )
    context.page.numbers.extend(NumberUse(reading, reading.text()) for reading in readings)
    return Made(table, block=True)


MAKERS: dict[str, Callable[[Placeholder, Context], Made]] = {
    "number": _number,
    "model": _number,
    "cite": _number,
    "tokens": _tokens,
    "chart": _chart,
    "table": _table,
}
"""Every form that means something by itself. `when`, `claim` and `measured-in` depend on what is around them."""


def plain(parsed: Placeholder, site: Site, page: PageState) -> str:
    """The plain text of a placeholder, for attributes, titles and front matter.

    Raises:
        PublishError: The form has no plain text, or names something that is not there.
    """
    name = parsed.form.name
    if name == "tokens":
        return parsed.argument
    if name not in ("number", "model", "cite"):
        raise PublishError(
            f"`{name}` has no plain form",
            expected="a number, a model fact, a cited number or tokens in titles, alt texts and front matter",
            found=name,
            mend="state it in the page's text instead",
        )
    alias = parsed.options.get("run")
    reading = site.book.read(_PREFIX.get(name, "") + parsed.argument, alias)
    text = reading.text(parsed.style, parsed.digits)
    page.numbers.append(NumberUse(reading, text, alias))
    return text


def plain_text(text: str, site: Site, page: PageState, place: Place) -> str:
    """Text in which every placeholder is replaced by its plain form; used where there is no Markdown."""

    def resolve(match: re.Match[str]) -> str:
        try:
            return plain(parse(match[1]), site, page)
        except PublishError as error:
            page.errors.append(error.at(place))
            return ""

    return re.sub(PATTERN, resolve, text)
