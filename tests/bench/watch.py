"""What does it cost a measured loop that a thread watches the card beside it?

The loop is of the most sensitive kind: Python without pause, as eager decode is when it launches small kernels. The
thread is the meter's own, over the fake NVML driver in real time. The fake's calls take no time; a real driver's take
more, but outside of Python's interpreter, so that the loop goes on meanwhile. Each block times the loop four times, the
middle two or the outer two beside the watch, so that a drift of the machine falls out. Printed are the median ratio
over the blocks with its standard error, and the share of a core that the watch itself used: where the ratio is lost in
the machine's own noise, the share still says what is to be paid on a core that the loop cannot spare.

    python -m tests.bench.watch
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from measure.nvml_driver import Card
from measure.nvml_watch import Watch
from measure.ticks import WallClock
from tests.fake_nvml import fake_driver as fake

BLOCKS = 80
LOOP_S = 0.25


def loop(rounds: int) -> float:
    """Seconds that so many rounds take."""
    began_s = time.perf_counter()
    total = 0
    for i in range(rounds):
        total += len(str(i))
    return time.perf_counter() - began_s


def watched(card: Card, rounds: int, shares: list[float]) -> float:
    """The same beside a watch; its share of a core goes to `shares`."""
    watch = Watch(card, WallClock(), others=lambda: card.processes() and None)
    others_s = time.process_time() - time.thread_time()
    try:
        seconds = loop(rounds)
        shares.append((time.process_time() - time.thread_time() - others_s) / seconds)
        return seconds
    finally:
        watch.stop()
        assert watch.failure is None and watch.samples, watch.failure


def block(card: Card, rounds: int, shares: list[float], *, outer: bool) -> float:
    """Time beside the watch by time without it."""
    seconds = {True: 0.0, False: 0.0}
    for beside in (outer, not outer, not outer, outer):
        seconds[beside] += watched(card, rounds, shares) if beside else loop(rounds)
    return seconds[True] / seconds[False]


def main() -> None:
    """Print the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        driver = fake.FakeDriver(fake.build(Path(folder)))
        driver.configure(virtual=0, speed=1)
        with fake.installed(driver):
            card = Card(fake.UUID)
            rounds = round(1e6 * LOOP_S / loop(1_000_000))
            shares: list[float] = []
            ratios = [block(card, rounds, shares, outer=bool(i % 2)) for i in range(BLOCKS)]
            card.close()
    low, _, high = statistics.quantiles(ratios, n=4)
    error = 1.25 * (high - low) / 1.35 / BLOCKS**0.5  # of a median, by the middle half's width
    print(f"watched / unwatched, {BLOCKS} blocks: {statistics.median(ratios):.4f} ± {error:.4f}")
    print(f"the watch used {statistics.fmean(shares):.2%} of a core")


if __name__ == "__main__":
    main()
