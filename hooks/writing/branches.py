"""`when … otherwise … end`: finding the two branches in the tree and dropping the one not chosen.

The three marks stand either in one paragraph, or each in a paragraph of its own with blocks between. What is
dropped is never looked at, so it may speak of numbers that are not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element

from hooks.errors import PublishError
from hooks.markup import append_text
from hooks.numbers import expressions
from hooks.numbers.book import Book
from hooks.writing.placeholders import Placeholder

Kind = Callable[[Element], str | None]
"""Tells `when`, `otherwise` and `end` marks from other elements, for which it is None."""


def holds(parsed: Placeholder, book: Book) -> bool:
    """Whether the condition of a `when` holds today; a bare id holds where it has a value.

    Raises:
        PublishError: It is no condition, or names something that is not there.
    """
    expression = expressions.parse(parsed.argument)
    alias = parsed.options.get("run")
    if expression.is_id:
        return book.read(parsed.argument, alias).refusal is None
    if not expression.is_condition:
        raise PublishError(
            f"`{parsed.argument}` is no condition",
            expected="a quantity's id (true where it has a value), or a comparison",
            found=parsed.argument,
            mend="write one of those",
        )
    return bool(book.evaluate(parsed.argument, alias).result)


def differ(parsed: Placeholder, books: Iterable[Book]) -> bool:
    """Whether the condition holds in some of the books and not in others; what cannot be told there does not hold."""
    outcomes = set()
    for book in books:
        try:
            outcomes.add(holds(parsed, book))
        except PublishError:
            outcomes.add(False)
    return len(outcomes) > 1


def choose(parent: Element, start: int, chosen: bool, kind: Kind, around: Element | None = None) -> None:
    """Replace the marks and blocks of the `when` at `parent[start]` by the chosen branch, inside `around` if given.

    Raises:
        PublishError: The `end` is missing beside it, or there are two `otherwise`.
    """
    middle, end = _extent(parent, start, kind)
    children = list(parent)
    kept: list[Element] = []
    text = ""
    if chosen:
        text = children[start].tail or ""
        kept = children[start + 1 : middle if middle is not None else end]
    elif middle is not None:
        text = children[middle].tail or ""
        kept = children[middle + 1 : end]
    after = children[end].tail or ""
    for child in children[start : end + 1]:
        parent.remove(child)
    if around is not None:
        around.text = text
        around.extend(kept)
        kept, text = [around], ""
    _append_before(parent, start, text)
    for offset, child in enumerate(kept):
        parent.insert(start + offset, child)
    _append_before(parent, start + len(kept), after)


def _extent(parent: Element, start: int, kind: Kind) -> tuple[int | None, int]:
    depth = 0
    middle = None
    for index in range(start, len(parent)):
        mark = kind(parent[index])
        if mark == "when":
            depth += 1
        elif mark == "otherwise" and depth == 1:
            if middle is not None:
                raise PublishError(
                    "a second `otherwise`",
                    expected="at most one between when and end",
                    found="two",
                    mend="remove one, or nest a second when inside",
                )
            middle = index
        elif mark == "end":
            depth -= 1
            if depth == 0:
                return middle, index
    raise PublishError(
        "this `when` has no `end` beside it",
        expected="{{ when … }} and its {{ end }} in one paragraph, or each in a paragraph of its own",
        found="no matching {{ end }}",
        mend="add {{ end }}, or put blank lines around the marks",
    )


def _append_before(parent: Element, index: int, text: str) -> None:
    if not text:
        return
    if index == 0:
        parent.text = (parent.text or "") + text
    elif index <= len(parent):
        before = parent[index - 1]
        before.tail = (before.tail or "") + text
    else:
        append_text(parent, text)
