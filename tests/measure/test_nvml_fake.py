"""The fake driver itself: its energy is the integral of its power, and it knows its settings."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.measure.nvml_rig import WAVEFORMS


@pytest.mark.parametrize("waveform", WAVEFORMS)
def test_the_fake_drivers_energy_is_the_integral_of_its_power(driver: Any, waveform: str) -> None:
    driver.configure(virtual=1, **WAVEFORMS[waveform])
    for on in (True, False, True):
        driver.advance(0.31)
        driver.load(on)
    step_s = 1e-4
    sums = math.fsum(driver.watts(0.2 + (i + 0.5) * step_s) * step_s for i in range(20_000))
    assert driver.joules(0.2, 2.2) == pytest.approx(sums, rel=1e-3)


def test_the_fake_driver_knows_its_settings(driver: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError, match="tick_ms"):
        driver.configure(tick_ms=20)
    assert "no setting 'tick_ms'" in capfd.readouterr().err
