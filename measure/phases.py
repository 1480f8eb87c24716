"""What is timed: prefill, decode, the ceilings and the size of the cache, each in a window of its own.

Prefill runs the whole prompt through the model once, into an empty cache, and keeps the logits of the
last position only: logits of every position would add a product with the whole vocabulary for each.
Decode feeds one token into a cache that already holds `context_tokens`, takes the likeliest next token,
and drops the new key and value again, so that every step of a window works at the same depth (modes.py has how).
It is never had by subtracting a prefill from something longer. Ceilings are probed right before and after a window.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from transformers import DynamicCache, PreTrainedModel

from measure import clock, modes
from measure.caches import KeptByUse, cache_bytes, fill_alike, forward
from measure.ceilings import Ceilings
from measure.graph import Capture
from measure.meter import Energy, Meter
from measure.modes import Decoder, ModeCheck
from measure.plan import Cell
from measure.sizes import Sizes
from measure.work import work_of

CACHES_SHARE = 0.25
"""Share of the memory left after the weights that filled caches may keep; static copies of them may keep as much."""

ALLOCATOR_SLACK_BYTES = 2**20
"""By how much the allocator's count of a cache may differ from its tensors' sizes, beside 1 %: it rounds each up."""


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
    work_bytes: int | None = None
    """Least bytes that the window had to read, and"""
    work_flop: int | None = None
    """its floating-point operations: arithmetic (work.py); for ceilings, what was read or multiplied."""
    ceiling_bytes_per_s: float | None = None
    ceiling_flop_per_s: float | None = None
    """The higher of two probes, right before and right after the window; None where it was not probed."""

    @property
    def step_s(self) -> float:
        """Seconds of one forward pass; 0 where nothing was timed."""
        return (self.duration_s or 0.0) / self.steps


class Bench:
    """A model on a device, ready to be timed.

    `spare_bytes` is the memory that is free once the model stands. Any measurement may raise
    torch.OutOfMemoryError, MemoryError or RuntimeError; `release` then gives all but the model back.
    `capture` stands in for the capture of a CUDA graph where a GPU is only acted.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        sizes: Sizes,
        device: torch.device,
        meter: Meter,
        *,
        seed: int,
        spare_bytes: int,
        ceilings: Ceilings | None = None,
        capture: Capture | None = None,
    ) -> None:
        self._model = model
        self._sizes = sizes
        self._device = device
        self._meter = meter
        self._capture = capture
        self._prompt_models: dict[str, PreTrainedModel] = {}
        self._generator = torch.Generator().manual_seed(seed)
        limit_bytes = int(spare_bytes * CACHES_SHARE)
        self._caches: KeptByUse[DynamicCache] = KeptByUse(limit_bytes, cache_bytes)
        self._decoders: KeptByUse[Decoder] = KeptByUse(limit_bytes, lambda decoder: decoder.cache_bytes())
        self._ceilings = ceilings or Ceilings(
            device, model.dtype, spare_bytes=spare_bytes, synchronize=self._synchronize
        )
        self._run: dict[str, Callable[[Cell, int, bool], Measured]] = {
            "prefill": self._prefill,
            "decode": self._decode,
            "kv_cache": self._kv_cache,
            "ceilings": self._ceiling,
        }

    @torch.inference_mode()
    def measure(self, cell: Cell, steps: int, *, probe: bool = False) -> Measured:
        """One sample of `cell`, its window `steps` forward passes long (for ceilings: passes of the kernel).

        With `probe` the ceilings are probed right before and after a window of prefill or decode.
        """
        return self._run[cell.experiment](cell, steps, probe)

    @torch.inference_mode()
    def check_mode(self, mode: str, context_tokens: int) -> ModeCheck:
        """The logits of a faster mode against eager's, batch 1, same weights, cache, token and prompt.

        Raises modes.ModeUnavailable where the mode cannot run here.
        """
        cell = Cell("decode", 1, None, context_tokens, str(self._model.dtype).removeprefix("torch."), mode)
        cache = self._cache_filled_to(cell)
        token = self._random_tokens(1, 1)
        decoder, expected = self._decoder(cell, cache), modes.EagerDecoder(self._model, cache).logits(token)
        pairs = [(decoder.logits(token), expected) for _ in range(2)]  # the second after a rewinding
        if mode == modes.COMPILED:
            prompt = self._random_tokens(1, context_tokens)
            prefilled = [
                forward(model, prompt, DynamicCache(config=self._model.config))
                for model in (self._prompt_model(mode), self._model)
            ]
            pairs.append((prefilled[0], prefilled[1]))
        return modes.check(mode, context_tokens, pairs)

    def held_bytes(self) -> dict[str, int]:
        """Bytes that are held beside the model, by what for."""
        return {
            "caches": self._caches.held_bytes(),
            "decoders": self._decoders.held_bytes(),
            "ceilings": self._ceilings.held_bytes(),
        }

    def release(self) -> None:
        """Give caches, graphs and buffers back, after a cell that did not fit."""
        self._decoders.clear()
        self._caches.clear()
        self._ceilings.release()
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _prefill(self, cell: Cell, steps: int, probe: bool) -> Measured:
        model = self._prompt_model(cell.mode)
        prompts = [self._random_tokens(cell.batch, cell.length) for _ in range(steps)]
        cache = DynamicCache(config=self._model.config)

        def loop() -> None:
            nonlocal cache
            for prompt in prompts:
                cache = DynamicCache(config=self._model.config)
                forward(model, prompt, cache).argmax(dim=-1)  # ends with the first output token

        def after() -> tuple[int, int]:
            held = int(cache.get_seq_length())
            if held == cell.length:
                self._caches.offer((cell.batch, cell.length), cache)
            return held, cache_bytes(cache)

        return self._timed(cell, loop, after, steps, steps * cell.batch * cell.length, probe)

    def _decode(self, cell: Cell, steps: int, probe: bool) -> Measured:
        decoder = self._decoder(cell, self._cache_filled_to(cell))
        first = self._random_tokens(cell.batch, 1)

        def after() -> tuple[int, int]:
            held = decoder.held()
            if held != cell.length:  # the session refuses the sample; the next one gets fresh ones
                self._decoders.clear()
                self._caches.clear()
            return held, decoder.cache_bytes()

        return self._timed(cell, lambda: decoder.run(first, steps), after, steps, steps * cell.batch, probe)

    def _kv_cache(self, cell: Cell, _steps: int, _probe: bool) -> Measured:
        held = self._weighed(cell) if self._device.type == "cuda" else self._cache_filled_to(cell)
        return Measured(
            started_at=clock.utc_now(),
            steps=1,
            tokens=cell.batch * cell.length,
            duration_s=None,
            foreign_cpu_share=None,
            energy=Energy.refused("unavailable", "the size of a cache takes no energy to read"),
            kv_cache_bytes=cache_bytes(held),
            peak_bytes=self._peak_bytes(),
            tokens_held=int(held.get_seq_length()),
        )

    def _ceiling(self, cell: Cell, steps: int, _probe: bool) -> Measured:
        fastest = self._ceilings.fastest(cell.mode)

        def loop() -> None:
            for _ in range(steps):
                fastest.run()

        energy, window = self._window(loop)
        amount = steps * fastest.amount
        return Measured(
            started_at=window.started_at,
            steps=steps,
            tokens=0,
            duration_s=window.duration_s,
            foreign_cpu_share=window.foreign_cpu_share,
            energy=energy,
            kv_cache_bytes=None,
            peak_bytes=self._peak_bytes(),
            system_s=window.system_s,
            work_bytes=amount if cell.mode == "read" else None,
            work_flop=amount if cell.mode == "gemm" else None,
        )

    def _timed(
        self,
        cell: Cell,
        loop: Callable[[], object],
        after: Callable[[], tuple[int, int]],
        steps: int,
        tokens: int,
        probe: bool,
    ) -> Measured:
        """The window of `loop`; `after` tells what the cache held and weighed once it was over."""
        before = self._ceilings.probe() if probe else None
        energy, window = self._window(loop)
        rates = before.highest(self._ceilings.probe()) if before else None
        held, kv_cache_bytes = after()
        work = work_of(self._sizes, cell, steps, self._model.dtype.itemsize)
        return Measured(
            started_at=window.started_at,
            steps=steps,
            tokens=tokens,
            duration_s=window.duration_s,
            foreign_cpu_share=window.foreign_cpu_share,
            energy=energy,
            kv_cache_bytes=kv_cache_bytes,
            peak_bytes=self._peak_bytes(),
            system_s=window.system_s,
            tokens_held=held,
            work_bytes=work.bytes if work else None,
            work_flop=work.flop if work else None,
            ceiling_bytes_per_s=rates.bytes_per_s if rates else None,
            ceiling_flop_per_s=rates.flop_per_s if rates else None,
        )

    def _window(self, loop: Callable[[], object]) -> tuple[Energy, clock.Window]:
        self._meter.begin()
        with clock.window(self._synchronize) as window:
            loop()
        return self._meter.end(), window

    def _prompt_model(self, mode: str) -> PreTrainedModel:
        """What runs prompts in `mode`; made once."""
        if mode not in self._prompt_models:
            self._prompt_models[mode] = modes.open_prompt_model(mode, self._model)
        return self._prompt_models[mode]

    def _decoder(self, cell: Cell, cache: DynamicCache) -> Decoder:
        """The decoder of the cell's mode over `cache`: eager's works on it, the others on copies that are kept."""
        if cell.mode == modes.EAGER:
            return modes.EagerDecoder(self._model, cache)
        key = (cell.mode, cell.batch, cell.length)
        decoder = self._decoders.get(key)
        if decoder is None:
            decoder = modes.open_decoder(cell.mode, self._model, cache, capture=self._capture)
            self._decoders.offer(key, decoder)
        return decoder

    def _cache_filled_to(self, cell: Cell) -> DynamicCache:
        """A cache that holds `cell.length` real keys and values a sequence: those of a random prompt."""
        key = (cell.batch, cell.length)
        cache = self._caches.get(key)
        if cache is None:
            cache = fill_alike(self._model, self._random_tokens(1, cell.length), cell.batch)
            self._caches.offer(key, cache)
        return cache

    def _weighed(self, cell: Cell) -> DynamicCache:
        """A fresh cache, its tensors' sizes checked against the bytes that the allocator gave for it."""
        tokens = self._random_tokens(1, cell.length)
        before = self._allocated_bytes()
        cache = fill_alike(self._model, tokens, cell.batch)
        grown, counted = self._allocated_bytes() - before, cache_bytes(cache)
        if abs(grown - counted) > 0.01 * counted + ALLOCATOR_SLACK_BYTES:
            raise RuntimeError(
                f"{cell.label()}: the cache's tensors have {counted:,} bytes, the allocator gave {grown:,} for them"
            )
        return cache

    def _random_tokens(self, batch: int, length: int) -> torch.Tensor:
        """(B, T) token ids; never the same prompt twice in a process, so that no cached prefix can serve one."""
        ids = torch.randint(0, self._sizes.vocab_rows, (batch, length), generator=self._generator)
        return ids.to(self._device)

    def _synchronize(self) -> None:
        """Wait until all work given to the device is done; calls on a CPU return when they are done."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def _allocated_bytes(self) -> int:
        return torch.cuda.memory_allocated(self._device)

    def _peak_bytes(self) -> int:
        if self._device.type == "cuda":
            return torch.cuda.max_memory_allocated(self._device)
        unit = 1 if sys.platform == "darwin" else 1024  # macOS reports bytes, Linux kibibytes
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
