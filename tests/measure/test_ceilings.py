"""Ceilings: what a pass reads and multiplies, that the best of several counts, and that a probe is short."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from measure import ceilings
from measure.ceilings import Ceilings, Pass, Rates

CPU = torch.device("cpu")


def make(**options: Any) -> Ceilings:
    options = {"read_bytes": 2**24, "products": ((64, 128, 256),), "spare_bytes": 10**9, **options}
    return Ceilings(CPU, options.pop("dtype", torch.float32), synchronize=lambda: None, **options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_pass_reads_the_whole_buffer_and_multiplies_the_stated_sizes(dtype: torch.dtype) -> None:
    kernels = make(dtype=dtype)._ready()
    assert {each.amount for each in kernels["read"]} == {2**24}
    ways = 2 if dtype == torch.float32 else 1  # through oneDNN, too
    assert [each.amount for each in kernels["gemm"]] == ways * [2 * 64 * 128 * 256]
    for each in kernels["read"]:
        each.run()


def test_both_ways_to_multiply_give_the_same_product() -> None:
    plain, other = make()._ready()["gemm"]
    out = other.run()
    assert isinstance(out, torch.Tensor) and out.shape == (64, 256)
    out_of_plain = plain.run.__defaults__[2]  # type: ignore[attr-defined]
    torch.testing.assert_close(out, out_of_plain, rtol=1e-4, atol=1e-3)


def test_reading_kernels_read_every_element() -> None:
    """A changed element anywhere changes what a kernel gives, so that none can skip a part."""
    reading = make()
    buffers: list[torch.Tensor] = []
    plain = reading._random
    reading._random = lambda elements: buffers.append(plain(elements)) or buffers[-1]  # type: ignore[method-assign,func-returns-value]
    passes = reading._reads()
    (flat,) = buffers
    for each in passes:
        for at in (0, flat.numel() // 2, flat.numel() - 1):
            before = torch.as_tensor(each.run()).clone()
            old, flat[at] = flat[at].clone(), 1e6
            assert not torch.equal(torch.as_tensor(each.run()), before), each.name
            flat[at] = old


def test_values_are_spread_and_never_zero() -> None:
    values = make()._random(3_000_000)
    assert values.numel() == 3_000_000
    assert 0.9 < values.std() < 1.1
    assert (values == 0).sum() < 10


def test_the_fastest_pass_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {"slow": 1.0, "fast": 3.0, "middle": 2.0}
    passes = [Pass(name, lambda: None, 1) for name in rates]
    probed = make()
    monkeypatch.setattr(probed, "_reads", lambda: passes)
    monkeypatch.setattr(probed, "_products", lambda: passes[:1])
    monkeypatch.setattr(probed, "_rate", lambda each: rates[each.name])
    assert probed.probe() == Rates(3.0, 1.0)
    assert probed.fastest("read").name == "fast"


def test_rates_are_work_over_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(ceilings.time, "perf_counter", lambda: now[0])

    def run() -> None:
        now[0] += 0.5

    assert make()._rate(Pass("played", run, 100)) == pytest.approx(200)


def test_a_slow_machine_is_probed_no_longer_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a played machine where each pass takes 0.1 s, one pass of each kind is run and not every one."""
    now = [0.0]
    ran: list[str] = []
    monkeypatch.setattr(ceilings.time, "perf_counter", lambda: now[0])

    def played(name: str) -> Pass:
        def run() -> None:
            now[0] += 0.1
            ran.append(name)

        return Pass(name, run, 1)

    probed = make()
    monkeypatch.setattr(probed, "_reads", lambda: [played(f"read {i}") for i in range(3)])
    monkeypatch.setattr(probed, "_products", lambda: [played(f"product {i}") for i in range(2)])
    probed._ready()
    ran.clear()
    probed.probe()
    assert ran == ["read 0", "read 1", "product 0"]


def test_the_buffer_keeps_to_the_memory_that_is_free() -> None:
    small = make(read_bytes=2**30, spare_bytes=2**27)
    assert {each.amount for each in small._ready()["read"]} == {2**24}


def test_the_higher_of_two_probes() -> None:
    assert Rates(1.0, 5.0).highest(Rates(2.0, 3.0)) == Rates(2.0, 5.0)
