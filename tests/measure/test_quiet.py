"""That a run says plainly whether its machine was quiet."""

from __future__ import annotations

from typing import Any

from measure.quiet import quiet_words


def sample(share: float | None = 0.01, bandwidth: float | None = None, **changes: Any) -> dict[str, Any]:
    made = {"warm_up": False, "refusal": None, "foreign_cpu_share": share, "ceiling_bytes_per_s": bandwidth}
    return {**made, **changes}


CONTAMINATED = {"kind": "contaminated", "reason": "others had 40%"}


def test_a_quiet_machine() -> None:
    assert quiet_words([sample(0.01), sample(0.02), sample(0.03)]) == [
        "the machine was quiet: others had 2.0% of the CPU in the median window, at most 3.0%"
    ]


def test_disturbed_samples_are_counted() -> None:
    (said,) = quiet_words([sample(), sample(), sample(0.4, refusal=CONTAMINATED)])
    assert said.startswith("the machine was not quiet (contaminated): 1 of 3 samples were disturbed")
    assert "at most 40.0%" in said


def test_disturbed_warm_ups_say_nothing() -> None:
    (said,) = quiet_words([sample(), sample(0.4, refusal=CONTAMINATED, warm_up=True)])
    assert said.startswith("the machine was quiet")


def test_a_bandwidth_that_moves_is_told() -> None:
    moving = [sample(bandwidth=34e9 if i % 3 else 58e9) for i in range(30)]
    (said,) = quiet_words(moving)
    assert "not quiet (contaminated): its read bandwidth went between 34 and 58 GB/s" in said


def test_a_bandwidth_that_stands_is_not() -> None:
    standing = [sample(bandwidth=34e9 * (1 + 0.01 * (i % 3))) for i in range(30)]
    one_lapse = [*standing, sample(bandwidth=10e9)]
    for samples in (standing, one_lapse):
        (said,) = quiet_words(samples)
        assert said.startswith("the machine was quiet")


def test_nothing_is_said_where_nothing_was_seen() -> None:
    assert quiet_words([sample(None)]) == []
