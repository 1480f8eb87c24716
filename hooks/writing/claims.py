"""Claims: the sentence that a claim covers, whether the data bear it out, and its mark on the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from xml.etree.ElementTree import Element

from hooks.data.records import Refusal
from hooks.errors import PublishError
from hooks.markup import element
from hooks.numbers import expressions
from hooks.numbers.book import Book
from hooks.numbers.readings import Reading, Verdict
from hooks.switching.slots import BRANCH
from hooks.writing.pages import ClaimUse, PageState
from hooks.writing.provenance import box

_END = re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9À-Þ]|\Z)")
"""The end of a sentence: a stop and a space, before a capital, a digit or an element."""

_STOP = re.compile(r"[.!?…][\"'”’)\]]*\s*\Z")

_CLASSES = {True: "claim", False: "claim-contradicted", None: "claim-unchecked"}
"""Class of the sentence, by whether its claim holds."""

Published = Mapping[str, str]
"""Texts of the numbers as last published, by `key`."""


def check(expression: str, sentence: str, book: Book, alias: str | None) -> tuple[ClaimUse, Verdict]:
    """Evaluate a claim on today's data; `held` is None where it rests on a refusal.

    Raises:
        PublishError: The expression is no condition, or names something that is not there.
    """
    if not expressions.parse(expression).is_condition:
        raise PublishError(
            f"`{expression}` claims nothing",
            expected="a comparison, such as decode.seconds_per_token > prefill.seconds_per_token",
            found=expression,
            mend="compare two things",
        )
    verdict = book.evaluate(expression, alias)
    values = tuple(_value(reading, alias) for reading in verdict.readings.values())
    held = None if verdict.refusal else bool(verdict.result)
    reason = verdict.refusal.reason if verdict.refusal else None
    return ClaimUse(expression, sentence, held, values, reason), verdict


def check_elsewhere(
    expression: str, sentence: str, book: Book, alias: str | None
) -> tuple[ClaimUse, Verdict]:
    """The same on the data of another run. What they are too few for, such as an interval, leaves it unchecked."""
    try:
        return check(expression, sentence, book, alias)
    except PublishError as error:
        report = error.report
        reason = f"{report.what}: {report.found}" if report.found else report.what
        verdict = Verdict(expression, None, Refusal("unavailable", reason))
        return ClaimUse(expression, sentence, None, (), reason), verdict


def key(id_: str, alias: str | None) -> str:
    """The key of a number in what was last published."""
    return f"{id_} run={alias}" if alias else id_


def contradiction(use: ClaimUse, verdict: Verdict, published: Published, alias: str | None) -> PublishError:
    """The error for a claim that today's data contradict: both values of every number in it."""
    values = []
    for reading in verdict.readings.values():
        old = published.get(key(reading.id, alias))
        more = f"; last published: {old}" if old is not None and old != reading.text() else ""
        values.append(_value(reading, alias) + more)
    return PublishError(
        "the data contradict this sentence",
        sentence=f"“{use.sentence}”",
        expression=use.expression,
        values=tuple(values),
        mend="rewrite the sentence so that it is true of today's data, or put it into "
        "{{ when … }} {{ otherwise }} {{ end }}",
    )


def _value(reading: Reading, alias: str | None) -> str:
    interval = reading.interval_text()
    text = f"{key(reading.id, alias if reading.alias else None)} = {reading.text()}" + (
        f" ({interval})" if interval else ""
    )
    if reading.parts and not reading.refusal:
        text += f": {', '.join(part.text() for part in reading.parts)}"
    return text


def mark(use: ClaimUse, page: PageState, sentence: Element, machine: str | None = None) -> Element:
    """Give the sentence its mark: a tick where the claim held, words where it is not yet checked.

    With `machine`, the claim is about the run of another machine, on which it may not hold: then the mark says so.

    Returns:
        The mark with its popover, the sentence's last element.
    """
    held, name = use.held is True, page.popover_id()
    words, title = "not yet checked", "Not yet checked"
    if held:
        words, title = "✓", "Checked when this page was built"
    elif use.held is False:
        words, title = f"does not hold on {machine}", "The data of this machine say otherwise"
    rows = [("Claim", use.expression), *(("Value", value) for value in use.values)]
    if use.reason:
        rows.append(("Reason", use.reason))
    trigger = element(
        "span",
        {
            "class": "claim-mark",
            "tabindex": "0",
            "role": "img" if held else None,
            "aria-label": "checked against the data" if held else None,
            "aria-describedby": name,
            "data-search-exclude": "",
        },
        words,
    )
    sentence.set("class", _CLASSES[use.held])
    sentence.set("data-claim", element("i", {"x": use.expression}).attrib["x"])
    made = element("span", {"class": "has-provenance"}, trigger, box(name, title, rows))
    made.text = " " if use.held is False else None
    sentence.append(made)
    return made


def take_sentence(parent: Element, mark_: Element, read: Callable[[Element], str]) -> tuple[Element, str]:
    """Move the sentence before a claim's mark into a new element in the mark's place.

    Args:
        parent: The element that holds sentence and mark.
        mark_: The mark; it is removed.
        read: An element's text as a reader sees it, popovers left out.

    Returns:
        The new element, already in the tree, and the sentence as a reader sees it.

    Raises:
        PublishError: Nothing stands before the mark in its block.
    """
    position = list(parent).index(mark_)
    elements = list(parent)[:position]
    texts = [parent.text or "", *(item.tail or "" for item in elements)]
    texts[-1] = texts[-1].rstrip()
    first, cut = _begin(elements, texts)

    sentence = Element("span")
    sentence.text = texts[first][cut:]
    before = texts[first][:cut]
    for item, tail in zip(elements[first:], texts[first + 1 :], strict=True):
        parent.remove(item)
        item.tail = tail
        sentence.append(item)
    if first:
        elements[first - 1].tail = before
    else:
        parent.text = before
    seen = read(sentence).strip()
    if not seen:
        raise PublishError(
            "no sentence stands before this claim",
            expected="a sentence in the same paragraph, then the claim",
            found="nothing",
            mend="put the claim right after the sentence that it checks",
        )
    sentence.tail = mark_.tail
    parent.remove(mark_)
    parent.insert(first, sentence)
    return sentence, seen


def _begin(elements: list[Element], texts: list[str]) -> tuple[int, int]:
    """Where the last sentence begins: the text's index, and the position in it."""
    last = len(elements)
    if last and not texts[last] and _is_claim(elements[last - 1]):
        return last - 1, len(texts[last - 1])  # a second claim on the same sentence
    for index in range(last, -1, -1):
        text = texts[index]
        ends = list(_END.finditer(text))
        if ends:
            return index, ends[-1].end()
        if index == 0 or _is_claim(elements[index - 1]) or _ends_a_sentence(elements[index - 1]):
            return index, len(text) - len(text.lstrip())
    raise AssertionError("the loop ends at the first text")


def _is_claim(item: Element) -> bool:
    return item.get("class") in _CLASSES.values()


def _ends_a_sentence(item: Element) -> bool:
    """Whether it is a branch of a `when` that ends where a sentence does."""
    return item.get("class") == BRANCH and bool(_STOP.search("".join(item.itertext())))
