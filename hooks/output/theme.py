"""What the theme writes into pages and a checker of HTML or of accessibility refuses, mended. Changes no look."""

from __future__ import annotations

_WRONG = (
    # A section's label in the navigation; without a number the attribute means nothing.
    (' tabindex=""', ""),
    # The check boxes behind the drawer and the search; the attribute is for fields that hold text.
    ('type="checkbox" id="__drawer" autocomplete="off"', 'type="checkbox" id="__drawer"'),
    ('type="checkbox" id="__search" autocomplete="off"', 'type="checkbox" id="__search"'),
    # A dialog needs a name.
    (
        'data-md-component="search" role="dialog">',
        'data-md-component="search" role="dialog" aria-label="Search">',
    ),
)


def valid(html: str) -> str:
    """The page, mended."""
    for wrong, right in _WRONG:
        html = html.replace(wrong, right)
    return html
