"""The checks on one sample: what passes, what fails and with which words, and that nothing unknown passes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure import gates
from measure.gates import FAILED, GATES, NOT_CHECKED, PASSED, Facts, judge
from measure.plan import Cell
from measure.sample import facts_of, sample_of
from tests.measure.conftest import ROOT

CPU = Facts(
    accelerator=False,
    cpu_cores=2,
    duration_s=3.2,
    system_s=3.2005,
    tokens_held=500,
    tokens_planned=500,
    foreign_cpu_share=0.006,
    watched=False,
    company=None,
    slowdowns=(),
    second_reading=False,
    disagreement=None,
    bytes_per_s=19e9,
    flop_per_s=10e9,
    ceiling_bytes_per_s=45e9,
    ceiling_flop_per_s=170e9,
)
GPU = replace(CPU, accelerator=True, watched=True, second_reading=True, foreign_cpu_share=0.3)
UNKNOWN = Facts(
    False, None, None, None, None, None, None, False, None, (), False, None, None, None, None, None
)


def test_a_good_sample_on_a_cpu() -> None:
    verdict = judge(CPU)
    assert verdict.refusal is None and verdict.energy_refusal is None
    assert verdict.gates == {
        "duration": PASSED,
        "length": PASSED,
        "clock": PASSED,
        "company": PASSED,
        "throttling": NOT_CHECKED,  # nothing here says how a CPU's clocks are held
        "ceiling": PASSED,
        "energy_agreement": NOT_CHECKED,
    }


def test_a_good_sample_on_a_gpu_passes_every_gate() -> None:
    assert judge(GPU).gates == dict.fromkeys(GATES, PASSED)


def test_what_is_not_known_neither_passes_nor_fails() -> None:
    verdict = judge(UNKNOWN)
    assert verdict.gates == dict.fromkeys(GATES, NOT_CHECKED)
    assert verdict.refusal is None and verdict.energy_refusal is None


def test_a_card_that_nobody_watched_is_not_said_to_be_alone() -> None:
    verdict = judge(replace(GPU, watched=False, second_reading=False))
    assert [name for name in GATES if verdict.gates[name] == NOT_CHECKED] == [
        "company",
        "throttling",
        "energy_agreement",
    ]


@pytest.mark.parametrize(
    ("facts", "gate", "kind", "words"),
    [
        (replace(CPU, duration_s=0.0, system_s=0.0), "duration", "unresolved", "took 0 s by the clock"),
        (replace(CPU, duration_s=-1e-9, system_s=0.0), "duration", "unresolved", "which no work does"),
        (
            replace(CPU, tokens_held=501),
            "length",
            "unresolved",
            "held 501 tokens a sequence afterwards, not 500",
        ),
        (
            replace(CPU, system_s=3.3),
            "clock",
            "contaminated",
            "two clocks disagree on the window: 3.2 s and 3.3",
        ),
        (replace(CPU, system_s=-3600.0), "clock", "contaminated", "its clock was set"),
        (replace(CPU, foreign_cpu_share=0.064), "company", "contaminated", "others had 6.4% of the CPU"),
        (replace(GPU, foreign_cpu_share=0.7), "company", "contaminated", "others had 70% of the CPU"),
        (replace(GPU, company="1 other process"), "company", "contaminated", "1 other process"),
        (replace(GPU, slowdowns=("too hot",)), "throttling", "contaminated", "held down: too hot"),
        (replace(CPU, bytes_per_s=46e9), "ceiling", "unresolved", "102% of the read bandwidth"),
        (replace(CPU, flop_per_s=171e9), "ceiling", "unresolved", "101% of the rate of matrix products"),
    ],
)
def test_each_failure_is_said(facts: Facts, gate: str, kind: str, words: str) -> None:
    verdict = judge(facts)
    assert verdict.gates[gate] == FAILED
    assert verdict.refusal and verdict.refusal["kind"] == kind and words in verdict.refusal["reason"]
    assert [name for name in GATES if verdict.gates[name] == FAILED] == [gate]
    assert verdict.energy_refusal is None


def test_two_readings_that_disagree_cost_the_energy_alone() -> None:
    verdict = judge(replace(GPU, disagreement="327 J and 187 J"))
    assert verdict.gates["energy_agreement"] == FAILED
    assert verdict.refusal is None
    assert verdict.energy_refusal == {"kind": "unresolved", "reason": "327 J and 187 J"}


def test_of_several_failures_the_first_is_the_reason() -> None:
    verdict = judge(replace(GPU, duration_s=3.2, tokens_held=7, company="another", slowdowns=("hot",)))
    assert [name for name in GATES if verdict.gates[name] == FAILED] == ["length", "company", "throttling"]
    assert verdict.refusal and "7 tokens" in verdict.refusal["reason"]


def test_the_thresholds_themselves_pass() -> None:
    at_limit = gates.CLOCKS_DIFFER_S + gates.CLOCKS_DIFFER_SHARE * 3.0
    for facts in (
        replace(CPU, foreign_cpu_share=gates.FOREIGN_CPU_SHARE_MOST),
        replace(GPU, foreign_cpu_share=0.5),
        replace(GPU, cpu_cores=16, foreign_cpu_share=15 / 16),  # one core is free for giving orders
        replace(CPU, duration_s=3.0, system_s=3.0 + at_limit * 0.999),
        replace(CPU, bytes_per_s=CPU.ceiling_bytes_per_s),
    ):
        assert judge(facts).refusal is None


maybe = st.one_of(st.none(), st.floats(-1, 1e12, allow_nan=False))


@given(
    st.builds(
        Facts,
        accelerator=st.booleans(),
        cpu_cores=st.one_of(st.none(), st.integers(1, 256)),
        duration_s=maybe,
        system_s=maybe,
        tokens_held=st.one_of(st.none(), st.integers(0, 9)),
        tokens_planned=st.one_of(st.none(), st.integers(1, 9)),
        foreign_cpu_share=st.one_of(st.none(), st.floats(0, 1)),
        watched=st.booleans(),
        company=st.one_of(st.none(), st.just("somebody")),
        slowdowns=st.sampled_from([(), ("hot",)]),
        second_reading=st.booleans(),
        disagreement=st.one_of(st.none(), st.just("they differ")),
        bytes_per_s=maybe,
        flop_per_s=maybe,
        ceiling_bytes_per_s=st.one_of(st.none(), st.floats(1, 1e12)),
        ceiling_flop_per_s=st.one_of(st.none(), st.floats(1, 1e12)),
    )
)
def test_a_refusal_stands_exactly_where_a_gate_failed(facts: Facts) -> None:
    verdict = judge(facts)
    assert set(verdict.gates) == set(GATES) and set(verdict.gates.values()) <= {PASSED, FAILED, NOT_CHECKED}
    timing_failed = any(verdict.gates[name] == FAILED for name in GATES if name != "energy_agreement")
    assert (verdict.refusal is not None) == timing_failed
    assert (verdict.energy_refusal is not None) == (verdict.gates["energy_agreement"] == FAILED)


def test_the_schema_knows_the_same_gates() -> None:
    schema = json.loads((ROOT / "site_data" / "schema.json").read_text(encoding="utf-8"))
    assert tuple(schema["$defs"]["sample"]["properties"]["gates"]["properties"]) == GATES


# From a worker's answer to a sample

DECODE = Cell("decode", 1, None, 500, "float32")


def answer(**changes: Any) -> dict[str, Any]:
    energy = {"joules": 80.0, "error_joules": 0.4, "refusal": None, "second_joules": 79.0, "company": None}
    return {
        "event": "sample",
        "started_at": "2026-11-30T12:00:00.000Z",
        "steps": 6,
        "tokens": 6,
        "duration_s": 2.0,
        "system_s": 2.0,
        "tokens_held": 500,
        "foreign_cpu_share": 0.01,
        "kv_cache_bytes": 1000,
        "peak_bytes": 1000,
        "work_bytes": 30e9,
        "work_flop": 20e9,
        "ceiling_bytes_per_s": 40e9,
        "ceiling_flop_per_s": 100e9,
        "energy": {
            **energy,
            "budget": {"edges": 0.4},
            "slowdowns": [],
            "agreement": None,
            "device_state": None,
        },
        **changes,
    }


def machine(accelerator: bool) -> dict[str, Any]:
    return {"accelerator": {"name": "a card"} if accelerator else None, "cpu_cores": 2}


def sample(given_answer: dict[str, Any]) -> dict[str, Any]:
    return sample_of(
        DECODE, given_answer, steps=6, process=0, repetition=0, warm_up=False, machine=machine(True)
    )


def test_a_sample_carries_all_that_the_worker_saw() -> None:
    made = sample(answer())
    assert made["gates"] == dict.fromkeys(GATES, PASSED)
    assert (made["energy_joules"], made["energy_second_joules"], made["energy_budget"]) == (
        80.0,
        79.0,
        {"edges": 0.4},
    )
    assert made["refusal"] is None and made["energy_refusal"] is None


def test_a_disturbed_sample_keeps_its_time_and_is_refused() -> None:
    made = sample(answer(foreign_cpu_share=0.9))
    assert made["duration_s"] == 2.0 and made["refusal"]["kind"] == "contaminated"


def test_joules_in_doubt_are_not_kept_as_joules() -> None:
    energy = {**answer()["energy"], "agreement": "327 J and 187 J"}
    made = sample(answer(energy=energy))
    assert made["refusal"] is None
    assert made["energy_joules"] is None and made["energy_error_joules"] is None
    assert made["energy_refusal"]["reason"] == "327 J and 187 J"
    assert made["energy_second_joules"] == 79.0  # what the other reading said


def test_no_time_at_all_is_no_time() -> None:
    made = sample(answer(duration_s=0.0))
    assert made["duration_s"] is None and made["gates"]["duration"] == FAILED


def test_rates_are_work_over_time() -> None:
    facts = facts_of(DECODE, answer(), machine(False))
    assert facts.bytes_per_s == 15e9 and facts.flop_per_s == 10e9
    assert sample(answer(work_bytes=81e9))["gates"]["ceiling"] == FAILED


def test_a_card_at_rest_is_not_disturbed_by_work_on_the_cpu() -> None:
    rest = Cell("idle", 1, None, None, "bfloat16", "with_context")
    busy = answer(foreign_cpu_share=0.9)
    assert facts_of(rest, busy, machine(True)).foreign_cpu_share is None
    assert facts_of(rest, busy, machine(False)).foreign_cpu_share == 0.9  # a CPU's energy is all processes'


def test_a_refused_answer_is_a_sample_without_a_time() -> None:
    refused = {"event": "refused", "refusal": {"kind": "did_not_fit", "reason": "no room"}}
    made = sample(refused)
    assert made["refusal"]["kind"] == "did_not_fit" and made["duration_s"] is None
    assert made["tokens"] == 6 and made["gates"] == dict.fromkeys(GATES, NOT_CHECKED)
