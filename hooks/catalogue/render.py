"""Templates of the catalogue and the addresses within it. Everything that a template prints is escaped."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hooks.charts.words import listed
from hooks.markup import escaped, relative
from hooks.numbers import expressions
from hooks.numbers.formatting import SPACE, unbroken

QUANTITIES = "data/quantities"
RUNS = "data/runs"
API = "api/v1"
LICENCE = "CC BY 4.0"
LICENCE_URL = "https://creativecommons.org/licenses/by/4.0/"


def quantity_path(id_: str) -> str:
    """Where the page of a number lies in the site."""
    return f"{QUANTITIES}/{id_}.html"


def run_path(run_id: str) -> str:
    """Where the page of a run lies in the site."""
    return f"{RUNS}/{run_id}.html"


def link(path: str, uri: str) -> str:
    """The address of a file of the site, seen from the page at `uri`."""
    path, mark, fragment = path.partition("#")
    return quote(relative(path, uri)) + mark + quote(fragment, safe=":")


def page_path(uri: str) -> str:
    """Where the page of a source lies in the site."""
    return f"{uri.rpartition('.')[0]}.html"


def render(template: str, **values: Any) -> str:
    """The text of a template of this folder."""
    return _environment().get_template(template).render(values)


def formula(source: str, known: set[str], uri: str) -> Markup:
    """A formula with a link at each id that has a page."""
    made, end = "", 0
    for match in expressions.ID.finditer(source):
        made += escaped(source[end : match.start()])
        text = escaped(match[0])
        made += f'<a href="{link(quantity_path(match[0]), uri)}">{text}</a>' if match[0] in known else text
        end = match.end()
    return Markup(made + escaped(source[end:]))


def size_words(size_bytes: int) -> str:
    """The size of a file as people read it: `12 kB`."""
    for power, symbol in ((6, "MB"), (3, "kB")):
        if size_bytes >= 10**power:
            shown = size_bytes / 10**power
            return f"{shown:.1f}{SPACE}{symbol}" if shown < 10 else f"{shown:,.0f}{SPACE}{symbol}"
    return f"{size_bytes}{SPACE}bytes"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_inert,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "quantity_path": quantity_path,
        "run_path": run_path,
        "page_path": page_path,
        "link": link,
        "SPACE": SPACE,
        "LICENCE": LICENCE,
        "LICENCE_URL": LICENCE_URL,
    }
    made.filters |= {"listed": listed, "unbroken": unbroken}
    return made


def _inert(value: Any) -> Any:
    """Text as markup in which nothing is markup, double braces and control characters neither."""
    return Markup(escaped(value)) if isinstance(value, str) and not isinstance(value, Markup) else value
