"""`compare`: what differs is told first, each quantity has its ratio and its word, and nothing is made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from measure.cli import main
from tests.measure import runs

FIVE = [0.100, 0.101, 0.099, 0.102, 0.098]
SLOWER = [value * 1.5 for value in FIVE]


def compare(site_data: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["compare", *arguments, "--site-data", str(site_data)])
    done = capsys.readouterr()
    return code, done.out, done.err


def rows(site_data: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], Any]:
    code, out, err = compare(site_data, *arguments, "--json", capsys=capsys)
    assert code == 0, err
    return {(r["experiment"], r["quantity"]): r for r in json.loads(out)["quantities"]}


def test_each_quantity_has_its_word(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def lines(scale: float, cache: int, watts: float) -> list[dict[str, Any]]:
        times = [scale * value for value in FIVE]
        meter: dict[str, Any] = {"energy_joules": [watts * t for t in times], "energy_refusal": None}
        much_arithmetic: dict[str, Any] = {"work_bytes": 1e9, "work_flop": 2e9}
        much_reading: dict[str, Any] = {"work_bytes": 2e9, "work_flop": 1e9}
        near: dict[str, Any] = {"ceiling_bytes_per_s": 5e10, "ceiling_flop_per_s": 5e10}
        return [
            *runs.samples(runs.PREFILL, times, **meter, **much_arithmetic, **near),
            *runs.samples(runs.DECODE, times, **meter, **much_reading, **near),
            *runs.samples(runs.CACHE, [None] * 5, kv_cache_bytes=64 * cache),
            *runs.samples(runs.READ, times, work_bytes=3e9),
            *runs.samples(runs.IDLE, [1.0] * 5, energy_joules=[20.0] * 5, energy_refusal=None),
        ]

    nvml = {"kind": "nvml", "refusal": None}
    runs.write(site_data, "before", lines(1.0, 512, 60.0), meter=nvml)
    runs.write(site_data, "after", lines(0.5, 256, 90.0), meter=nvml)
    found = rows(site_data, "before", "after", capsys=capsys)
    verdicts = {key: (round(row["ratio"], 6), row["verdict"]) for key, row in found.items()}
    assert verdicts == {
        ("ceilings", "bytes_per_s"): (2.0, "higher"),
        ("idle", "watts"): (1.0, "equal"),
        ("prefill", "seconds_per_token"): (0.5, "faster"),
        ("decode", "seconds_per_token"): (0.5, "faster"),
        ("prefill", "joules_per_token"): (0.75, "less"),
        ("decode", "joules_per_token"): (0.75, "less"),
        ("prefill", "net_joules_per_token"): (round((90 - 20) / (60 - 20) / 2, 6), "less"),
        ("decode", "net_joules_per_token"): (round((90 - 20) / (60 - 20) / 2, 6), "less"),
        ("prefill", "share_of_flop_ceiling"): (2.0, "higher"),
        ("decode", "share_of_read_ceiling"): (2.0, "higher"),
        ("kv_cache", "kv_bytes_per_token"): (0.5, "less"),
    }
    turned = rows(site_data, "after", "before", capsys=capsys)
    assert turned["decode", "seconds_per_token"]["verdict"] == "slower"
    assert turned["decode", "joules_per_token"]["verdict"] == "more"
    assert turned["ceilings", "bytes_per_s"]["verdict"] == "lower"
    assert turned["kv_cache", "kv_bytes_per_token"]["verdict"] == "more"
    first = found["decode", "seconds_per_token"]["first"]
    assert first["value"] == 0.1 / 4 and first["processes"] == 5 and first["samples"] == 5
    assert sorted(first["process_medians"]) == [value / 4 for value in sorted(FIVE)]


def test_a_difference_within_the_spread_is_not_resolvable(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    runs.write(site_data, "after", runs.samples(runs.DECODE, [value * 1.01 for value in FIVE]))
    row = rows(site_data, "before", "after", capsys=capsys)["decode", "seconds_per_token"]
    assert row["verdict"] == "not resolvable"
    assert row["ratio_low"] < 1 < row["ratio"] < row["ratio_high"]


def test_people_get_what_differs_first_then_the_table(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    runs.write(
        site_data,
        "after",
        [*runs.samples(runs.DECODE, SLOWER), *runs.samples(runs.PREFILL, SLOWER)],
        software={"python": "0", "torch": "1", "transformers": "0"},
        plan__budget_s=480.0,
    )
    code, out, _ = compare(site_data, "before", "after", capsys=capsys)
    assert code == 0
    differs, torch, budget, table = (
        out.index(text) for text in ("What differs", "software torch", "budget", "time per token")
    )
    assert differs < torch < table and differs < budget < table
    assert "0 | 1" in out and "none | 480 s" in out
    assert "1.500" in out and "slower" in out
    assert "only in after: prefill prompt 64" in out
    assert "1 of 1 rows" in out and "about 0.1 would be" in out


def test_the_same_environment_is_said_to_be_the_same(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    runs.write(site_data, "after", runs.samples(runs.DECODE, SLOWER))
    _, out, _ = compare(site_data, "before", "after", capsys=capsys)
    assert "The environment of both runs is the same" in out


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("machine", {"machine__id": "other"}),
        ("weights", {"model__weights": {"kind": "random", "label": "others, never loaded", "seed": 21}}),
        ("model", {"model__name": "smollm2-135m"}),
    ],
)
def test_what_may_make_the_difference_forbids_the_comparison(
    site_data: Path, capsys: pytest.CaptureFixture[str], what: str, change: dict[str, Any]
) -> None:
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    runs.write(site_data, "after", runs.samples(runs.DECODE, SLOWER), **change)
    code, out, err = compare(site_data, "before", "after", capsys=capsys)
    assert code == 2 and not out
    assert f"  {what}: " in err and "--across" in err
    asked = rows(site_data, "before", "after", "--across", capsys=capsys)
    assert asked["decode", "seconds_per_token"]["verdict"] == "slower"


def test_another_dtype_is_compared_when_asked(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = {**runs.DECODE, "dtype": "bfloat16"}
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    runs.write(site_data, "after", runs.samples(half, SLOWER), model__dtype="bfloat16")
    assert compare(site_data, "before", "after", capsys=capsys)[0] == 2
    row = rows(site_data, "before", "after", "--across", capsys=capsys)["decode", "seconds_per_token"]
    assert (row["first"]["dtype"], row["second"]["dtype"]) == ("float32", "bfloat16")
    assert row["verdict"] == "slower"


def test_weights_that_nobody_knows_are_never_the_same(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown = {"kind": "unknown", "label": "weights of an imported file"}
    for name in ("before", "after"):
        runs.write(site_data, name, runs.samples(runs.DECODE, FIVE), model__weights=unknown)
    code, _, err = compare(site_data, "before", "after", capsys=capsys)
    assert code == 2 and "weights" in err


def test_one_process_gives_a_ratio_and_no_interval(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    runs.write(site_data, "once", runs.samples(runs.DECODE, [0.3]))
    row = rows(site_data, "before", "once", capsys=capsys)["decode", "seconds_per_token"]
    assert row["ratio"] == pytest.approx(3.0)
    assert row["ratio_low"] is row["ratio_high"] is None
    assert row["verdict"] == "not resolvable"
    assert "once has 1 process" in row["reason"]
    assert "outside what one more process of before would give" in row["reason"]
    _, out, _ = compare(site_data, "before", "once", capsys=capsys)
    assert "no interval: once has 1 process, and it takes 3" in out


def test_an_imported_cell_is_held_against_each_mode(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled, imported = ({**runs.DECODE, "mode": mode} for mode in ("compiled", "imported"))
    runs.write(site_data, "ours", [*runs.samples(runs.DECODE, FIVE), *runs.samples(compiled, FIVE)])
    origin = {
        "program": "llama-bench",
        "version": "0c1e570",
        "format": "json",
        "file": "fixture.json",
        "sha256": "0" * 64,
        "imported_at": "2026-01-02T03:00:00Z",
        "notes": [],
    }
    runs.write(site_data, "theirs", runs.samples(imported, [0.1]), code=None, origin=origin)
    code, out, err = compare(site_data, "ours", "theirs", "--json", capsys=capsys)
    assert code == 0, err
    found = json.loads(out)
    assert [(r["first"]["mode"], r["second"]["mode"]) for r in found["quantities"]] == [
        ("eager", "imported"),
        ("compiled", "imported"),
    ]
    assert not found["only_in_first"] and not found["only_in_second"]
    assert {
        "what": "origin",
        "first": "measured here",
        "second": "imported from llama-bench 0c1e570",
    }.items() <= next(d for d in found["differences"] if d["what"] == "origin").items()


def test_energies_of_two_boards_carry_what_their_sensors_may_be_off(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def write(name: str, joules: float, **changes: Any) -> None:
        lines = runs.samples(
            runs.DECODE, FIVE, energy_joules=[joules + 0.001 * i for i in range(5)], energy_refusal=None
        )
        runs.write(site_data, name, lines, **changes)

    stated = {"kind": "nvml", "refusal": None, "gain_error_share": 0.05}
    write("one", 10.0, meter=stated)
    write("same-board", 10.5, meter=stated)
    write("other-board", 10.5, meter=stated, machine__id="other")
    write("silent-board", 10.5, meter={"kind": "nvml", "refusal": None}, machine__id="third")
    key = ("decode", "joules_per_token")
    assert rows(site_data, "one", "same-board", capsys=capsys)[key]["verdict"] == "more"
    assert (
        rows(site_data, "one", "other-board", "--across", capsys=capsys)[key]["verdict"] == "not resolvable"
    )
    silent = rows(site_data, "one", "silent-board", "--across", capsys=capsys)[key]
    assert silent["ratio"] is None and "do not state" in silent["reason"]


def test_meters_that_cover_different_things_are_not_compared(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    energy: dict[str, Any] = {"energy_joules": [10.0] * 5, "energy_refusal": None}
    for name, kind in (("card", "nvml"), ("package", "rapl")):
        lines = runs.samples(runs.DECODE, FIVE, **energy)
        runs.write(site_data, name, lines, meter={"kind": kind, "refusal": None})
    row = rows(site_data, "card", "package", capsys=capsys)["decode", "joules_per_token"]
    assert row["ratio"] is None and row["verdict"] == "not resolvable"
    assert "nvml | rapl" in row["reason"]


def test_energy_in_one_run_only_says_why_not_in_the_other(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = runs.samples(runs.DECODE, FIVE, energy_joules=[10.0] * 5, energy_refusal=None)
    runs.write(site_data, "with", lines, meter={"kind": "nvml", "refusal": None})
    runs.write(site_data, "without", runs.samples(runs.DECODE, FIVE))
    row = rows(site_data, "with", "without", capsys=capsys)["decode", "joules_per_token"]
    assert row["ratio"] is None and "without: no energy meter" in row["reason"]


def test_refused_samples_and_warm_ups_do_not_count(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = {"kind": "contaminated", "reason": "another process"}
    spoiled = runs.samples(runs.DECODE, [9.0] * 5, repetition=1, refusal=refusal)
    warm = runs.samples(runs.DECODE, [9.0] * 5, warm_up=True)
    runs.write(site_data, "before", [*warm, *runs.samples(runs.DECODE, FIVE), *spoiled])
    runs.write(site_data, "after", runs.samples(runs.DECODE, FIVE))
    row = rows(site_data, "before", "after", capsys=capsys)["decode", "seconds_per_token"]
    assert row["ratio"] == 1.0
    runs.write(site_data, "spoiled", [*warm, *spoiled])
    row = rows(site_data, "after", "spoiled", capsys=capsys)["decode", "seconds_per_token"]
    assert row["ratio"] is None and "another process" in row["reason"]


def test_a_machine_that_changed_meanwhile_is_told(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.write(site_data, "before", runs.samples(runs.READ, FIVE, work_bytes=1e9))
    runs.write(site_data, "after", runs.samples(runs.READ, SLOWER, work_bytes=1e9))
    _, out, _ = compare(site_data, "before", "after", capsys=capsys)
    assert "The machine itself differed: its read bandwidth was 0.667 times" in out


def test_runs_without_a_common_cell(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    runs.write(site_data, "after", runs.samples(runs.PREFILL, FIVE))
    code, out, _ = compare(site_data, "before", "after", capsys=capsys)
    assert code == 0 and "nothing to compare" in out


def test_an_unknown_run_is_told_with_the_nearest(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs.write(site_data, "20260101-tiny-cpu", runs.samples(runs.DECODE, FIVE))
    code, _, err = compare(site_data, "20260101-tiny-cpu", "20260101-tniy-cpu", capsys=capsys)
    assert code == 2 and "nearest known: 20260101-tiny-cpu" in err


def test_a_run_that_was_spoiled_is_not_compared(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    folder = runs.write(site_data, "after", runs.samples(runs.DECODE, FIVE))
    path = folder / "samples.jsonl"
    path.write_text(path.read_text().replace("0.101", "NaN"), encoding="utf-8")
    code, out, err = compare(site_data, "before", "after", capsys=capsys)
    assert code == 1 and not out
    assert f"{path}:2" in err and "NaN" in err and "git checkout" in err


def test_an_unfinished_run_is_not_compared(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    folder = runs.write(site_data, "after", runs.samples(runs.DECODE, FIVE))
    (site_data / "unfinished").mkdir()
    folder.rename(site_data / "unfinished" / "after")
    code, _, err = compare(site_data, "before", "after", capsys=capsys)
    assert code == 2 and "--resume after" in err


def test_text_from_a_run_is_text(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    label = "<script>alert(1)</script> [bold]card[/] :smile:"
    runs.write(site_data, "after", runs.samples(runs.DECODE, FIVE), machine__label=label)
    code, out, _ = compare(site_data, "before", "after", "--across", capsys=capsys)
    assert code == 0 and label in out
    assert main(["list", "--site-data", str(site_data)]) == 0
    assert "[bold]" in capsys.readouterr().out
    assert main(["show", "after", "--site-data", str(site_data)]) == 0
    assert label in capsys.readouterr().out


def test_a_run_compared_with_itself(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs.write(site_data, "before", runs.samples(runs.DECODE, FIVE))
    code, out, _ = compare(site_data, "before", "before", capsys=capsys)
    assert code == 0 and "same run" in out and "1.000" in out
