"""Quantiles that intervals asked for, kept between builds. Computes none.

They follow from scipy alone, which takes a fifth of a second to import: too long for the few numbers that are wanted.
"""

from __future__ import annotations

from hooks.caching.cache import Cache, digest, of_environment, version
from hooks.numbers.estimates import QUANTILES

_KIND = "quantiles"


def recall(kept: Cache) -> None:
    """Have estimates know what was kept."""
    QUANTILES.update(of_environment(kept).get(_KIND, _key()) or {})


def keep(kept: Cache) -> None:
    """Keep what estimates know."""
    of_environment(kept).put(_KIND, _key(), QUANTILES)


def _key() -> str:
    return digest(_KIND, version("scipy"))
