"""What does our own machinery cost: does a step take as long as in a bare loop, and how much more memory is held?

    python -m tests.bench.own_cost [--model smollm2-135m] [--pairs 20]

The bare loop is written out here with nothing but torch and transformers. A pair is four short windows, ours, bare,
bare, ours, so that a drift of the machine cancels; ours are probed as in a run. Printed is the ratio of the times per
step with the interval of its median: where others share the memory, it takes more pairs to tell 1 %. The exit code is
1 where the median is more than 1 % from 1. A small model shows our cost best: its steps are short. Memory is the peak
of two further processes, one with the bare loop alone, one that measures as a run does.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scipy.stats import binom

ROOT = Path(__file__).resolve().parents[2]
SEED = 20
DEPTH = 500
PROMPT = 128
DECODE_STEPS = 8
ALLOWED = 0.01


def main() -> int:
    """Print both ratios and the memory; 1 where a ratio is off by more than 1 %."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--hold", choices=("bare", "bench"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.hold:
        print(json.dumps(hold(arguments.hold, arguments.model)))
        return 0
    # Memory first: a process begins with the peak of the one that started it, which then is still small.
    bare, bench = (ask(kind, arguments.model) for kind in ("bare", "bench"))
    print(f"memory, bare loop:  {bare['peak'] / 1e6:8.0f} MB at its peak")
    print(
        f"memory, as in runs: {bench['peak'] / 1e6:8.0f} MB at its peak: {(bench['peak'] - bare['peak']) / 1e6:.0f} MB "
        f"more, of which {bench['ceilings'] / 1e6:.0f} MB are the buffers of the ceilings"
    )
    return int(compare(arguments.model, arguments.pairs))


def compare(name: str, pairs: int) -> bool:
    """Print the ratios; whether one is off by more than is allowed."""
    from measure.plan import Cell

    model, sizes = build(name)
    bench = make_bench(model, sizes)
    loops = Bare(model, sizes.vocab_rows)
    off = False
    for cell, steps, bare in (
        (Cell("decode", 1, None, DEPTH, "float32"), DECODE_STEPS, loops.decode),
        (Cell("prefill", 1, PROMPT, None, "float32"), 1, loops.prefill),
    ):

        def ours(cell: Cell = cell, steps: int = steps) -> float:
            return bench.measure(cell, steps, probe=True).step_s

        def theirs(bare: Callable[[int], float] = bare, steps: int = steps) -> float:
            return bare(steps)

        ours(), theirs()  # the first of each warms up
        ratios = []
        for _ in range(pairs):
            a, b, c, d = ours(), theirs(), theirs(), ours()
            ratios.append((a + d) / (b + c))
        low, median, high = statistics.quantiles(ratios, n=4)
        least, most = interval_of_median(ratios)
        print(
            f"{cell.label()}: a step takes {median:.4f} times as long as in a bare loop (95 % interval of the median "
            f"{least:.4f} to {most:.4f}; half of {pairs} pairs from {low:.4f} to {high:.4f})",
            flush=True,
        )
        off |= abs(median - 1) > ALLOWED
    return off


def interval_of_median(values: list[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median, from the order of the values alone; the ends where they are few."""
    ordered, count = sorted(values), len(values)
    skip = max(int(binom.ppf(0.025, count, 0.5)) - 1, 0)
    return ordered[skip], ordered[count - 1 - skip]


class Bare:
    """Prefill and decode with transformers alone, timed with two looks at a clock."""

    def __init__(self, model: Any, vocabulary: int) -> None:
        import torch
        from transformers import DynamicCache

        self._torch, self._cache_type = torch, DynamicCache
        self._model = model
        self._prompt = torch.randint(0, vocabulary, (1, PROMPT))
        self._cache = DynamicCache(config=model.config)
        with torch.inference_mode():
            self._step(torch.randint(0, vocabulary, (1, DEPTH)), self._cache)

    def decode(self, steps: int) -> float:
        """Seconds of a step."""
        token = self._prompt[:, :1]
        with self._torch.inference_mode():
            begin = time.perf_counter()
            for _ in range(steps):
                token = self._step(token, self._cache)
                self._cache.crop(-1)
            return (time.perf_counter() - begin) / steps

    def prefill(self, steps: int) -> float:
        """Seconds of a pass over the prompt."""
        with self._torch.inference_mode():
            begin = time.perf_counter()
            for _ in range(steps):
                self._step(self._prompt, self._cache_type(config=self._model.config))
            return (time.perf_counter() - begin) / steps

    def _step(self, tokens: Any, cache: Any) -> Any:
        from measure.caches import cache_argument  # its name differs between versions of transformers

        taken = {cache_argument(self._model): cache}
        logits = self._model(input_ids=tokens, use_cache=True, logits_to_keep=1, **taken).logits
        return logits[:, -1, :].argmax(dim=-1, keepdim=True)


def hold(kind: str, name: str) -> dict[str, int]:
    """The peak of this process after each kind of window; of ours also the bytes that the ceilings hold."""
    from measure.plan import Cell

    model, sizes = build(name)
    if kind == "bare":
        loops = Bare(model, sizes.vocab_rows)
        loops.decode(2)
        loops.prefill(1)
        return {"peak": peak_bytes()}
    bench = make_bench(model, sizes)
    bench.measure(Cell("decode", 1, None, DEPTH, "float32"), 2, probe=True)
    bench.measure(Cell("prefill", 1, PROMPT, None, "float32"), 1, probe=True)
    return {"peak": peak_bytes(), "ceilings": bench.held_bytes()["ceilings"]}


def ask(kind: str, name: str) -> dict[str, int]:
    """`hold` in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.own_cost", "--hold", kind, "--model", name]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, int] = json.loads(done.stdout)
    return answer


def peak_bytes() -> int:
    """Resident memory of this process at its highest."""
    unit = 1 if sys.platform == "darwin" else 1024  # macOS reports bytes, Linux kibibytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def build(name: str) -> tuple[Any, Any]:
    """The model of a run in float32, and its sizes."""
    import torch

    from measure import models
    from measure.sizes import Sizes

    sizes = Sizes.load(ROOT / "site_data", name)
    model, _ = models.build(sizes, "random", dtype=torch.float32, device=torch.device("cpu"), seed=SEED)
    return model, sizes


def make_bench(model: Any, sizes: Any) -> Any:
    """A Bench as a worker makes it."""
    import torch

    from measure import machine
    from measure.meter import NoMeter
    from measure.phases import Bench

    cpu = torch.device("cpu")
    spare = machine.available_bytes(cpu)
    return Bench(model, sizes, cpu, NoMeter("a benchmark"), seed=SEED, spare_bytes=spare)


if __name__ == "__main__":
    raise SystemExit(main())
