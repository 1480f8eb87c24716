"""A short look at what torch can do here, in a process of its own: `python -m measure.probe`. Decides nothing.

Sees no GPU, so that it makes no context on one. Prints one JSON object: versions, whether torch was built for CUDA, why
it cannot compile, what others do with the CPU, and what it reads and multiplies in float32 at most.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

REST_S = 1.0
"""How long this process does nothing, to see what others do."""

LOOK_S = 2.0
"""How long the rates are looked for; the highest counts."""


def main() -> int:
    """Look, print, end. With --no-rates nothing is timed."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    print(json.dumps(look(rates="--no-rates" not in sys.argv)))
    return 0


def look(*, rates: bool) -> dict[str, Any]:
    """The object that is printed; `rates` tells whether to take the seconds that timing needs."""
    import torch

    found: dict[str, Any] = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "no_compiler": _no_compiler(),
        "bytes_per_s": None,
        "flop_per_s": None,
        "foreign_cpu_share": None,
    }
    if rates:
        from measure import clock, host
        from measure.ceilings import Ceilings

        with clock.window(lambda: None) as rest:
            time.sleep(REST_S)
        ceilings = Ceilings(
            torch.device("cpu"),
            torch.float32,
            spare_bytes=host.available_bytes(),
            synchronize=lambda: None,
        )
        best = ceilings.probe()
        end = time.monotonic() + LOOK_S
        while time.monotonic() < end:
            best = best.highest(ceilings.probe())
        found |= {
            "bytes_per_s": best.bytes_per_s,
            "flop_per_s": best.flop_per_s,
            "foreign_cpu_share": rest.foreign_cpu_share,
        }
    return found


def _no_compiler() -> str | None:
    try:
        from torch._inductor.cpp_builder import get_cpp_compiler

        get_cpp_compiler()
    except Exception as error:  # whatever keeps torch from compiling is the reason
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    return None


if __name__ == "__main__":
    raise SystemExit(main())
