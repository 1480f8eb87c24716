"""A page for other runs than the main one: passes over copies of its tree, and what they give. Resolves nothing itself.

The tree is copied before anything in it is resolved, so Markdown is read once. What another run is too short for, such
as an interval or a chart, is said in its place there; it stops no build.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from hooks import markup
from hooks.switching import slots, switch
from hooks.switching.machines import Choice
from hooks.switching.slots import Patch, Slots
from hooks.writing.pages import PageState

if TYPE_CHECKING:
    from hooks.writing.resolve import Resolver

FORMS = {"number", "when", "claim", "chart", "table"}
"""Placeholders that may give something else on another run."""

LONG = {"own-text"}
"""Placeholders that take long to make, and are the same on every run: made again only in a branch that is not."""


class Elsewhere:
    """The passes of one page for other runs, beside the pass for the main one."""

    def __init__(self, main: Resolver, passes: Iterable[tuple[Choice, Resolver, Element]]) -> None:
        self.main = main
        self.passes = tuple(passes)

    def resolve(self) -> None:
        """Resolve the copies, and give the page what differs; nothing where the page itself has errors."""
        if self.main.page.errors:
            return
        assert self.main.slots is not None
        for choice, resolver, root in self.passes:
            resolver.resolve(root)
            writers = {id(self.main.slots): self.main, id(resolver.slots): resolver}

            def write(own: Slots, item: Element | str, writers: dict[int, Resolver] = writers) -> str:
                return writers[id(own)].fill(slots.written(item, self.main.md))

            assert resolver.slots is not None
            found = slots.patch(self.main.slots, resolver.slots, write)
            self.main.page.errors += resolver.page.errors
            self.main.page.untrue_elsewhere += [
                f"{self.main.page.file}: “{claim.sentence}” does not hold on {choice.name} ({claim.expression}): "
                + "; ".join(claim.values)
                for claim in resolver.page.claims
                if claim.held is False
            ]
            if found:
                self.main.page.patches[choice.run.id] = found

    def finish(self) -> None:
        """Add what raw HTML has in its attributes, which is not known before the page is written."""
        for choice, resolver, _ in self.passes:
            assert self.main.slots is not None
            raw = slots.raw_attributes(self.main.slots, self.main.plain, resolver.plain)
            found = self.main.page.patches.get(choice.run.id)
            if raw and found is not None:
                attributes = {**found.attributes, **raw}
                self.main.page.patches[choice.run.id] = Patch(found.whole, found.inside, attributes)


def begin(main: Resolver, root: Element) -> Elsewhere | None:
    """Copy the tree for each run that the site can show beside the main one; None where there is none."""
    choices = main.site.choices
    if not choices or not main.page.shows_machines:
        return None
    main.watch([main.site.book, *(choice.book for choice in choices)])
    return Elsewhere(main, [(choice, _pass(main, choice), copy.deepcopy(root)) for choice in choices])


def _pass(main: Resolver, choice: Choice) -> Resolver:
    page = PageState(
        main.page.file,
        main.page.uri,
        popover_prefix="elsewhere",
        catalogued=main.page.catalogued,
        locate=main.page.locate,
    )
    page.catalogued = main.page.catalogued
    page.begin(main.page.source, main.page.first_line)
    page.expect(main.found)
    site = replace(main.site, book=choice.book, choices=())
    return type(main)(lambda: site, page, main.found, main.md, main, choice)


def place_switch(main: Resolver, root: Element, found: Elsewhere | None) -> None:
    """Put the switch where the author has it, or under the page's heading; nowhere without other runs to show."""
    shown = [choice for choice, *_ in found.passes if choice.run.id in main.page.patches] if found else []
    made = switch.html(main.site.book, shown, main.page) if shown else None
    if main.switch_at is not None:
        parent, waiting = main.switch_at
        if made is not None:
            markup.stand_alone(parent, waiting, made)
        else:
            _remove(root, parent)
    elif made is not None:
        _after_heading(root, made)


def _remove(root: Element, item: Element) -> None:
    for parent in root.iter():
        if item in list(parent):
            markup.replace(parent, item, None)
            return


def _after_heading(root: Element, made: Element) -> None:
    for parent in root.iter():
        for index, child in enumerate(parent):
            if child.tag == "h1":
                made.tail, child.tail = child.tail, "\n"
                parent.insert(index + 1, made)
                return
    made.tail = "\n"
    root.insert(0, made)
