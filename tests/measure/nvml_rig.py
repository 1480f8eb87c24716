"""A meter on the fake card, and windows on it whose true energy is known."""

from __future__ import annotations

from typing import Any

from measure import nvml
from measure.meter import Energy, Meter
from tests.fake_nvml import fake_driver as fake

OWN_BYTES = 3_000_000_000
"""As fake_nvml.c's own_bytes."""
WAVEFORMS: dict[str, dict[str, float]] = {
    "constant": {"waveform": 0, "high_watts": 350},
    "steps": {"waveform": 1, "low_watts": 150, "high_watts": 600, "period_s": 0.7},
    "ramp": {"waveform": 2, "low_watts": 150, "high_watts": 600, "period_s": 0.9},
    "spikes": {"waveform": 3, "low_watts": 300, "high_watts": 900, "period_s": 0.137, "duty": 0.02},
    "load": {"waveform": 4, "low_watts": 90, "high_watts": 500},
}
TICKS_S = (0.02, 0.05, 0.1)


class Rig:
    """A meter on the fake card; with `lag=True` it learns the counter's lag first, from a load of the fake card."""

    def __init__(
        self, driver: fake.FakeDriver, *, uuid: str = fake.UUID, lag: bool = False, **settings: float
    ) -> None:
        driver.configure(virtual=1, **settings)
        self.driver = driver
        self.clock = fake.VirtualClock(driver)
        self.meter: Meter = nvml.open_gpu(
            uuid, own_bytes=lambda: OWN_BYTES, clock=self.clock, load=self.load if lag else None
        )

    def load(self, seconds: float) -> None:
        """Keep the card busy (waveform 4)."""
        self.driver.load(True)
        self.clock.sleep(seconds)
        self.driver.load(False)

    def window(self, seconds: float = 5.0, halfway: dict[str, float] | None = None) -> tuple[Energy, float]:
        """(what the meter says, the true joules) of a window; `halfway` are settings changed in its middle."""
        self.meter.begin()
        begun_s = self.driver.now()
        self.driver.load(True)
        self.clock.sleep(seconds / 2)
        for key, value in (halfway or {}).items():
            self.driver.set(key, value)
        self.clock.sleep(seconds / 2)
        closed_s = self.driver.now()
        self.driver.load(False)
        return self.meter.end(), self.driver.joules(begun_s, closed_s)

    def refusal(self, **window: Any) -> tuple[str, str]:
        """(kind, reason) of a window that must be refused."""
        energy, _ = self.window(**window)
        assert energy.joules is None and energy.error_joules is None and energy.budget is None
        assert energy.refusal is not None
        return energy.refusal["kind"], energy.refusal["reason"]

    def assert_measures(self) -> Energy:
        """A window now gives an energy within its error."""
        energy, true_joules = self.window()
        assert energy.joules is not None, energy.refusal
        assert energy.error_joules is not None
        assert abs(energy.joules - true_joules) <= energy.error_joules
        return energy
