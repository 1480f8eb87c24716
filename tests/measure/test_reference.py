"""docs/reference/measuring.md tells of all that the measuring program has: plans, gates, refusals, modes, keys."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from measure import gates, llama_bench_files
from measure.cli import main
from measure.plan import CPU, DECODE_MODES, GPU, PLAN_NAMES, make_plan
from tests.measure import runs
from tests.measure.conftest import ROOT

PAGE = (ROOT / "docs" / "reference" / "measuring.md").read_text(encoding="utf-8")
SCHEMA: dict[str, Any] = json.loads((ROOT / "site_data" / "schema.json").read_text(encoding="utf-8"))


def row_of(name: str) -> list[str]:
    """The cells of the table row that begins with `name` in code."""
    found = re.search(rf"^\| `{re.escape(name)}` \|(.*)\|$", PAGE, re.MULTILINE)
    assert found, f"docs/reference/measuring.md has no row for {name}"
    return [cell.strip() for cell in found[1].split("|")]


def numbers(text: str) -> set[int]:
    return {int(digits) for digits in re.findall(r"\d+", text)}


@pytest.mark.parametrize("name", PLAN_NAMES)
def test_the_table_of_plans_is_the_plans(name: str) -> None:
    device = GPU if name == "gpu" else CPU
    plan = make_plan(name, device=device, dtype="float32", max_positions=131072, seed=20)
    rounds, prompts, depths, samples, _ = row_of(name)
    cells = [planned.cell for planned in plan.cells]
    assert int(rounds) == plan.rounds
    timed = {p.repetitions for p in plan.cells if p.cell.experiment in ("prefill", "decode")}
    assert timed == {int(samples.split(",")[0])}
    assert numbers(prompts) == {c.length for c in cells if c.experiment == "prefill"} | {
        c.batch for c in cells if c.experiment == "prefill" and c.batch > 1
    }
    planned = {c.length for c in cells if c.experiment == "decode"}
    planned |= {c.batch for c in cells if c.experiment == "decode" and c.batch > 1}
    told = numbers(depths) | (numbers(prompts) if depths.startswith("the same") else set())
    assert told == planned


def test_every_gate_refusal_experiment_and_mode_is_told() -> None:
    for gate in gates.GATES:
        row_of(gate)
    for kind in SCHEMA["$defs"]["refusal"]["properties"]["kind"]["enum"]:
        row_of(kind)
    for experiment in SCHEMA["$defs"]["cell"]["properties"]["experiment"]["enum"]:
        row_of(experiment)
    for mode in {mode for modes in DECODE_MODES.values() for mode in modes}:
        assert f"`{mode}`" in PAGE
    assert set(SCHEMA["$defs"]["sample"]["properties"]["gates"]["properties"]) == set(gates.GATES)


def test_the_thresholds_that_are_told_are_the_real_ones() -> None:
    (where,) = row_of("company")
    assert f"more than {gates.FOREIGN_CPU_SHARE_MOST:.0%}".replace("%", " %") in where
    assert gates.CORES_BESIDE_ACCELERATOR == 1 and "left no core free" in where


def test_every_format_of_llama_bench_is_told() -> None:
    for path in (Path(__file__).parent / "data" / "llama-bench").iterdir():
        format_ = llama_bench_files.format_of(path.read_text(encoding="utf-8"))
        assert f"`-o {format_}`" in PAGE


def test_every_key_of_the_json_is_told(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decode = runs.samples(runs.DECODE, [0.1, 0.11, 0.12])
    runs.write(site_data, "before", [*decode, *runs.samples(runs.PREFILL, [0.1] * 3)])
    runs.write(site_data, "after", decode, software={"python": "1", "torch": "0", "transformers": "0"})
    for command in (["compare", "before", "after"], ["machine", "--model", "tiny", "--no-probe"]):
        assert main([*command, "--json", "--site-data", str(site_data)]) == 0
        told = json.loads(capsys.readouterr().out)
        for key in keys_of(told):
            assert f"`{key}`" in PAGE, f"docs/reference/measuring.md does not tell of {key}"


def keys_of(value: Any) -> set[str]:
    """All keys, of what stands inside, too; the meter's are those of schema.json."""
    if isinstance(value, list):
        return {key for item in value for key in keys_of(item)}
    if not isinstance(value, dict):
        return set()
    inner = {key for name, item in value.items() if name != "meter" for key in keys_of(item)}
    return set(value) | inner
