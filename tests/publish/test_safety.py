"""Whatever the data hold, it is text on the page: in numbers, popovers, claims, tables and attributes."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import markdown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hooks import quantities, store
from hooks.book import Book
from hooks.extension import Site, SplicedExtension
from tests.publish import fixture_data

PAGE = """
Decode takes {{ decode.seconds_per_token }}, and energy {{ energy.decode_over_prefill }}.
{{ claim decode.seconds_per_token > 0 }}

![{{ energy.decode_over_prefill }}](a.png) <b title="{{ energy.decode_over_prefill }}">b</b>

{{ measured-in }}
"""


class Reader(HTMLParser):
    """Tags, attributes and text of a page, as a browser reads them."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.values: list[str] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        self.values += [value or "" for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def render(folder: Path, text: str) -> Reader:
    """The page with `text` as machine, weights and refusal."""
    refusal = {"kind": "unavailable", "reason": text}
    records = fixture_data.samples()
    for record in records:
        record["energy_refusal"] = refusal
    base = fixture_data.run_record("x", 0)
    model = {**base["model"], "weights": {"kind": "random", "label": text}}
    fixture_data.write_run(folder, records=records, machine={**base["machine"], "label": text}, model=model)
    extension = SplicedExtension()
    extension.site = Site(
        Book(store.load(folder), quantities.read(fixture_data.ROOT / "docs/quantities.toml"))
    )
    return Reader(markdown.markdown(PAGE, extensions=[extension]))


HOSTILE = [
    '<script>alert("1")</script>',
    "\"'><img src=x onerror=alert(1)>",
    "&lt;b&gt; &amp; &#60; &copy",
    "*a* _b_ `c` [d](e) {{ f }} \\ $1 \\g<0>",
    "</span></p><h1>",
    "]]> --> <!--",
]


def test_hostile_text_is_text(empty_data: Path) -> None:
    plain = render(empty_data, "harmless")
    for text in HOSTILE:
        page = render(empty_data, text)
        assert page.tags == plain.tags and page.names == plain.names, text
        assert page.text.count(text) == plain.text.count("harmless"), text
        assert page.values.count(text) == plain.values.count("harmless") == 2, text


printable = st.characters(exclude_categories=["Cs", "Cc"])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(printable, min_size=1, max_size=30).filter(lambda text: text == text.strip()))
def test_any_text_is_text(text: str, empty_data: Path) -> None:
    page = render(empty_data, text)
    assert f"weights: {text}" in page.text.replace("Weights", "weights")
    assert page.values.count(text) >= 2
