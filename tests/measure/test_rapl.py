"""The CPU's meter against a fake powercap tree whose true energy is known: errors, wrap-around, why there is none."""

from __future__ import annotations

import math
import os
import platform
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from measure import meter, rapl
from measure.meter import Energy, NoMeter
from tests.measure.powercap import SERVER, FakePowercap, RealTime, ScaledClock

PACKAGES = len(SERVER)


def steady(watts: float) -> Callable[[float], float]:
    return lambda at_s: watts * at_s


def swinging(low_watts: float, high_watts: float, period_s: float) -> Callable[[float], float]:
    """Joules up to a time of power that jumps between two levels."""

    def joules(at_s: float) -> float:
        periods, phase_s = divmod(at_s, period_s)
        high_s = periods * period_s / 2 + min(phase_s, period_s / 2)
        return low_watts * at_s + (high_watts - low_watts) * high_s

    return joules


POWERS = {
    "steady": steady(120),
    "swinging": swinging(60, 240, 0.13),
    "slow": swinging(60, 240, 13),
}


class Rig:
    """A meter on a fake tree, on a scaled clock."""

    def __init__(
        self, folder: Path, joules: Callable[[float], float] = POWERS["steady"], **tree: Any
    ) -> None:
        self.clock = ScaledClock()
        self.tree = FakePowercap(folder / "powercap", joules, **tree)
        self.clock.tree = self.tree
        self.meter = rapl.open_rapl(self.tree.root, self.clock)

    def window(
        self, seconds: float = 5.0, halfway: Callable[[], None] = lambda: None
    ) -> tuple[Energy, float]:
        """(what the meter says, the true joules) of a window."""
        self.meter.begin()
        begun_s = self.clock.now()
        self.clock.sleep(seconds / 2)
        halfway()
        self.clock.sleep(seconds / 2)
        closed_s = self.clock.now()
        energy = self.meter.end()
        return energy, len(self.tree.zones) * (self.tree.joules(closed_s) - self.tree.joules(begun_s))

    def refusal(self, **window: Any) -> tuple[str, str]:
        energy, _ = self.window(**window)
        assert energy.joules is None and energy.error_joules is None and energy.budget is None
        assert energy.refusal is not None
        return energy.refusal["kind"], energy.refusal["reason"]


@pytest.mark.parametrize("tick_s", [0.001, 0.01])
@pytest.mark.parametrize("power", POWERS)
def test_joules_lie_within_the_stated_error(tmp_path: Path, power: str, tick_s: float) -> None:
    rig = Rig(tmp_path, POWERS[power], tick_s=tick_s)
    chance = random.Random(f"{power} {tick_s}")
    within, biases = 0, []
    for _ in range(100):
        rig.clock.sleep(chance.random())
        energy, true_joules = rig.window(5 + chance.random() * tick_s)
        assert energy.joules is not None and energy.error_joules is not None, energy.refusal
        within += abs(energy.joules - true_joules) <= energy.error_joules
        biases.append((energy.joules - true_joules) / true_joules)
        assert energy.error_joules <= (0.001 if tick_s < 0.01 else 0.02) * energy.joules
        assert energy.budget is not None and set(energy.budget) == {
            "opening_edge",
            "closing_edge",
            "counter_step",
        }
        assert sum(energy.budget.values()) == pytest.approx(energy.error_joules)
    assert within >= 99
    assert abs(sum(biases) / len(biases)) < 0.0005 * (1 if tick_s < 0.01 else 10)


