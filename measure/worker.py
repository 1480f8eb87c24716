"""One fresh process: builds the model and takes the samples it is asked for. Decides nothing, writes no file.

Requests come as JSON lines on standard input, answers go as JSON lines to where standard output was. The
first request is the job; each later one a cell. The process ends when its input does, also when the
session that asked was killed.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:  # torch is imported on the clock, as part of building
    from measure.meter import Meter
    from measure.phases import Bench

PR_SET_PDEATHSIG = 1


def main() -> int:
    """Serve one session."""
    _die_with_parent()
    answers = _claim_stdout()
    job = json.loads(sys.stdin.readline())
    began = time.perf_counter()
    _be_quiet()

    from measure.errors import MeasureError

    try:
        bench, energy = _prepare(job, answers, began)
    except MeasureError as error:
        _answer(answers, event="error", message=str(error), exit_code=error.exit_code)
        return 1
    for line in sys.stdin:
        _answer(answers, **_serve(bench, energy, json.loads(line)))
    return 0


def _prepare(job: dict[str, Any], answers: TextIO, began: float) -> tuple[Bench, Meter]:
    """Tell what this machine is, build the model, tell what was built."""
    import torch

    from measure import cards, graph, machine, meter, models, phases
    from measure.code import code
    from measure.sizes import Sizes

    sizes = Sizes.load(Path(job["site_data"]), job["model"])
    acted = cards.rehearsed(job["device"])
    device = machine.choose_device("cpu" if acted else job["device"])
    dtype = machine.dtype_for(torch.device("cuda") if acted else device)
    _answer(
        answers,
        event="started",
        machine=machine.describe(device, acted),
        software=machine.software(),
        code=code(),
        dtype=str(dtype).removeprefix("torch."),
        title=sizes.title,
        max_positions=sizes.max_positions,
        rehearsal=acted is not None,
    )
    models.check_fits(
        sizes,
        dtype=dtype,
        available_bytes=machine.available_bytes(device),
        where="the GPU" if device.type == "cuda" else "this machine",
    )
    energy = _acted_meter(acted, job) if acted else meter.open_meter(device, job["idle_watts_before_context"])
    model, weights = models.build(sizes, job["weights"], dtype=dtype, device=device, seed=job["seed"])
    bench = phases.Bench(
        model,
        sizes,
        device,
        energy,
        seed=job["prompt_seed"],
        spare_bytes=machine.available_bytes(device),
        capture=graph.called_again if acted else None,
    )
    torch.set_grad_enabled(False)
    _answer(
        answers,
        event="built",
        model={
            "name": sizes.name,
            "parameters": models.parameters(model),
            "dtype": str(dtype).removeprefix("torch."),
            "weights_bytes": models.weights_bytes(model),
            "weights": weights.as_json(),
        },
        meter=energy.describe(),
        build_s=round(time.perf_counter() - began, 3),
    )
    return bench, energy


def _acted_meter(uuid: str, job: dict[str, Any]) -> Meter:
    """The meter of a card that a rehearsal acts with: the real one, over whatever driver pynvml finds."""
    from measure.nvml import open_gpu

    return open_gpu(uuid, own_bytes=lambda: 0, idle_watts_before_context=job["idle_watts_before_context"])


def _serve(bench: Bench, energy: Meter, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request. A cell that fails does not end the process."""
    import torch

    from measure import idle
    from measure.errors import first_line
    from measure.plan import Cell

    cell = Cell(**request["cell"]) if "cell" in request else None
    what = cell.label() if cell else f"the check of {request['check_mode']}"
    try:
        if cell is None:
            check = bench.check_mode(request["check_mode"], request["context_tokens"])
            return {"event": "mode_check", "check": asdict(check)}
        if cell.experiment == "idle":
            return idle.at_rest(energy)
        return {"event": "sample", **asdict(bench.measure(cell, request["steps"], probe=request["probe"]))}
    except (MemoryError, torch.OutOfMemoryError) as error:
        kind, reason = "did_not_fit", f"{what} ran out of memory ({first_line(error)})"
    except (RuntimeError, ValueError, OSError) as error:  # OSError: no room for compiled kernels
        if "allocate memory" in str(error):  # how torch says it on a CPU
            kind, reason = "did_not_fit", f"{what} ran out of memory ({first_line(error)})"
        else:
            kind, reason = "unavailable", f"{what} failed ({first_line(error)})"
    bench.release()
    return {"event": "refused", "refusal": {"kind": kind, "reason": reason}}


def _answer(answers: TextIO, **event: Any) -> None:
    answers.write(json.dumps(event, allow_nan=False) + "\n")
    answers.flush()


def _claim_stdout() -> TextIO:
    """Keep standard output for answers; whatever else prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _be_quiet() -> None:
    """Libraries' advice is for people who watch; here it would mix with the session's progress."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)


def _die_with_parent() -> None:
    """On Linux, end when the session is killed, even in the middle of a window."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main())
