"""The published sizes of a model, as site_data/models/ has them. Builds nothing, needs no torch."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.errors import MeasureError, UsageError

ELEMENT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of an element of each dtype that is measured here."""


@dataclass(frozen=True)
class Sizes:
    """What models/<name>.json says of a model; see schema.json for the meaning of each field."""

    name: str
    title: str
    architecture: str
    layers: int
    hidden_size: int
    intermediate_size: int
    attention_heads: int
    kv_heads: int
    head_size: int
    vocab_rows: int
    tied_embeddings: bool
    qkv_bias: bool
    rope_theta: float
    rms_norm_eps: float
    max_positions: int
    hub: dict[str, Any] | None

    @classmethod
    def load(cls, site_data: Path, name: str) -> Sizes:
        """Read models/<name>.json.

        Raises UsageError when there is no such model, naming those that there are.
        """
        folder = site_data / "models"
        path = folder / f"{name}.json"
        known = known_models(site_data)
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise UsageError(
                f"--model: no model {name!r}; expected one of {', '.join(known) or '(none)'}, "
                + (f"nearest known: {near[0]}, " if near else "")
                + f"or a new file {path} (the fields are in schema.json, $defs/model)"
            )
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{field: data[field] for field in cls.__dataclass_fields__})
        except (ValueError, KeyError) as error:
            raise MeasureError(
                f"{path}: not a model file ({error!r}); `python -m measure check` says what is wrong"
            ) from error


def known_models(site_data: Path) -> list[str]:
    """Names of the models in site_data/models/, in order."""
    return sorted(path.stem for path in (site_data / "models").glob("*.json"))
