"""Which interval for the ratio of two runs holds the true ratio as often as it says? `python -m tests.bench.intervals`.

Draws pairs of made-up runs whose true ratio is known, and prints the share of intervals that hold it, and how wide
they are beside the first, for four ways to make one from process medians on the log scale:

    both     the smallest that holds the next two, what measure/ratio.py does
    median   the ratio of medians with the standard error of a median
    mean     the ratio of geometric means, Welch's interval
    boot     percentiles of a bootstrap of the processes, with the ratio of medians

The true ratio is that of the medians of what the processes are drawn from, which is what pages state. Measures no
time; what it prints is the same each time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from measure.ratio import LEVEL, MEDIAN_ERROR

TRIALS = 20_000
BOOT_TRIALS, BOOT_DRAWS = 1_000, 400
SIZES = ((3, 3), (5, 5), (10, 10), (3, 10), (5, 3))
SECOND_SPREADS = (1.0, 3.0)

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def slow_now_and_then(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Processes that mostly agree, and one in seven that is slow; the median is close to that of the others."""
    return 0.5 * rng.standard_normal(shape) + np.where(rng.random(shape) < 1 / 7, 4.0, 0.0)


SHAPES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy tails (t, 3 degrees)": lambda rng, shape: rng.standard_t(3, shape),
    "skewed (exponential)": lambda rng, shape: rng.exponential(1.0, shape),
    "one in seven slow": slow_now_and_then,
    "two moods, half and half": lambda rng, shape: (
        np.where(rng.random(shape) < 0.5, -1.0, 1.0) + 0.2 * rng.standard_normal(shape)
    ),
}


def half_widths(first: Array, second: Array, *, medians: bool) -> Array:
    """Half the width of each interval of the difference of logs; rows are comparisons."""
    n, m = first.shape[1], second.shape[1]
    factors = (MEDIAN_ERROR[n] ** 2, MEDIAN_ERROR[m] ** 2) if medians else (1.0, 1.0)
    a = first.var(axis=1, ddof=1) / n * factors[0]
    b = second.var(axis=1, ddof=1) / m * factors[1]
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1))
    quantile: Array = stdtrit(freedom, (1 + LEVEL) / 2)
    return quantile * np.sqrt(a + b)


def boot(rng: np.random.Generator, first: Array, second: Array, true: float) -> tuple[float, float]:
    """(share that holds the true difference, mean width) of bootstrap intervals over the first rows."""
    held, widths = 0, []
    tails = [50 * (1 - LEVEL), 50 * (1 + LEVEL)]
    for one, other in zip(first[:BOOT_TRIALS], second[:BOOT_TRIALS], strict=True):
        drawn = [np.median(rng.choice(logs, (BOOT_DRAWS, len(logs))), axis=1) for logs in (one, other)]
        low, high = np.percentile(drawn[1] - drawn[0], tails)
        held += low <= true <= high
        widths.append(high - low)
    return held / BOOT_TRIALS, float(np.mean(widths))


def main() -> None:
    """Print the table."""
    heads = "".join(f"{head:>14}" for head in ("median", "mean", "boot"))
    print(f"{'spread of processes':<27} {'n':>2} {'m':>2} {'u/s':>4} {'both':>7}{heads}")
    for name, draw in SHAPES.items():
        for n, m in SIZES:
            for spread in SECOND_SPREADS:
                rng = np.random.default_rng(20)
                centre = float(np.median(draw(rng, (1_000_000,))))
                first, second = draw(rng, (TRIALS, n)), spread * draw(rng, (TRIALS, m))
                true = (spread - 1) * centre
                of_medians = np.median(second, axis=1) - np.median(first, axis=1)
                of_means = second.mean(axis=1) - first.mean(axis=1)
                wide, narrow = (half_widths(first, second, medians=flag) for flag in (True, False))
                low = np.minimum(of_medians - wide, of_means - narrow)
                high = np.maximum(of_medians + wide, of_means + narrow)
                width = float(np.mean(high - low))
                columns = [
                    (float(np.mean(np.abs(of_medians - true) <= wide)), float(np.mean(2 * wide))),
                    (float(np.mean(np.abs(of_means - true) <= narrow)), float(np.mean(2 * narrow))),
                    boot(rng, first, second, true),
                ]
                told = "".join(f"{held:>7.3f} ({own / width:.2f})" for held, own in columns)
                held = float(np.mean((low <= true) & (true <= high)))
                print(f"{name:<27} {n:>2} {m:>2} {spread:>4.0f} {held:>7.3f}{told}")


if __name__ == "__main__":
    main()
