"""What this machine can do at most: sustained read bandwidth and rate of matrix products. Knows nothing of models.

A ceiling is the best that several plain kernels of torch do with buffers too large for any cache. It is used twice:
as cells of their own, and as a short probe right before and after a timed window, because the bandwidth of a shared
machine moves within minutes. Everything that a window reads is read by kernels that could be as fast as these.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from measure import onednn

READ_BYTES = {"cpu": 2**29, "cuda": 2**32}
"""Bytes that one reading pass covers: sixteen times the last-level cache of a large server's core complex, 32 MiB, and
eighty times the 50 MB of an H100's or H200's."""

SPARE_SHARE = 0.125
"""No more than this share of the memory that is free goes into the buffer that is read."""

PRODUCTS = {"cpu": ((1024, 1024, 1024), (768, 2048, 2048)), "cuda": ((8192, 8192, 8192), (4096, 8192, 8192))}
"""(m, k, n) of the products. The longest takes about 35 ms on two cores, and under 2 ms on an H200."""

PASSES = {"cpu": 1, "cuda": 3}
"""Passes of each kernel in a probe, timed together: on a GPU the launch and the waiting would show in a single one."""

PROBE_S = 0.15
"""A probe begins no further kernel after this time, so that it stays short on a slow machine, too."""

_BLOCK = 2**20
"""Elements of random values that a buffer repeats."""


@dataclass(frozen=True)
class Rates:
    """What a probe saw: bytes read a second, and floating-point operations a second (a multiply-add is two)."""

    bytes_per_s: float
    flop_per_s: float

    def highest(self, other: Rates) -> Rates:
        """The higher of each."""
        return Rates(
            max(self.bytes_per_s, other.bytes_per_s),
            max(self.flop_per_s, other.flop_per_s),
        )


@dataclass(frozen=True)
class Pass:
    """One pass of a kernel and the work that it does, in bytes or in floating-point operations."""

    name: str
    run: Callable[[], object]
    amount: int


class Ceilings:
    """Reads and multiplies as fast as this device can.

    The buffers are made at the first use: on a CPU half a GiB, on a GPU 4 GiB and the products' matrices.
    Raises torch.OutOfMemoryError or RuntimeError when they do not fit.
    """

    def __init__(
        self,
        device: torch.device,
        dtype: torch.dtype,
        *,
        spare_bytes: int,
        synchronize: Callable[[], None],
        read_bytes: int | None = None,
        products: tuple[tuple[int, int, int], ...] | None = None,
    ) -> None:
        kind = "cuda" if device.type == "cuda" else "cpu"
        self._device = device
        self._dtype = dtype
        self._synchronize = synchronize
        self._read_bytes = min(read_bytes or READ_BYTES[kind], int(spare_bytes * SPARE_SHARE))
        self._shapes = products or PRODUCTS[kind]
        self._passes = PASSES[kind]
        self._kernels: dict[str, list[Pass]] | None = None
        self._buffers: list[torch.Tensor] = []

    def probe(self) -> Rates:
        """Both rates as they are now; at most about 0.15 s on a CPU, a few ms on a GPU."""
        kernels = self._ready()
        began = time.perf_counter()
        best = dict.fromkeys(kernels, 0.0)
        for mode, passes in kernels.items():
            for each in passes:
                if best[mode] and time.perf_counter() - began > PROBE_S:
                    break
                best[mode] = max(best[mode], self._rate(each))
        return Rates(best["read"], best["gemm"])

    def fastest(self, mode: str) -> Pass:
        """The pass of `mode`, read or gemm, that has the highest rate now."""
        return max(self._ready()[mode], key=self._rate)

    def held_bytes(self) -> int:
        """Bytes of the buffers."""
        return sum(t.numel() * t.element_size() for t in self._buffers)

    def release(self) -> None:
        """Give the buffers back."""
        self._kernels = None
        self._buffers.clear()

    def _rate(self, each: Pass) -> float:
        self._synchronize()
        begin = time.perf_counter()
        for _ in range(self._passes):
            each.run()
        self._synchronize()
        return self._passes * each.amount / (time.perf_counter() - begin)

    def _ready(self) -> dict[str, list[Pass]]:
        if self._kernels is None:
            self._kernels = {"read": self._reads(), "gemm": self._products()}
            for passes in self._kernels.values():
                for each in passes:
                    self._rate(each)  # the first run of a kernel sets up threads, code and workspace
        return self._kernels

    def _reads(self) -> list[Pass]:
        """Reductions of one large buffer: on several machines a different one was the fastest.

        Each thread reads one contiguous part: two, four, eight and sixteen streams a thread, in C with and without
        prefetching, read no more here than one did.
        """
        elements = max(self._read_bytes // self._element_bytes() // _BLOCK, 1) * _BLOCK
        flat = self._random(elements)
        rows = flat.view(-1, 4096)
        amount = elements * self._element_bytes()
        passes = [
            Pass("largest value", flat.amax, amount),
            Pass("sum", flat.sum, amount),
            Pass("sums of rows", lambda: rows.sum(dim=1), amount),
        ]
        if self._element_bytes() < 4:  # two elements as one, since kernels differ in how much a load takes
            wide = flat.view(torch.float32)
            passes += [Pass("largest pair", wide.amax, amount), Pass("sum of pairs", wide.sum, amount)]
        return passes

    def _products(self) -> list[Pass]:
        passes = []
        for m, k, n in self._shapes:
            left, right = self._random(m * k).view(m, k), self._random(k * n).view(k, n)
            out = torch.empty(m, n, dtype=self._dtype, device=self._device)

            def product(
                left: torch.Tensor = left, right: torch.Tensor = right, out: torch.Tensor = out
            ) -> None:
                torch.mm(left, right, out=out)

            passes.append(Pass(f"{m} x {k} x {n}", product, 2 * m * k * n))
            if onednn.unavailable(self._dtype, self._device) is None:
                laid_out = onednn.packed(right.t().contiguous(), m)
                other = functools.partial(onednn.linear, left, laid_out, None)
                passes.append(Pass(f"{m} x {k} x {n} through oneDNN", other, 2 * m * k * n))
        return passes

    def _random(self, elements: int) -> torch.Tensor:
        """Values of a realistic spread, never zeros: a multiplier that sees zeros draws less power."""
        block = torch.empty(min(elements, _BLOCK), dtype=self._dtype, device=self._device).normal_()
        repeats = -(-elements // block.numel())
        buffer = block.repeat(repeats)[:elements]
        self._buffers.append(buffer)
        return buffer

    def _element_bytes(self) -> int:
        return torch.empty((), dtype=self._dtype).element_size()
