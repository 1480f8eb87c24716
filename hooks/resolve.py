"""Putting what a placeholder means in its place in the tree, in document order, in one pass.

What a form means is `hooks.forms`; what depends on the text around it (`when`, `claim`) is here. An error
is kept in the page with the placeholder's line, and the pass goes on, so that an author sees all of a page's errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from markdown import Markdown

from hooks import branches, claims, forms, leftovers, markup, provenance
from hooks.errors import Place, PublishError
from hooks.pages import NumberUse, PageState
from hooks.placeholders import Placeholder, parse

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


class Resolver:
    """One pass over one tree.

    Args:
        site: Gives the numbers; called only when a placeholder needs them.
        page: The page, which is told what it used and what is wrong.
        found: What stands between the braces of each placeholder, by its index.
        md: The conversion, which holds finished HTML for us.
    """

    def __init__(self, site: Callable[[], Site], page: PageState, found: list[str], md: Markdown) -> None:
        self._site = site
        self.page = page
        self.found = found
        self.md = md
        self._parsed: dict[int, tuple[Placeholder | None, Place]] = {}
        self._texts: dict[Element, str] = {}
        self._late: list[tuple[Element, Element]] = []
        self._blocks: list[Element] = []
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
        self._inside(root, frozenset())
        for parent, waiting in self._late:
            origins = provenance.measured_in((use.reading for use in self.page.numbers), self.page.uri)
            markup.stand_alone(parent, waiting, origins)
        if self.page.popovers:
            self.site.gallery.set_aside(root)

    def fill(self, html: str) -> str:
        """Put plain forms where a placeholder stands in an attribute of raw HTML."""
        return _MARK_IN_HTML.sub(lambda match: markup.escaped(self._plain(int(match[1]))), html)

    def finish(self, html: str) -> None:
        """Note an error for all braces that are left in the finished HTML outside code, and for mixed runs."""
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
        try:
            chosen = branches.holds(parsed, self.site.book)
        except PublishError as error:
            self.page.errors.append(error.at(place))
            chosen = True
        try:
            branches.choose(parent, index, chosen, self._control)
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
                self._late.append((parent, waiting))
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
        if made.block:
            block = made.node if isinstance(made.node, Element) else self.md.htmlStash.store(made.node)
            markup.stand_alone(parent, waiting, block)
            return
        if made.text is not None and isinstance(made.node, Element):
            self._texts[made.node] = made.text
        markup.replace(parent, waiting, made.node)

    def _attributes(self, item: Element) -> None:
        """Alt texts and titles take the plain form."""
        for name, value in item.attrib.items():
            if _MARK.search(value):
                item.set(name, self._attribute(value))

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
        sentence, seen = claims.take_sentence(parent, waiting, self._read)
        alias = parsed.options.get("run")
        use, verdict = claims.check(parsed.argument, seen, self.site.book, alias)
        self.page.claims.append(use)
        self.page.numbers.extend(
            NumberUse(item, item.text(), alias, labelled=True) for item in verdict.readings.values()
        )
        if use.held is False:
            raise claims.contradiction(use, verdict, self.site.published, alias)
        claims.mark(use, self.page, sentence)
        self._texts[sentence] = seen

    # --- helpers ------------------------------------------------------------------------------------

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
