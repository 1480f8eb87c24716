"""What does it cost a measured loop that a thread watches the card beside it?

The loop is of the most sensitive kind: Python without pause, as eager decode is when it launches small kernels. The
thread is the meter's own, over the fake NVML driver in real time. The fake's calls take no time; a real driver's take
more, but outside of Python's interpreter, so that the loop goes on meanwhile. Each pair times the same loop without and
with the watch, in an order that alternates; printed are the median ratio and the middle half of the pairs.

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

PAIRS = 21
LOOP_S = 1.0


def loop(rounds: int) -> float:
    """Seconds that so many rounds take."""
    began_s = time.perf_counter()
    total = 0
    for i in range(rounds):
        total += len(str(i))
    return time.perf_counter() - began_s


def watched(card: Card, rounds: int) -> float:
    """The same beside a watch."""
    watch = Watch(card, WallClock(), others=lambda: card.processes() and None)
    try:
        return loop(rounds)
    finally:
        watch.stop()
        assert watch.failure is None and watch.samples, watch.failure


def main() -> None:
    """Print the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        driver = fake.FakeDriver(fake.build(Path(folder)))
        driver.configure(virtual=0, speed=1)
        with fake.installed(driver):
            card = Card(fake.UUID)
            rounds = round(1e6 * LOOP_S / loop(1_000_000))
            ratios = []
            for pair in range(PAIRS):
                if pair % 2:
                    with_s, without_s = watched(card, rounds), loop(rounds)
                else:
                    without_s, with_s = loop(rounds), watched(card, rounds)
                ratios.append(with_s / without_s)
            card.close()
    low, _, high = statistics.quantiles(ratios, n=4)
    print(
        f"watched / unwatched, {PAIRS} pairs of {LOOP_S:g} s: {statistics.median(ratios):.4f} ({low:.4f} to {high:.4f})"
    )


if __name__ == "__main__":
    main()