def test_the_packages_are_summed_and_named(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    energy, true_joules = rig.window()
    assert energy.joules == pytest.approx(true_joules, rel=0.001)
    assert true_joules == pytest.approx(PACKAGES * 120 * 5, rel=0.001)
    told = rig.meter.describe()
    assert told["kind"] == "rapl" and told["domains"] == ["package-0", "package-1"]
    assert told["tick_s"] == pytest.approx(0.001, rel=0.05)
    assert told["idle_watts_after_context"] == pytest.approx(PACKAGES * 120, rel=0.005)
    assert told["gain_error_share"] is None and told["second_reading"] is None


def test_only_packages_are_counted(tmp_path: Path) -> None:
    """The whole machine (psys), parts of a package, and the same package through another door are left out."""
    zones = {
        "intel-rapl:0": "package-0",
        "intel-rapl:0:0": "core",
        "intel-rapl:0:1": "dram",
        "intel-rapl:1": "psys",
        "intel-rapl-mmio:0": "package-0",
    }
    rig = Rig(tmp_path, zones=zones)
    assert rig.meter.describe()["domains"] == ["package-0"]
    energy, _ = rig.window()
    assert energy.joules == pytest.approx(600, rel=0.001)


def test_dies_are_packages_told_in_their_order(tmp_path: Path) -> None:
    zones = {"intel-rapl:10": "package-1-die-1", "intel-rapl:2": "package-0-die-0"}
    assert Rig(tmp_path, zones=zones).meter.describe()["domains"] == ["package-0-die-0", "package-1-die-1"]


def test_the_counter_wraps_around(tmp_path: Path) -> None:
    rig = Rig(tmp_path, start_joules=262_143 - 500)
    for _ in range(3):  # the first or second window holds the wrap-around
        energy, true_joules = rig.window()
        assert energy.joules == pytest.approx(true_joules, rel=0.001), energy.refusal


def test_a_counter_that_wraps_around_often_is_read_often(tmp_path: Path) -> None:
    """A window in which the counter goes around nine times, as a very long one would on a real machine."""
    rig = Rig(tmp_path, range_joules=65.5, start_joules=0)
    energy, true_joules = rig.window()
    assert energy.joules == pytest.approx(true_joules, rel=0.001), energy.refusal


def test_a_counter_that_goes_backwards(tmp_path: Path) -> None:
    rig = Rig(tmp_path)

    def fall() -> None:
        rig.tree.fallen_joules = 900.0

    kind, reason = rig.refusal(halfway=fall)
    assert kind == "unavailable" and "package-0 went backwards" in reason
    energy, true_joules = rig.window()  # it counts on from where it is
    assert energy.joules == pytest.approx(true_joules, rel=0.001)


def test_a_counter_that_leaps(tmp_path: Path) -> None:
    rig = Rig(tmp_path)

    def leap() -> None:
        rig.tree.fallen_joules = -30_000

    kind, reason = rig.refusal(halfway=leap)
    assert kind == "unavailable" and "package-0 leapt by 3.06e+04 J" in reason
    assert rig.window()[0].joules is not None


def test_a_fall_that_was_met_in_the_middle_of_a_window(tmp_path: Path) -> None:
    """A long window looks at the counters on its way, and does not forget what it met there."""
    rig = Rig(tmp_path, start_joules=50_000)

    def fall() -> None:
        rig.tree.fallen_joules = 40_000

    kind, reason = rig.refusal(seconds=60, halfway=fall)
    assert kind == "unavailable" and "went backwards" in reason
    assert rig.window()[0].joules is not None


def test_a_counter_that_sticks(tmp_path: Path) -> None:
    rig = Rig(tmp_path)

    def stick() -> None:
        rig.tree.stuck = True

    kind, reason = rig.refusal(halfway=stick)
    assert kind == "unavailable" and "stuck" in reason
    assert "stuck" in rig.refusal()[1]
    rig.tree.stuck = False
    rig.clock.sleep(0.1)
    assert rig.window()[0].joules is not None


def test_a_counter_that_vanishes(tmp_path: Path) -> None:
    rig = Rig(tmp_path)

    def vanish() -> None:
        rig.tree.stuck = True
        shutil.rmtree(rig.tree.root)

    kind, reason = rig.refusal(halfway=vanish)
    assert kind == "unavailable" and "No such file" in reason
    assert rig.refusal()[0] == "unavailable"


@pytest.mark.parametrize("seconds", [0.0, 0.005])
def test_a_window_too_short(tmp_path: Path, seconds: float) -> None:
    kind, reason = Rig(tmp_path).refusal(seconds=seconds)
    assert kind == "unresolved" and "too short" in reason


def test_nothing_leaves_begin_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(tmp_path)
    assert "no window" in str(rig.meter.end().refusal)
    monkeypatch.setattr(rapl, "next_change", lambda *_: 1 / 0)
    kind, reason = rig.refusal()
    assert kind == "unavailable" and "ZeroDivisionError" in reason


def reason_of(root: Path) -> str:
    opened = rapl.open_rapl(root, ScaledClock())
    assert isinstance(opened, NoMeter)
    refusal = opened.describe()["refusal"]
    assert refusal["kind"] == "unavailable" and opened.end().refusal == refusal
    return str(refusal["reason"])


def test_no_powercap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "virtual machines and containers" in reason_of(tmp_path / "none")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert "this is Darwin" in reason_of(tmp_path / "none")


@pytest.mark.parametrize("zones", [{}, {"intel-rapl:0": "psys"}, {"intel-rapl-mmio:0": "package-0"}])
def test_powercap_without_packages(tmp_path: Path, zones: dict[str, str]) -> None:
    root = tmp_path / "powercap"
    root.mkdir()
    FakePowercap(root, steady(1), zones=zones)
    assert "modprobe intel_rapl_msr" in reason_of(root)


def test_a_counter_that_only_root_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = FakePowercap(tmp_path / "powercap", steady(100))
    for zone in tree.zones:
        (tree.root / zone / "energy_uj").chmod(0o400)
    if os.geteuid() == 0:  # root may read anything: let the system answer as it would to others
        read_text = Path.read_text

        def answer(path: Path, *arguments: Any, **options: Any) -> str:
            if path.stat().st_mode & 0o444 == 0o400:
                raise PermissionError(13, "Permission denied")
            return read_text(path, *arguments, **options)

        monkeypatch.setattr(Path, "read_text", answer)
    reason = reason_of(tree.root)
    assert "only root" in reason and "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj" in reason


@pytest.mark.parametrize(("text", "words"), [("", "no number"), ("many", "'many'")])
def test_a_counter_that_shows_no_number(tmp_path: Path, text: str, words: str) -> None:
    tree = FakePowercap(tmp_path / "powercap", steady(100))
    (tree.root / "intel-rapl:0" / "energy_uj").write_text(text)
    assert words in reason_of(tree.root)


def test_a_counter_of_a_virtual_machine_that_stands_still(tmp_path: Path) -> None:
    assert "stuck" in reason_of(FakePowercap(tmp_path / "powercap", steady(0)).root)


def test_the_cpu_has_this_meter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(rapl, "open_rapl", lambda: asked.append(True) or NoMeter("here"))
    assert isinstance(meter.open_meter(torch.device("cpu")), NoMeter) and asked


@pytest.mark.slow
def test_in_real_time(tmp_path: Path) -> None:
    """True clock, true thread, files that change under the reader."""
    tree = FakePowercap(
        tmp_path / "powercap", swinging(80, 160, 0.05), zones={"intel-rapl:0": "package-0"}, tick_s=0.01
    )
    with RealTime(tree):
        opened = rapl.open_rapl(tree.root)
        assert opened.describe()["kind"] == "rapl", opened.describe()
        for _ in range(2):
            opened.begin()
            begun_s = time.perf_counter()
            time.sleep(1)
            closed_s = time.perf_counter()
            energy = opened.end()
            true_joules = tree.joules(closed_s) - tree.joules(begun_s)
            assert energy.joules is not None and energy.error_joules is not None, energy.refusal
            # the files lag behind their own clock by what a busy machine takes to write them
            assert math.isclose(energy.joules, true_joules, abs_tol=energy.error_joules + 160 * 0.05)
