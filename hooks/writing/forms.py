"""What each form of placeholder becomes: one function a form. Finds none on a page, and puts none in its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from markdown import Markdown

from hooks import markup
from hooks.charts import CHARTS
from hooks.citation import cited_works
from hooks.errors import Place, PublishError
from hooks.markup import relative
from hooks.numbers import formatting
from hooks.numbers.readings import Reading
from hooks.pictures import explorer, figures
from hooks.widgets import browser_tokenizer, calculator, own_text, replays
from hooks.writing import provenance, tables, tokens
from hooks.writing.pages import NumberUse, PageState
from hooks.writing.placeholders import PATTERN, Placeholder, parse

if TYPE_CHECKING:
    from hooks.extension import Site

_HEADINGS = {f"h{level}" for level in range(1, 7)}
_INTERACTIVE = {"a", "summary", "button", "label"}
_WITHOUT_POPOVER = _HEADINGS | _INTERACTIVE
_PREFIX = {"model": "model.", "cite": "cite."}


@dataclass(frozen=True)
class Context:
    """Where a placeholder stands: the build's numbers, the page, the tags around it, and the conversion.

    `around` gives the text of its block as a reader sees it.
    """

    site: Site
    page: PageState
    within: frozenset[str]
    md: Markdown
    around: Callable[[], str] = lambda: ""


@dataclass(frozen=True)
class Made:
    """What takes a placeholder's place: an element or escaped text, and what a reader sees of it.

    A block takes the place of the paragraph around it, and may be finished HTML. What depends on the run is another
    where a reader has the page speak of another machine.
    """

    node: Element | str
    text: str | None = None
    block: bool = False
    depends_on_run: bool = False


def _number(parsed: Placeholder, context: Context) -> Made:
    alias = parsed.options.get("run")
    reading = read(parsed, context.site)
    text = text_of(parsed, reading)
    label, use = label_and_use(parsed, reading, text, context.site, context.around())
    context.page.numbers.append(use)
    depends = parsed.form.name == "number" and _of_main(alias, context.site)
    if parsed.options.get("as") == "plain":
        words = f"{text} ({label})" if label and reading.kind != "cited" else text
        return Made(markup.inert(words), depends_on_run=depends)
    made = provenance.number(
        reading,
        context.page,
        style=parsed.style,
        digits=parsed.digits,
        interval=parsed.with_interval,
        label=label,
        popover=not context.within & _WITHOUT_POPOVER,
        alias=alias,
    )
    return Made(made, text, depends_on_run=depends)


def _of_main(alias: str | None, site: Site) -> bool:
    return alias in (None, site.book.definitions.main)


def read(parsed: Placeholder, site: Site) -> Reading:
    """The number that a placeholder names.

    Raises:
        PublishError: There is none; or its interval is asked for, and it can have none.
    """
    reading = site.book.read(_PREFIX.get(parsed.form.name, "") + parsed.argument, parsed.options.get("run"))
    measured = reading.kind == "measured" or (reading.kind == "derived" and reading.sources)
    if parsed.with_interval and not measured:
        raise PublishError(
            f"{reading.id} has no interval to show",
            expected="a measured number, or a formula over some",
            found="a range over cells" if reading.kind == "range" else f"a {reading.kind} number",
            mend="leave as=interval out",
        )
    return reading


def text_of(parsed: Placeholder, reading: Reading) -> str:
    """The number in the form that the placeholder asks for."""
    return reading.text(parsed.style, parsed.digits, interval=parsed.with_interval)


def label_and_use(
    parsed: Placeholder, reading: Reading, text: str, site: Site, around: str
) -> tuple[str | None, NumberUse]:
    """The words beside a number, and how the page uses it.

    A number of another run than the page's is labelled, or the text around it names the run.
    """
    label = provenance.label(reading, site.book.definitions.main)
    off = parsed.options.get("label") == "off"
    names = [alias.label.partition(",")[0] for alias in reading.aliases]
    named = not off or label is None or all(name in around for name in names)
    alias = parsed.options.get("run")
    of_main = all(one.name == site.book.definitions.main for one in reading.aliases)
    use = NumberUse(reading, text, alias, labelled=not of_main and named)
    return None if off else label, use


def _plain(parsed: Placeholder, context: Context) -> Made:
    return Made(markup.inert(formatting.unbroken(parsed.argument)))


def _tokens(parsed: Placeholder, context: Context) -> Made:
    pieces = _pieces(parsed, context.site)
    focus = parsed.options.get("focus") != "off" and not context.within & _INTERACTIVE
    made = markup.element("span", {"class": "tokens", "data-tokenizer": _tokenizer(parsed)})
    made.text = context.md.htmlStash.store(tokens.html(pieces, focus=focus))
    return Made(made, parsed.argument)


def _token_count(parsed: Placeholder, context: Context) -> Made:
    return Made(markup.inert(_counted(parsed, context.site)))


def _counted(parsed: Placeholder, site: Site) -> str:
    return formatting.counted(tokens.count(_pieces(parsed, site)))


def _pieces(parsed: Placeholder, site: Site) -> tuple[tokens.Piece, ...]:
    return tokens.tokenize(parsed.argument, site.book.store, _tokenizer(parsed), site.kept)


def _tokenizer(parsed: Placeholder) -> str:
    return parsed.options.get("tokenizer", tokens.DEFAULT)


def _chart(parsed: Placeholder, context: Context) -> Made:
    alias = parsed.options.get("run")
    options = {name: value for name, value in parsed.options.items() if name != "run"}
    gallery, page, files = context.site.gallery, context.page, context.site.files
    chart, specs = gallery.chart(parsed.argument, context.site.book, alias, options)
    page.charts.append(chart.name)
    page.numbers.extend(
        NumberUse(reading, reading.text(), alias, labelled=True) for reading in chart.readings
    )
    inside = None if context.site.writes_files else figures.csv_inside(chart)
    document = explorer.begin(specs) if inside is None else None
    if inside is None:
        files[figures.csv_path(chart)] = figures.csv_text(chart)
    if document is not None:
        files[figures.explorer_path(chart)] = document
    made = figures.figure(
        chart,
        specs,
        page.uri,
        occurrence=page.charts.count(chart.name),
        csv=inside,
        explore=relative(figures.explorer_path(chart), page.uri) if document else None,
        picture=gallery.picture,
    )
    depends = CHARTS[parsed.argument].of_run and _of_main(alias, context.site)
    return Made(made, block=True, depends_on_run=depends)


def _reference(parsed: Placeholder, context: Context) -> Made:
    linked = not context.within & _INTERACTIVE
    made, text = cited_works.label(parsed.argument, context.site.references, context.page, linked=linked)
    return Made(made, text)


def _table(parsed: Placeholder, context: Context) -> Made:
    alias = parsed.options.get("run")
    table, readings = tables.build(parsed.argument, context.site.book, context.page, alias)
    context.page.numbers.extend(
        NumberUse(reading, reading.text(), alias, labelled=True) for reading in readings
    )
    return Made(table, block=True, depends_on_run=_of_main(alias, context.site))


def _replay(parsed: Placeholder, context: Context) -> Made:
    pieces = _pieces(parsed, context.site)
    text = markup.element("span", {"class": "tokens"})
    text.text = context.md.htmlStash.store(tokens.html(pieces, focus=False))
    made, uses = replays.build(pieces, context.site.book, context.page, text)
    context.page.numbers.extend(uses)
    return Made(made, block=True)


def _own_text(parsed: Placeholder, context: Context) -> Made:
    name, site = _tokenizer(parsed), context.site
    pieces = _pieces(parsed, site)
    script = None
    if site.writes_files:
        script = browser_tokenizer.script(site.book.store, name, site.kept)
        site.files[script.path] = script.text
        site.files[script.licence_path] = script.licence
    made = own_text.build(
        parsed.argument,
        pieces,
        tokenizer=name,
        id_=context.page.element_id("own-text"),
        keep=context.md.htmlStash.store,
        script=script,
        address=lambda path: relative(path, context.page.uri),
    )
    return Made(made, block=True)


def _calculator(parsed: Placeholder, context: Context) -> Made:
    made, readings = calculator.build(
        context.site.book,
        context.page,
        id_=context.page.element_id("calculator"),
        address=lambda path: relative(path, context.page.uri),
    )
    context.page.numbers.extend(NumberUse(reading, reading.text(), labelled=True) for reading in readings)
    return Made(made, block=True)


MAKERS: dict[str, Callable[[Placeholder, Context], Made]] = {
    "number": _number,
    "model": _number,
    "cite": _number,
    "tokens": _tokens,
    "token-count": _token_count,
    "own-text": _own_text,
    "calculator": _calculator,
    "plain": _plain,
    "chart": _chart,
    "reference": _reference,
    "table": _table,
    "replay": _replay,
}
"""Every form that means something by itself. `when`, `claim`, `measured-in` and `references` depend on
what is around them."""


def plain(parsed: Placeholder, site: Site, page: PageState, around: str = "") -> str:
    """The plain text of a placeholder, for attributes, titles and front matter; `around` is the text it stands in.

    Raises:
        PublishError: The form has no plain text, or names something that is not there.
    """
    name = parsed.form.name
    if name == "tokens":
        return parsed.argument
    if name == "plain":
        return parsed.argument
    if name == "token-count":
        return _counted(parsed, site)
    if name not in ("number", "model", "cite"):
        raise PublishError(
            f"`{name}` has no plain form",
            expected="a number, model fact, cited number, tokens or their count in titles, alt texts and front matter",
            found=name,
            mend="state it in the page's text instead",
        )
    reading = read(parsed, site)
    text = text_of(parsed, reading)
    label, use = label_and_use(parsed, reading, text, site, around)
    page.numbers.append(use)
    return f"{text} ({label})" if label and reading.kind != "cited" else text


def plain_text(text: str, site: Site, page: PageState, place: Place) -> str:
    """Text in which every placeholder is replaced by its plain form, escaped; used where there is no Markdown."""

    def resolve(match: re.Match[str]) -> str:
        try:
            return markup.escaped(plain(parse(match[1]), site, page, text))
        except PublishError as error:
            page.errors.append(error.at(place))
            return ""

    return re.sub(PATTERN, resolve, text)
