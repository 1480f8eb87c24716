"""A worker without torch or a model, for tests of what a session does around it. Its figures are made up.

`python -m tests.measure.fast_worker run …` is `python -m measure run …` with such workers.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from datetime import UTC, datetime
from typing import Any

STEP_S = 0.008


def serve() -> int:
    """The worker's side of the protocol in measure/worker.py."""
    job = json.loads(sys.stdin.readline())
    unmetered = {"kind": "unavailable", "reason": "no meter here"}
    answer(
        event="started",
        machine={
            "id": "cpu-00000000",
            "label": "a machine that tests make up",
            "cpu": "none",
            "cpu_cores": 1,
            "memory_bytes": 1,
            "os": "none",
            "accelerator": None,
        },
        software={"python": "0", "torch": "0", "transformers": "0"},
        code={"version": "0", "commit": None, "changed": None, "tree": "0" * 64},
        dtype="float32",
        title="Tiny",
        max_positions=2048,
        rehearsal=False,
    )
    answer(
        event="built",
        model={
            "name": job["model"],
            "parameters": 1,
            "dtype": "float32",
            "weights_bytes": 4,
            "weights": {"kind": "random", "label": "no weights", "seed": job["seed"]},
        },
        meter={"kind": "none", "refusal": unmetered},
        build_s=0.001,
    )
    for line in sys.stdin:
        request = json.loads(line)
        if "check_mode" in request and os.environ.get("DIE_AT_CHECK"):
            os.kill(os.getpid(), signal.SIGKILL)
        elif "check_mode" in request:
            check = {"mode": request["check_mode"], "context_tokens": request["context_tokens"]}
            answer(
                event="mode_check", check={**check, "max_difference": 0.0, "tolerance": 1e-4, "passed": True}
            )
        elif request["cell"]["experiment"] == "idle":
            answer(event="refused", refusal=unmetered)
        else:
            answer(event="sample", **sample(request["cell"], request["steps"], unmetered))
    return 0


def sample(cell: dict[str, Any], steps: int, unmetered: dict[str, str]) -> dict[str, Any]:
    """A window that slept."""
    began = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    is_size = cell["experiment"] == "kv_cache"
    duration_s = STEP_S * steps * random.uniform(1.0, 1.05)
    time.sleep(0 if is_size else duration_s)
    lengths = {
        "prefill": cell["prompt_tokens"],
        "decode": 1,
        "kv_cache": cell["context_tokens"],
        "ceilings": 0,
    }
    return {
        "started_at": began,
        "steps": 1 if is_size else steps,
        "tokens": cell["batch"] * lengths[cell["experiment"]] * (1 if is_size else steps),
        "duration_s": None if is_size else duration_s,
        "system_s": None if is_size else duration_s,
        "tokens_held": cell["prompt_tokens"] or cell["context_tokens"],
        "foreign_cpu_share": None,
        "kv_cache_bytes": 1 if cell["experiment"] != "ceilings" else None,
        "peak_bytes": 1,
        "work_bytes": 1.0,
        "work_flop": 1.0,
        "energy": {"joules": None, "error_joules": None, "refusal": unmetered},
    }


def answer(**event: Any) -> None:
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        from measure import cli, process

        process.WORKER[:] = [sys.executable, "-m", "tests.measure.fast_worker"]
        raise SystemExit(cli.main())
    raise SystemExit(serve())
