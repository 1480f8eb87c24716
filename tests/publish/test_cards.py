"""Cards: everything that a page may be called fits, is escaped, and becomes a PNG of the right size."""

from __future__ import annotations

import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.caching.cache import Cache
from hooks.pictures import cards
from hooks.pictures.painter import Painter
from hooks.pictures.painting import png_job
from tests.publish.fixture_data import ROOT

FONTS = ROOT / "docs/assets/fonts"


def lines(svg: str) -> list[tuple[float, str]]:
    """Each line's height on the card and its text."""
    root = ElementTree.fromstring(svg)
    found = root.iter("{http://www.w3.org/2000/svg}text")
    return [(float(text.attrib["y"]), text.text or "") for text in found]


@given(st.text(max_size=300), st.text(max_size=900))
def test_any_text_fits(title: str, description: str) -> None:
    *written, name = lines(cards.svg(title, description, "Spliced Inference"))
    heights = [height for height, _ in written]
    assert heights == sorted(heights)
    assert all(height < name[0] - 30 for height in heights), "nothing reaches the site's name"
    assert len(written) <= 7
    assert all(len(text) <= 62 for _, text in written)


def test_what_is_left_out_is_marked() -> None:
    *_, last, name = lines(cards.svg("Title", "many words " * 60, "Site"))
    assert last[1].endswith(" …")
    assert name[1] == "Site"


def test_a_card_is_a_png(tmp_path: Path) -> None:
    painter = Painter(Cache(tmp_path))
    svg = cards.svg("Why <decode> & prefill \x0c \ufffe differ", "“Short”", "Spliced Inference")
    data = painter.png(png_job(svg, FONTS))
    painter.close()
    assert struct.unpack(">II", data[16:24]) == cards.SIZE
    again = Painter(Cache(tmp_path))
    assert again.png(png_job(svg, FONTS)) == data
    again.close()


def test_the_width_can_be_asked_for(tmp_path: Path) -> None:
    painter = Painter(Cache(None))
    data = painter.png(
        png_job('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"/>', tmp_path, 180)
    )
    painter.close()
    assert struct.unpack(">II", data[16:24]) == (180, 180)


def test_what_is_no_picture_says_so() -> None:
    painter = Painter(Cache(None))
    with pytest.raises(ValueError, match="unknown token"):
        painter.png(png_job("no svg", FONTS))
    painter.close()


def test_another_face_is_another_picture(tmp_path: Path) -> None:
    svg = cards.svg("A", "B", "C")
    (tmp_path / "a.ttf").write_bytes(b"1")
    before = png_job(svg, tmp_path)
    (tmp_path / "a.ttf").write_bytes(b"22")
    assert png_job(svg, tmp_path) != before
