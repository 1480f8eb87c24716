"""The Content-Security-Policy under which the finished site works, and the file that tells a host. Serves nothing.

Nothing on a page is evaluated from text and nothing comes from another host, so the policy needs neither
'unsafe-eval' nor 'unsafe-inline': the few short scripts that the theme writes into each page are named by their
hashes. Those change with the theme and with the site's address, so they are computed from the pages themselves.
docs/reference/hosting.md shows the header.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path

FILE = "_headers"
"""The file's name and format are those that Netlify and Cloudflare Pages read."""

HASHES = "HASHES"
TEMPLATE = "; ".join(
    [
        "default-src 'none'",
        f"script-src 'self' {HASHES}",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
"""The header's value, with HASHES where those of the scripts belong. Pictures may be data: the theme's icons are."""

_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
_NOT_RUN = re.compile(r"\bsrc=|\btype=[\"']?(?!text/javascript|module)")


def header(pages: Iterable[str]) -> str:
    """The header's value for a site of these pages (HTML).

    One value holds for all: the theme replaces a page by another without a new document, so that each page must
    allow what the others hold.
    """
    hashes = {_hash(text) for html in pages for text in _inline_scripts(html)}
    return TEMPLATE.replace(HASHES, " ".join(sorted(hashes)))


def write(site_dir: Path) -> None:
    """Write the file for the site in `site_dir`."""
    pages = (path.read_text(encoding="utf-8") for path in sorted(site_dir.rglob("*.html")))
    lines = ["/*", f"  Content-Security-Policy: {header(pages)}", "  X-Content-Type-Options: nosniff"]
    (site_dir / FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _inline_scripts(html: str) -> Iterable[str]:
    return (match["text"] for match in _SCRIPT.finditer(html) if not _NOT_RUN.search(match["attributes"]))


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
