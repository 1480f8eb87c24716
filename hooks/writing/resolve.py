"""Putting what a placeholder means in its place in the tree, in document order, in one pass.

What a form means is `hooks.writing.forms`; what depends on the text around it (`when`, `claim`) is here. An error
is kept in the page with the placeholder's line, and the pass goes on, so that an author sees all of a page's errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar
from xml.etree.ElementTree import Element

from markdown import Markdown

from hooks import leftovers, markup
from hooks.citation import cited_works
from hooks.errors import Place, PublishError
from hooks.numbers.book import Book
from hooks.switching import elsewhere
from hooks.switching.machines import Choice
from hooks.switching.slots import ATTRIBUTE, BRANCH, Slots
from hooks.writing import branches, claims, forms, provenance
from hooks.writing.pages import NumberUse, PageState
from hooks.writing.placeholders import Placeholder, parse

if TYPE_CHECKING:
    from hooks.extension import Site

TAG = "spliced-placeholder"
"""Tag of an unresolved placeholder's element."""

_MARK = re.compile("\x02spliced:(\\d+)\x03")
_MARK_IN_HTML = re.compile(rf"(?:<{TAG}>)?{_MARK.pattern}(?:</{TAG}>)?")
_HEADINGS = {f"h{level}" for level in range(1, 7)}
_BLOCKS = _HEADINGS | {"p", "li", "dd", "dt", "tr", "div", "caption", "summary"}
"""What a reader takes in together: words in it can say which run a number is of."""

_CONTROL = ("when", "otherwise", "end")

Node = TypeVar("Node", Element, Element | str)


