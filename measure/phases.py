"""What is timed: prefill, decode and the size of the cache, each in a window of its own.

Prefill runs the whole prompt through the model once, into an empty cache, and keeps the logits of the
last position only: logits of every position would add a product with the whole vocabulary for each.
Decode feeds one token into a cache that already holds `context_tokens`, takes the likeliest next token,
and drops the new key and value again, so that every step of a window works at the same depth. It is
never had by subtracting a prefill from something longer.
"""

from __future__ import annotations

import inspect
import resource
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache, PreTrainedModel

from measure import clock
from measure.meter import Energy, Meter
from measure.plan import Cell

CACHES_SHARE = 0.25
"""Share of the memory left after the weights that filled caches may keep."""


@dataclass(frozen=True)
class Measured:
    """One sample as it was seen; becomes a line of samples.jsonl."""

    started_at: str
    steps: int
    tokens: int
    duration_s: float | None
    foreign_cpu_share: float | None
    energy: Energy
    kv_cache_bytes: int | None
    peak_bytes: int | None
    system_s: float | None = None
    """The window on the system's clock, seconds, to be compared with `duration_s`."""
    tokens_held: int | None = None
    """Tokens of each sequence in the cache afterwards."""

    @property
    def step_s(self) -> float:
        """Seconds of one forward pass; 0 where nothing was timed."""
        return (self.duration_s or 0.0) / self.steps


class Bench:
    """A model on a device, ready to be timed."""

    def __init__(
        self, model: PreTrainedModel, device: torch.device, meter: Meter, *, seed: int, spare_bytes: int
    ) -> None:
        self._model = model
        self._device = device
        self._meter = meter
        self._generator = torch.Generator().manual_seed(seed)
        self._caches = FilledCaches(int(spare_bytes * CACHES_SHARE))
        self._vocab_rows: int = model.config.vocab_size
        self._cache_argument = cache_argument(model)
        self._run: dict[str, Callable[[Cell, int], Measured]] = {
            "prefill": self._prefill,
            "decode": self._decode,
            "kv_cache": self._kv_cache,
        }

    @torch.inference_mode()
    def measure(self, cell: Cell, steps: int) -> Measured:
        """One sample of `cell`, its window `steps` forward passes long."""
        return self._run[cell.experiment](cell, steps)

    def release(self) -> None:
        """Give the filled caches back, after a cell that did not fit."""
        self._caches.clear()
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _prefill(self, cell: Cell, steps: int) -> Measured:
        prompts = [self._random_tokens(cell.batch, cell.length) for _ in range(steps)]
        cache = DynamicCache(config=self._model.config)

        def loop() -> None:
            nonlocal cache
            for prompt in prompts:
                cache = DynamicCache(config=self._model.config)
                self._forward(prompt, cache).argmax(dim=-1)  # ends with the first output token

        return self._timed(cell, loop, steps, steps * cell.batch * cell.length, lambda: cache)

    def _decode(self, cell: Cell, steps: int) -> Measured:
        cache = self._cache_filled_to(cell)
        first = self._random_tokens(cell.batch, 1)

        def loop() -> None:
            token = first
            for _ in range(steps):
                logits = self._forward(token, cache)  # (B, 1, vocabulary)
                token = logits[:, -1, :].argmax(dim=-1, keepdim=True)  # (B, 1)
                cache.crop(-1)

        return self._timed(cell, loop, steps, steps * cell.batch, lambda: cache)

    def _kv_cache(self, cell: Cell, steps: int) -> Measured:
        cache = self._cache_filled_to(cell)
        return Measured(
            started_at=clock.utc_now(),
            steps=1,
            tokens=cell.batch * cell.length,
            duration_s=None,
            foreign_cpu_share=None,
            energy=Energy.refused("unavailable", "the size of a cache takes no energy to read"),
            kv_cache_bytes=cache_bytes(cache),
            peak_bytes=self._peak_bytes(),
        )

    def _timed(
        self,
        cell: Cell,
        loop: Callable[[], None],
        steps: int,
        tokens: int,
        cache_after: Callable[[], DynamicCache],
    ) -> Measured:
        self._meter.begin()
        with clock.window(self._synchronize) as window:
            loop()
        energy = self._meter.end()
        cache = cache_after()
        held = int(cache.get_seq_length())
        if held == cell.length:
            self._caches.offer((cell.batch, cell.length), cache)
        else:
            self._caches.clear()  # the session refuses the sample; the next one gets a fresh cache
        return Measured(
            started_at=window.started_at,
            steps=steps,
            tokens=tokens,
            duration_s=window.duration_s,
            foreign_cpu_share=window.foreign_cpu_share,
            energy=energy,
            kv_cache_bytes=cache_bytes(cache),
            peak_bytes=self._peak_bytes(),
            system_s=window.system_s,
            tokens_held=held,
        )

    def _cache_filled_to(self, cell: Cell) -> DynamicCache:
        """A cache that holds `cell.length` real keys and values a sequence: those of a random prompt."""
        key = (cell.batch, cell.length)
        cache = self._caches.get(key)
        if cache is None:
            cache = DynamicCache(config=self._model.config)
            self._forward(self._random_tokens(*key), cache)
            self._caches.offer(key, cache)
        return cache

    def _forward(self, tokens: torch.Tensor, cache: DynamicCache) -> torch.Tensor:
        """Logits (B, 1, vocabulary) of the last position; `tokens` (B, T) are appended to `cache`."""
        arguments: dict[str, Any] = {self._cache_argument: cache}
        output = self._model(input_ids=tokens, use_cache=True, logits_to_keep=1, **arguments)
        logits: torch.Tensor = output.logits
        return logits

    def _random_tokens(self, batch: int, length: int) -> torch.Tensor:
        """(B, T) token ids; never the same prompt twice in a process, so that no cached prefix can serve one."""
        ids = torch.randint(0, self._vocab_rows, (batch, length), generator=self._generator)
        return ids.to(self._device)

    def _synchronize(self) -> None:
        """Wait until all work given to the device is done; calls on a CPU return when they are done."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def _peak_bytes(self) -> int:
        if self._device.type == "cuda":
            return torch.cuda.max_memory_allocated(self._device)
        unit = 1 if sys.platform == "darwin" else 1024  # macOS reports bytes, Linux kibibytes
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class FilledCaches:
    """Caches kept by (batch, tokens), the one used longest ago dropped first when over the limit."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[tuple[int, int], DynamicCache] = OrderedDict()

    def get(self, key: tuple[int, int]) -> DynamicCache | None:
        """The cache for `key`, or None."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def offer(self, key: tuple[int, int], cache: DynamicCache) -> None:
        """Keep `cache` for `key` unless there is one already."""
        if key in self._kept:
            return
        self._kept[key] = cache
        while len(self._kept) > 1 and sum(map(cache_bytes, self._kept.values())) > self._limit_bytes:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Drop all."""
        self._kept.clear()


def cache_bytes(cache: DynamicCache) -> int:
    """Bytes of the keys and values, from the tensors' own sizes."""
    tensors: list[torch.Tensor] = [
        t
        for layer in cache.layers
        for t in (getattr(layer, "keys", None), getattr(layer, "values", None))
        if t is not None
    ]
    return sum(t.numel() * t.element_size() for t in tensors)


def cache_argument(model: PreTrainedModel) -> str:
    """How this transformers calls the cache: `cache` from 5.24 on, `past_key_values` before."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
