"""The frame of a finished page, in which other pages can stand: head, header, navigation, foot. Makes no content.

The theme takes a few milliseconds to render a page. The catalogue has hundreds of pages that differ in title, address,
description and content alone, so they are put into the frame of the index that they are listed in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup

from hooks.markup import escaped

_ARTICLE = re.compile(r"(<article\b[^>]*>).*</article>", re.DOTALL)
_TITLE = re.compile(r"<title>.*?</title>", re.DOTALL)
_OF_THE_PAGE = re.compile(
    r"\s*<(?:meta name=\"(?:description|citation_[\w]+)\"|meta property=\"og:(?:title|description|url|image:alt)\""
    r"|meta name=\"twitter:(?:title|description)\"|link rel=\"(?:canonical|prev|next)\""
    r"|link rel=\"alternate ?\" type=\"text/markdown\")[^>]*>"
)
"""Elements of the head that speak of the page whose frame it is."""

_TITLES = ('property="og:title"', 'name="twitter:title"')
_DESCRIPTIONS = ('property="og:description"', 'name="twitter:description"', 'property="og:image:alt"')
"""What the card of a page says; its picture is that of the frame."""

_TOPIC = re.compile(
    r"(data-md-component=\"header-topic\">\s*<span class=\"md-ellipsis\">).*?(</span>)", re.DOTALL
)
_NEIGHBOURS = re.compile(r'<nav class="md-footer__inner.*?</nav>', re.DOTALL)
_SKIP = re.compile(r'(<a href=")#[^"]*(" class="md-skip">)')
_CONTENT, _HEAD, _NAME, _TOPIC_TEXT = (f"\x00{word}\x00" for word in ("content", "head", "title", "topic"))


@dataclass(frozen=True)
class Frame:
    """A page's HTML with marks where another page's own parts go."""

    html: str
    site_name: str
    site_url: str | None

    @classmethod
    def of(cls, html: str, site_name: str, site_url: str | None) -> Frame:
        """The frame of a finished page.

        Args:
            html: The page.
            site_name: Stands in the title of every page.
            site_url: Where the site stands, ending in a slash; None where that is not known.
        """
        html = _OF_THE_PAGE.sub("", html)
        html = _TITLE.sub(lambda _: f"{_HEAD}<title>{_NAME}</title>", html, count=1)
        html = _ARTICLE.sub(lambda match: f"{match[1]}{_CONTENT}</article>", html, count=1)
        html = _NEIGHBOURS.sub("", html)
        html = _SKIP.sub(lambda match: f"{match[1]}#page{match[2]}", html)
        topics = list(_TOPIC.finditer(html))
        if len(topics) > 1:  # the first is the site's name
            at = topics[1]
            html = f"{html[: at.start()]}{at[1]}{_TOPIC_TEXT}{at[2]}{html[at.end() :]}"
        return cls(html, site_name, site_url)

    def page(self, *, path: str, title: str, description: str, content: str, head: str = "") -> str:
        """A page in the frame.

        Args:
            path: Where it lies in the site: in the folder of the page whose frame it is.
            title: Its title.
            description: What it is about, in a sentence.
            content: Its HTML, with a heading that has the id `page`.
            head: More elements for its head.
        """
        found = f'<meta name="description" content="{escaped(description)}">{head}'
        if self.site_url:
            address = escaped(self.site_url + path)
            found += f'<link rel="canonical" href="{address}"><meta property="og:url" content="{address}">'
            for text, names in ((title, _TITLES), (description, _DESCRIPTIONS)):
                found += "".join(f'<meta {name} content="{escaped(text)}">' for name in names)
        html = self.html.replace(_HEAD, found, 1).replace(_NAME, escaped(f"{title} - {self.site_name}"), 1)
        return html.replace(_TOPIC_TEXT, str(Markup(escaped(title))), 1).replace(_CONTENT, content, 1)
