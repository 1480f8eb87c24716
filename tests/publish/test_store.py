"""site_data/ is read whole or refused: every kind of bad input has its own clear error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hooks.data import store
from hooks.errors import PublishError
from tests.publish import fixture_data


def refused(folder: Path) -> str:
    with pytest.raises(PublishError) as caught:
        store.load(folder)
    text = str(caught.value)
    assert "mend: " in text, f"an error must say what mends it:\n{text}"
    return text


def edit_samples(folder: Path, edit: Callable[[list[str]], None]) -> Path:
    path = fixture_data.write_run(folder) / "samples.jsonl"
    lines = path.read_text(encoding="utf-8").split("\n")
    edit(lines)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def edit_run(folder: Path, **changes: object) -> Path:
    return fixture_data.write_run(folder, **changes) / "run.json"


def test_a_good_folder_is_read_with_every_sample_in_file_order(site_data: Path) -> None:
    data = store.load(site_data)
    run = data.runs["fixture-main"]
    assert [sample.line for sample in run.samples] == list(range(1, len(fixture_data.samples()) + 1))
    assert data.incomplete == ()
    assert set(data.models) == {"qwen2.5-1.5b", "smollm2-135m", "llama-2-70b"}


def test_the_repository_s_own_data_are_as_the_contract_has_them() -> None:
    assert store.load(fixture_data.ROOT / "site_data").incomplete == ()


def replace(number: int, old: str, new: str) -> Callable[[list[str]], None]:
    def edit(lines: list[str]) -> None:
        assert old in lines[number - 1]
        lines[number - 1] = lines[number - 1].replace(old, new, 1)

    return edit


def cut(lines: list[str]) -> None:
    lines.pop()
    lines[-1] = lines[-1][:-20]


def cut_inside_a_number(lines: list[str]) -> None:
    lines.pop()
    lines[-1] = lines[-1][: lines[-1].index('"peak_bytes": 70') + len('"peak_bytes": 70')]


LAST = len(fixture_data.samples())

BAD_SAMPLES = {
    "truncated last line": (cut, LAST, "the last line is cut off"),
    "last line cut inside a number": (cut_inside_a_number, LAST, "the last line is cut off"),
    "NaN": (replace(2, '"peak_bytes": 7000000000', '"peak_bytes": NaN'), 2, "NaN is not a number"),
    "infinity": (replace(2, '"peak_bytes": 7000000000', '"peak_bytes": 1e999'), 2, "1e999 is not a number"),
    "negative duration": (replace(3, '"duration_s": ', '"duration_s": -'), 3, "duration_s is not what"),
    "unknown field": (replace(4, '"batch": 1', '"batch": 1, "colour": "red"'), 4, "colour"),
    "field twice": (
        replace(5, '"batch": 1', '"batch": 1, "batch": 1'),
        5,
        "the field batch stands there twice",
    ),
    "not JSON": (replace(6, '"batch": 1', '"batch": one'), 6, "this is not JSON"),
    "empty line": (lambda lines: lines.insert(6, ""), 7, "this is not JSON"),
    "process not in run.json": (
        replace(7, '"process": 0', '"process": 9'),
        7,
        "process 9 is not in run.json",
    ),
    "energy without refusal": (
        replace(8, json.dumps(fixture_data.UNAVAILABLE), "null"),
        8,
        "energy_joules is missing without a refusal",
    ),
}


@pytest.mark.parametrize("case", BAD_SAMPLES)
def test_bad_samples(case: str, empty_data: Path) -> None:
    edit, line, message = BAD_SAMPLES[case]
    path = edit_samples(empty_data, edit)
    text = refused(empty_data)
    assert text.startswith(f"{path}:{line}: "), text
    assert message in text


def test_a_duration_missing_without_a_refusal(empty_data: Path) -> None:
    records = fixture_data.samples()
    records[1]["duration_s"] = None
    fixture_data.write_run(empty_data, records=records)
    assert "duration_s is missing without a refusal" in refused(empty_data)


@pytest.mark.parametrize("version", [0, 3, "1", None])
def test_unknown_schema_version(version: object, empty_data: Path) -> None:
    path = edit_run(empty_data, schema_version=version)
    text = refused(empty_data)
    assert text.startswith(f"{path}: unknown schema version")
    assert "expected: schema_version 2" in text and f"found: schema_version {version}" in text


def test_a_run_under_another_name(empty_data: Path) -> None:
    path = edit_run(empty_data)
    path.write_text(path.read_text().replace('"run_id": "fixture-main"', '"run_id": "another-name"'))
    text = refused(empty_data)
    assert "expected: fixture-main" in text and "found: another-name" in text


def test_an_unfinished_run_in_runs(empty_data: Path) -> None:
    edit_run(empty_data, status="unfinished", finished_at=None)
    assert "`python -m measure run --resume fixture-main`" in refused(empty_data)


def test_unfinished_is_never_opened(empty_data: Path) -> None:
    folder = empty_data / "unfinished" / "some-run"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("not JSON at all")
    assert store.load(empty_data).runs == {}


def test_lost_samples_are_kept_for_the_end_of_the_build(empty_data: Path) -> None:
    path = edit_samples(empty_data, lambda lines: lines.__delitem__(slice(0, 4)))
    (error,) = store.load(empty_data).incomplete
    assert str(error).startswith(f"{path}: samples are missing")
    assert f"expected: {LAST} lines" in str(error) and f"found: {LAST - 4} lines" in str(error)


def test_no_site_data_at_all(tmp_path: Path) -> None:
    text = refused(tmp_path / "site_data")
    assert "there is no folder site_data/" in text and "git checkout" in text


def test_no_schema(empty_data: Path) -> None:
    (empty_data / "schema.json").unlink()
    assert "there is no such file" in refused(empty_data)


@pytest.mark.parametrize("name", ["notes.txt", "runs/stray.txt", "models/model.yml", "old_runs/"])
def test_nothing_is_ignored_silently(name: str, empty_data: Path) -> None:
    path = empty_data / name
    path.mkdir() if name.endswith("/") else path.write_text("x")
    assert str(path) in refused(empty_data)


def test_a_stranger_in_a_run(empty_data: Path) -> None:
    run = fixture_data.write_run(empty_data)
    (run / "plot.png").write_bytes(b"")
    assert "plot.png" in refused(empty_data)


def test_a_model_under_another_name(empty_data: Path) -> None:
    (empty_data / "models/llama-2-70b.json").rename(empty_data / "models/llama.json")
    assert "the record's name is not its file's" in refused(empty_data)


def test_a_changed_file_is_seen(empty_data: Path) -> None:
    fixture_data.write_run(empty_data)
    before = store.load_cached(empty_data)
    assert store.load_cached(empty_data) is before
    fixture_data.write_run(empty_data, records=fixture_data.samples(lambda *_: 1.0))
    assert store.load_cached(empty_data).runs["fixture-main"].samples[1].duration_s == 64.0