class Resolver:
    """One pass over one tree.

    Args:
        site: Gives the numbers; called only when a placeholder needs them.
        page: The page, which is told what it used and what is wrong.
        found: What stands between the braces of each placeholder, by its index.
        md: The conversion, which holds finished HTML for us.
        main: The pass for the site's main run, where this one is for another.
        choice: That other run.
    """

    def __init__(
        self,
        site: Callable[[], Site],
        page: PageState,
        found: list[str],
        md: Markdown,
        main: Resolver | None = None,
        choice: Choice | None = None,
    ) -> None:
        self._site = site
        self.page = page
        self.found = found
        self.md = md
        self.choice = choice
        self.slots: Slots | None = Slots() if choice else None
        self.switch_at: tuple[Element, Element] | None = None
        self._elsewhere: elsewhere.Elsewhere | None = None
        self._books: list[Book] = main._books if main else []
        self._parsed: dict[int, tuple[Placeholder | None, Place]] = main._parsed if main else {}
        self._texts: dict[Element, str] = {}
        self._late: list[tuple[int, Element, Element]] = []
        self._listed: tuple[Element, Element] | None = None
        self._blocks: list[Element] = []
        self._branches = 0
        self._unfinished = False

    @property
    def site(self) -> Site:
        """The build's numbers."""
        return self._site()

    def run(self, root: Element) -> None:
        """Resolve every placeholder below `root`."""
        self.page.expect(self.found)
        for item in root.iter():
            for value in item.attrib.values():
                for match in _MARK.finditer(value):
                    self._parse(int(match[1]))
            if item.tag == TAG:
                self._parse(self._index(item))
        forms_used = {parsed.form.name for parsed, _ in self._parsed.values() if parsed}
        if forms_used & elsewhere.FORMS:
            self._elsewhere = elsewhere.begin(self, root)
        self.resolve(root)
        if self._elsewhere is not None:
            self._elsewhere.resolve()
        self._list_references(root)
        elsewhere.place_switch(self, root, self._elsewhere)
        if self.page.popovers:
            self.site.gallery.set_aside(root)

    def resolve(self, root: Element) -> None:
        """Resolve what was parsed."""
        self._inside(root, frozenset())
        for index, parent, waiting in self._late:
            readings = (use.reading for use in self.page.numbers)
            origins = provenance.measured_in(
                readings, self.page.uri, self.site.book.title_of, catalogued=self.page.catalogued
            )
            markup.stand_alone(parent, waiting, self._put(index, origins))

    def _list_references(self, root: Element) -> None:
        """List what the page cites, where it asks for that, or else at its end."""
        origins = [use.reading.origin for use in self.page.numbers if use.reading.kind == "cited"]
        if any(origins):
            cited_works.note_sources(origins, self.site.book.store.cited, self.page)
        if self._listed is not None:
            markup.stand_alone(*self._listed, cited_works.listed(self.page, self.site.references, self.md))
        elif self.page.references:
            root.append(markup.element("h2", {"id": "references"}, cited_works.TITLE))
            root.append(cited_works.listed(self.page, self.site.references, self.md))

    def watch(self, books: list[Book]) -> None:
        """Note from now on what depends on the run; `books` are those of all runs that the page can show."""
        self.slots, self._books = Slots(), books

    def fill(self, html: str) -> str:
        """Put plain forms where a placeholder stands in an attribute of raw HTML."""
        html = _MARK_IN_HTML.sub(lambda match: f"\x02spliced:{match[1]}\x03", html)
        if self.slots is not None:
            html = self.slots.mark_raw(html)
        return _MARK.sub(lambda match: markup.escaped(self._plain(int(match[1]))), html)

    def plain(self, text: str) -> str:
        """Text with marks in it, with each in its plain form."""
        return _MARK.sub(lambda match: self._plain(int(match[1])), text)

    def finish(self, html: str) -> None:
        """Note an error for all braces that are left in the finished HTML outside code, and for mixed runs."""
        if self._elsewhere is not None:
            self._elsewhere.finish()
        for text in leftovers.find(html):
            self.page.errors.append(leftovers.error(text, self.page))
        self.page.refuse_mixed_runs()

    # --- the pass -----------------------------------------------------------------------------------

    def _parse(self, index: int) -> None:
        place = self.page.meet(self.found[index])
        parsed = None
        try:
            parsed = parse(self.found[index])
        except PublishError as error:
            self.page.errors.append(error.at(place))
        self._parsed[index] = parsed, place

    def _inside(self, parent: Element, within: frozenset[str]) -> None:
        within |= {parent.tag}
        self._branches += parent.get("class") == BRANCH
        if parent.tag in _BLOCKS:
            self._blocks.append(parent)
        index = 0
        while index < len(parent):
            child = parent[index]
            kind = self._control(child)
            if kind:
                index += self._branch(parent, index, kind)
                continue
            self._attributes(child)
            if child.tag == TAG:
                before = len(parent)
                self._resolve(parent, child, within)
                index += 1 + len(parent) - before  # a claim takes in what stands before it
            else:
                self._inside(child, within)
                index += 1
        self._branches -= parent.get("class") == BRANCH
        if parent.tag in _BLOCKS:
            self._blocks.pop()
        quantity = parent.find(".//*[@data-quantity]") if parent.tag in _HEADINGS else None
        if quantity is not None and not parent.get("id"):
            self.page.errors.append(
                PublishError(
                    "a heading with a number needs an anchor of its own",
                    place=self._heading_place(quantity),
                    expected="## Heading {{ … }} {#name}",
                    found="an anchor that would change with the number",
                    mend="add {#name} at the end of the heading's line",
                )
            )

    def _heading_place(self, quantity: Element) -> Place:
        id_ = quantity.get("data-quantity") or ""
        for parsed, place in self._parsed.values():
            if parsed and id_.endswith(parsed.argument):
                return place
        return Place(self.page.file)

    def _branch(self, parent: Element, index: int, kind: str) -> int:
        """Resolve a control mark at `parent[index]`; return how far to move on."""
        mark = self._inner(parent[index])
        parsed, place = self._parsed[self._index(mark)]
        assert parsed is not None
        if kind != "when" and self._unfinished:
            markup.replace(parent, parent[index], None)
            return 0
        if kind != "when":
            self.page.errors.append(
                PublishError(
                    f"`{kind}` without a `when`",
                    place=place,
                    expected="{{ when … }} before it, in the same paragraph or in one of its own",
                    found=f"{kind} alone",
                    mend="add the {{ when … }}, or put blank lines around all three marks",
                )
            )
            markup.replace(parent, parent[index], None)
            return 0
        around = None
        try:
            chosen = branches.holds(parsed, self.site.book)
        except PublishError as error:
            if self.choice is None:
                self.page.errors.append(error.at(place))
            chosen = self.choice is None
        if self.slots is not None and branches.differ(parsed, self._books):
            around = self.slots.branch(str(self._index(mark)), chosen, block=mark is not parent[index])
        try:
            branches.choose(parent, index, chosen, self._control, around)
        except PublishError as error:
            self.page.errors.append(error.at(place))
            markup.replace(parent, parent[index], None)
            self._unfinished = True
        return 0

    def _resolve(self, parent: Element, waiting: Element, within: frozenset[str]) -> None:
        parsed, place = self._parsed[self._index(waiting)]
        if parsed is None:
            markup.replace(parent, waiting, None)
            return
        try:
            if parsed.form.name == "claim":
                self._claim(parent, waiting, parsed)
            elif parsed.form.name == "measured-in":
                self._late.append((self._index(waiting), parent, waiting))
            elif parsed.form.name == "references":
                self._listed = parent, waiting
            elif parsed.form.name == "machine-switch":
                self.switch_at = parent, waiting
            elif self.choice and parsed.form.name in elsewhere.LONG and not self._branches:
                markup.replace(parent, waiting, None)
            else:
                self._make(parent, waiting, parsed, place, within)
        except PublishError as error:
            self.page.errors.append(error.at(place))
            if waiting in list(parent):
                markup.replace(parent, waiting, None)

    def _make(
        self, parent: Element, waiting: Element, parsed: Placeholder, place: Place, within: frozenset[str]
    ) -> None:
        context = forms.Context(self.site, self.page, within, self.md, lambda: self._read(self._blocks[-1]))
        with self.page.using(place):
            made = forms.MAKERS[parsed.form.name](parsed, context)
        if made.depends_on_run:
            made = replace(made, node=self._put(self._index(waiting), made.node, block=made.block))
        if made.block:
            block = made.node if isinstance(made.node, Element) else self.md.htmlStash.store(made.node)
            markup.stand_alone(parent, waiting, block)
            return
        if made.text is not None and isinstance(made.node, Element):
            self._texts[made.node] = made.text
        markup.replace(parent, waiting, made.node)

    def _attributes(self, item: Element) -> None:
        """Alt texts and titles take the plain form."""
        for name, value in list(item.attrib.items()):
            if mark := _MARK.search(value):
                item.set(name, self._attribute(value))
                if self.slots is not None:
                    self.slots.attribute(item.get(ATTRIBUTE, f"{mark[1]}a"), item, name)

    def _attribute(self, value: str) -> str:
        return _MARK.sub(lambda match: markup.inert(self._plain(int(match[1]), value)), value)

    def _plain(self, index: int, around: str = "") -> str:
        if index not in self._parsed:
            self._parse(index)
        parsed, place = self._parsed[index]
        if parsed is None:
            return ""
        try:
            with self.page.using(place):
                return forms.plain(parsed, self.site, self.page, around)
        except PublishError as error:
            self.page.errors.append(error.at(place))
            return ""

    # --- forms that depend on what is around them ---------------------------------------------------

    def _claim(self, parent: Element, waiting: Element, parsed: Placeholder) -> None:
        index = self._index(waiting)
        sentence, seen = claims.take_sentence(parent, waiting, self._read)
        alias = parsed.options.get("run")
        check = claims.check if self.choice is None else claims.check_elsewhere
        use, verdict = check(parsed.argument, seen, self.site.book, alias)
        self.page.claims.append(use)
        self.page.numbers.extend(
            NumberUse(item, item.text(), alias, labelled=True) for item in verdict.readings.values()
        )
        if use.held is False and self.choice is None:
            raise claims.contradiction(use, verdict, self.site.published, alias)
        mark = claims.mark(use, self.page, sentence, self.choice.name if self.choice else None)
        if self.slots is not None and not alias:
            self.slots.put(str(index), mark, block=False)
            self.slots.attribute(f"{index}s", sentence, "class")
        self._texts[sentence] = seen

    # --- helpers ------------------------------------------------------------------------------------

    def _put(self, index: int, made: Node, *, block: bool = False) -> Node:
        """Note what depends on the run, where that is wanted."""
        return made if self.slots is None else self.slots.put(str(index), made, block=block)

    def _control(self, item: Element) -> str | None:
        """Whether the element is a mark of `when`, or a paragraph that holds nothing else."""
        inner = self._inner(item)
        if inner.tag != TAG:
            return None
        parsed, _ = self._parsed[self._index(inner)]
        return parsed.form.name if parsed and parsed.form.name in _CONTROL else None

    def _inner(self, item: Element) -> Element:
        if item.tag == "p" and len(item) == 1 and not (item.text or "").strip():
            only = item[0]
            if only.tag == TAG and not (only.tail or "").strip():
                return only
        return item

    def _index(self, waiting: Element) -> int:
        match = _MARK.fullmatch(waiting.text or "")
        assert match is not None
        return int(match[1])

    def _read(self, item: Element) -> str:
        """An element's text as a reader sees it, popovers and marks left out."""
        if item in self._texts:
            return self._texts[item]
        text = item.text or ""
        for child in item:
            if child.get("class") not in ("provenance", "claim-mark"):
                text += self._read(child)
            text += child.tail or ""
        return text
