"""Whose joules are nearer to the truth, this project's meter's or ZeusMonitor's, on the same card in the same run?

Both read the fake NVML driver through pynvml. Windows are put to one and to the other in turn, in virtual time, at
random phases of the counter, with the waveforms of the meter's tests. Printed are the median and the largest error of
each, as a share of the true energy, the ratio of the medians, how often the error that this meter stated held, and how
many windows it refused as too short for the counter. Zeus states no error and refuses nothing.

Needs gcc, and Zeus, which is no dependency of the project. In an environment of its own:

    pip install zeus==0.16.0 nvidia-ml-py==13.615.71 && python -m tests.bench.zeus
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import nvml
from tests.fake_nvml import fake_driver as fake
from tests.measure.nvml_rig import OWN_BYTES, TICKS_S, WAVEFORMS

WINDOWS = 100
WINDOWS_S = (1.0, 5.0)


def main() -> None:
    """Print the table; exit 1 where Zeus was nearer in the median, or a stated error did not hold."""
    from zeus.monitor import ZeusMonitor

    worse = 0
    with tempfile.TemporaryDirectory() as folder:
        driver = fake.FakeDriver(fake.build(Path(folder)))
        with fake.installed(driver):
            print(f"{'':24}{'this meter':>22}{'Zeus':>22}")
            heads = f"{'median':>11}{'largest':>11}"
            print(f"{'power     tick  window':24}{heads}{heads}   ratio  held  refused")
            for name, waveform in WAVEFORMS.items():
                for tick_s in TICKS_S:
                    driver.configure(virtual=1, tick_s=tick_s, **waveform)
                    clock = fake.VirtualClock(driver)
                    ours = nvml.open_gpu(fake.UUID, own_bytes=lambda: OWN_BYTES, clock=clock)
                    zeus = ZeusMonitor(gpu_indices=[0], cpu_indices=[])
                    for seconds in WINDOWS_S:
                        worse += compare(name, tick_s, seconds, driver, clock, ours, zeus)
    raise SystemExit(1 if worse else 0)


def compare(
    name: str,
    tick_s: float,
    seconds: float,
    driver: fake.FakeDriver,
    clock: fake.VirtualClock,
    ours: Any,
    zeus: Any,
) -> bool:
    """One line of the table; whether it is one to be sorry for."""
    chance = random.Random(f"{name} {tick_s} {seconds}")
    errors: dict[str, list[float]] = {"ours": [], "zeus": []}
    held = refused = 0

    def window(begin: Callable[[], object], end: Callable[[], Any]) -> tuple[Any, float]:
        clock.sleep(chance.random())
        begin()
        begun_s = driver.now()
        driver.load(True)
        clock.sleep(seconds + chance.random() * tick_s)
        closed_s = driver.now()
        driver.load(False)
        return end(), driver.joules(begun_s, closed_s)

    for _ in range(WINDOWS):
        energy, true_joules = window(ours.begin, ours.end)
        if energy.joules is None:
            refused += 1
        else:
            errors["ours"].append(abs(energy.joules / true_joules - 1))
            held += abs(energy.joules - true_joules) <= energy.error_joules
        measured, true_joules = window(
            lambda: zeus.begin_window("window", sync_execution=False),
            lambda: zeus.end_window("window", sync_execution=False),
        )
        errors["zeus"].append(abs(measured.gpu_energy[0] / true_joules - 1))
    medians = {who: statistics.median(found) for who, found in errors.items()}
    cells = "".join(f"{medians[who]:>11.3%}{max(errors[who]):>11.3%}" for who in errors)
    ratio = medians["ours"] / medians["zeus"]
    print(f"{name:9}{tick_s * 1000:4.0f} ms{seconds:6.0f} s {cells}{ratio:8.2f}{held:6}{refused:9}")
    return medians["ours"] >= medians["zeus"] or held < 0.99 * (WINDOWS - refused)


if __name__ == "__main__":
    main()
