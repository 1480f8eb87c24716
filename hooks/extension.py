"""The Python-Markdown extension: finds placeholders and puts what they mean in their place. Needs no MkDocs.

Placeholders are found as inline patterns, so code is never touched; a tree processor then resolves them in
document order, after all other inline work and before the table of contents is made. Options of the
extension, for any host of Python-Markdown: `site_data` and `quantities` (paths), `page` (the page's name in errors).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString

from hooks.caching.cache import Cache
from hooks.citation import references
from hooks.citation.references import References
from hooks.data import store
from hooks.errors import PublishErrors
from hooks.numbers import quantities
from hooks.numbers.book import Book
from hooks.pictures.gallery import Gallery
from hooks.switching.machines import Choice
from hooks.writing import glossary, placeholders, reading_time, terms
from hooks.writing.glossary import Glossary
from hooks.writing.pages import PageState
from hooks.writing.resolve import TAG, Resolver

MARK = "\x02spliced:{}\x03"
"""Stands in the text of an unresolved placeholder, from where it may get into an alt text or a title."""


@dataclass
class Site:
    """What all pages of a build share: the numbers, the texts last published, and files that pages link to.

    Where no host writes the files, a page has them inside. `choices` are the runs that a page can show in the place of
    the main one.
    """

    book: Book
    published: Mapping[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    gallery: Gallery = field(default_factory=Gallery)
    kept: Cache = field(default_factory=lambda: Cache(None))
    writes_files: bool = True
    choices: tuple[Choice, ...] = ()
    glossary: Glossary = field(default_factory=Glossary)
    references: References = field(default_factory=References)

    @classmethod
    def open(
        cls,
        site_data: Path,
        quantities_file: Path,
        kept: Cache | None = None,
        glossary_file: Path | None = None,
    ) -> Site:
        """Read site_data/, quantities.toml, the works beside it, and the glossary where pages are to explain its terms.

        `kept` holds results of earlier times, if any are kept.
        """
        kept = kept or Cache(None)
        book = Book(store.load_cached(site_data, kept), quantities.read(quantities_file))
        listed = glossary.read(glossary_file) if glossary_file else Glossary()
        works = references.read(quantities_file.parent / references.FILE, book.store.cited, kept)
        return cls(book, gallery=Gallery(kept), kept=kept, glossary=listed, references=works)


class SplicedExtension(Extension):
    """The extension. A host that has more to say of pages sets `site` and `page` before each conversion.

    While `page` is set, errors are collected in it. Otherwise a conversion raises `PublishErrors`.
    """

    def __init__(self, **options: Any) -> None:
        self.config = {
            "site_data": ["site_data", "Folder of the measured data"],
            "quantities": ["docs/quantities.toml", "The list of numbers that a page may state"],
            "page": ["page", "What errors call the page, where the program that converts it does not say"],
            "cache": ["", "Folder where results are kept between conversions; empty for none"],
            "glossary": [
                "",
                "The glossary whose terms pages explain, in the folder of the pages; empty for none",
            ],
        }
        self.site: Site | None = None
        self.page: PageState | None = None
        super().__init__(**options)

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the processors. Called by Python-Markdown."""
        conversion = _Conversion(self)
        md.preprocessors.register(_SourceReader(md, conversion), "spliced-source", 100)
        # Before code spans (190), which it knows itself: a placeholder may hold what looks like one.
        md.inlinePatterns.register(_Finder(md, conversion), "spliced", 195)
        # After attribute lists (8), abbreviations (7) and smart quotes (6), before the table of contents (5).
        md.treeprocessors.register(_Replacer(md, conversion), "spliced", 5.5)
        md.treeprocessors.register(_ForReaders(md, conversion), "spliced-readers", 5.4)
        md.treeprocessors.register(_TreeEnd(md, conversion), "spliced-end", -100)
        # After raw HTML (30) and ampersands (20) are in place.
        md.postprocessors.register(_Finisher(md, conversion), "spliced", 5)


class _Conversion:
    """One conversion of one source, shared by its processors."""

    def __init__(self, extension: SplicedExtension) -> None:
        self.extension = extension
        self.found: list[str] = []
        self.page = PageState("page")
        self.resolver: Resolver | None = None
        self.tree_done = False

    def begin(self, source: str, md: Markdown) -> None:
        self.found = []
        self.resolver = None
        self.tree_done = False
        if self.extension.page is not None:
            self.page = self.extension.page
            if not self.page.source:
                self.page.begin(source)
        else:
            path = _path_told(md)
            self.page = PageState(path or str(self.extension.getConfig("page")), uri=path or "")
            self.page.begin(source)

    def site(self) -> Site:
        if self.extension.site is None:
            option = self.extension.getConfig
            cache, listed = str(option("cache")), str(option("glossary"))
            self.extension.site = Site.open(
                Path(option("site_data")),
                Path(option("quantities")),
                Cache(Path(cache)) if cache else None,
                Path(listed) if listed else None,
            )
            self.extension.site.writes_files = False
        return self.extension.site


