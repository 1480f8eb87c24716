"""What a page says of itself in its head: descriptions, titles, cards, icons. Needs no browser."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from bs4 import BeautifulSoup

from .conftest import Site


def head(site: Site, path: str) -> dict[str, str]:
    """The contents of a page's meta elements by their name or property."""
    page = BeautifulSoup((site.folder / path).read_text(encoding="utf-8"), "html.parser")
    found = page.head.find_all("meta", content=True) if page.head else []
    return {str(meta.get("name") or meta.get("property")): str(meta["content"]) for meta in found}


def png_size(path: Path) -> tuple[int, int]:
    """Width and height in pixels, from the file's first chunk."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_every_page_has_a_description_of_its_own(site: Site) -> None:
    descriptions = {path: head(site, path).get("description", "") for path in site.pages}
    assert len(descriptions) >= 10
    assert all(len(text) >= 30 for text in descriptions.values()), descriptions
    written = [text for path, text in descriptions.items() if not path.startswith("data/")]
    assert all(len(text) <= 200 for text in written), written
    assert len(set(written)) == len(written)


def test_every_page_has_a_card_at_an_absolute_address(site: Site) -> None:
    for path in site.pages:
        meta = head(site, path)
        assert meta.get("og:url") == site.url + path, path
        assert meta["og:image"] == meta["twitter:image"]
        assert meta["og:image"].startswith(f"{site.url}assets/cards/")
        assert png_size(site.folder / meta["og:image"].removeprefix(site.url)) == (1200, 630)
        assert meta["og:title"] and meta["og:description"] == meta["description"]
        assert meta["twitter:card"] == "summary_large_image"


def test_icons_are_there(site: Site) -> None:
    page = BeautifulSoup((site.folder / "notes/1-prefill-against-decode.html").read_text(), "html.parser")
    icon, touch = page.find("link", rel="icon"), page.find("link", rel="apple-touch-icon")
    assert icon is not None and touch is not None
    folder = site.folder / "notes"
    assert (folder / str(icon["href"])).resolve().read_text().startswith("<svg")
    assert png_size((folder / str(touch["href"])).resolve()) == (180, 180)


def test_titles_do_not_say_the_name_twice(site: Site) -> None:
    for path in site.pages:
        title = re.search(r"<title>(.*?)</title>", (site.folder / path).read_text(encoding="utf-8"))
        assert title and title[1].lower().count("spliced inference") == 1, path


def test_the_face_of_the_headings_comes_with_its_licence(site: Site) -> None:
    fonts = site.folder / "assets/fonts"
    assert (fonts / "newsreader.woff2").stat().st_size < 16_000
    assert "SIL Open Font License" in (fonts / "LICENSE").read_text()
    assert not list(fonts.glob("*.ttf")), "the build's own copy is not for readers"