def _path_told(md: Markdown) -> str | None:
    """The page's path inside docs/, where a preprocessor of the host knows it, as Zensical's does."""
    paths = (getattr(getattr(item, "page", None), "path", None) for item in md.preprocessors)
    return next((path for path in paths if isinstance(path, str)), None)


class _SourceReader(Preprocessor):
    """Keeps the source as it came in, for line numbers."""

    def __init__(self, md: Markdown, conversion: _Conversion) -> None:
        super().__init__(md)
        self.conversion = conversion

    def run(self, lines: list[str]) -> list[str]:
        self.conversion.begin("\n".join(lines), self.md)
        return lines


class _Finder(InlineProcessor):
    """Turns a placeholder into an element that waits for the tree processor, and leaves code alone.

    Escaped braces are printed as entities, so that braces in the output are always a mistake.
    """

    # What begins first counts; code spans are found as Python-Markdown finds them, formulas as arithmatex does.
    PATTERN = (
        r"(?P<code>(?<!\\)(?:\\{2})+(?=`)|(?<!\\)(?P<ticks>`+).+?(?<!`)(?P=ticks)(?!`))"
        rf"|(?P<escaped>{placeholders.ESCAPED})"
        rf"|(?P<whole>{placeholders.PATTERN})"
        rf"|(?P<reference>{references.PATTERN})"
    )
    FORMULA = re.compile(rf"(?P<formula>(?<![\\$])\$(?!\s)(?:\\.|[^\\$])+?(?<!\s)\$)|{PATTERN}", re.DOTALL)

    def __init__(self, md: Markdown, conversion: _Conversion) -> None:
        super().__init__(self.PATTERN, md)
        self.conversion = conversion

    def getCompiledRegExp(self) -> re.Pattern[str]:
        """The pattern; where formulas are read, with them: one that holds a placeholder is an error in the end."""
        return self.FORMULA if "arithmatex-inline" in self.md.inlinePatterns else self.compiled_re

    def handleMatch(  # type: ignore[override]
        self, m: re.Match[str], data: str
    ) -> tuple[Element | str | None, int | None, int | None]:
        if m["code"] or m.groupdict().get("formula"):
            return None, None, None
        if m["reference"] and m["reference"][1:-1].lower() in self.md.references:
            return None, None, None  # the page defines it as a link
        if m["escaped"]:
            return self._printed(m["escaped"]), m.start(), m.end()
        waiting = Element(TAG)
        waiting.text = AtomicString(MARK.format(len(self.conversion.found)))
        self.conversion.found.append(m["reference"] or m["whole"][2:-2])
        return waiting, m.start(), m.end()

    def _printed(self, escaped: str) -> str:
        store = self.md.htmlStash.store
        text = escaped.removeprefix("\\")
        begin = store("&#123;&#123;") if text.startswith("{{") else ""
        end = store("&#125;&#125;") if text.endswith("}}") else ""
        return f"{begin}{text.removeprefix('{{').removesuffix('}}')}{end}"


class _Replacer(Treeprocessor):
    """Resolves what the finder found."""

    def __init__(self, md: Markdown, conversion: _Conversion) -> None:
        super().__init__(md)
        self.conversion = conversion

    def run(self, root: Element) -> None:
        conversion = self.conversion
        conversion.resolver = Resolver(conversion.site, conversion.page, conversion.found, self.md)
        conversion.resolver.run(root)


class _ForReaders(Treeprocessor):
    """Adds what helps a reader and comes from no placeholder: terms that explain themselves, the time that it takes."""

    def __init__(self, md: Markdown, conversion: _Conversion) -> None:
        super().__init__(md)
        self.conversion = conversion

    def run(self, root: Element) -> None:
        page, extension = self.conversion.page, self.conversion.extension
        if page.says_reading_time:
            reading_time.put(root)
        if page.explains_terms and (extension.site is not None or extension.getConfig("glossary")):
            site = self.conversion.site()
            terms.mark(root, page, site.glossary)
            site.gallery.set_aside(root)


class _TreeEnd(Treeprocessor):
    """Notes that the tree is done: before that, postprocessors only see headings for the table of contents."""

    def __init__(self, md: Markdown, conversion: _Conversion) -> None:
        super().__init__(md)
        self.conversion = conversion

    def run(self, root: Element) -> None:
        self.conversion.tree_done = True


class _Finisher(Postprocessor):
    """Looks at the finished HTML, and raises the page's errors where no host collects them."""

    def __init__(self, md: Markdown, conversion: _Conversion) -> None:
        super().__init__(md)
        self.conversion = conversion

    def run(self, text: str) -> str:
        conversion = self.conversion
        if conversion.resolver:
            text = conversion.resolver.fill(text)
        if not conversion.tree_done:
            return text
        if conversion.resolver:
            conversion.resolver.finish(text)
        if conversion.extension.page is None and conversion.page.errors:
            raise PublishErrors(conversion.page.sorted_errors)
        if conversion.extension.page is None and conversion.extension.site is not None:
            conversion.extension.site.gallery.keep()
        return text


def makeExtension(**options: Any) -> SplicedExtension:
    """The entry point by which Python-Markdown loads the extension as `hooks.extension`."""
    return SplicedExtension(**options)
