"""`import` of llama-bench: each of its formats as it writes them, and everything that such a file may get wrong."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from measure import record
from measure.cli import main
from measure.errors import MeasureError
from measure.llama_bench import mean_depth
from measure.llama_bench_files import format_of, records
from tests.measure.conftest import ROOT, copy_contract

DATA = Path(__file__).parent / "data" / "llama-bench"
MODEL = ("--model", "qwen2.5-1.5b")

Change = Callable[[dict[str, Any]], None]


def bring_in(site_data: Path, *arguments: object) -> int:
    return main(["import", *map(str, arguments), "--site-data", str(site_data)])


def written(site_data: Path) -> list[Path]:
    return sorted(path for path in record.run_folders(site_data))


def the_run(site_data: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    (folder,) = written(site_data)
    return record.load(site_data, folder.name)


def real(name: str = "llama-bench-f32.json") -> list[dict[str, Any]]:
    tests: list[dict[str, Any]] = json.loads((DATA / name).read_text(encoding="utf-8"))
    return tests


def changed(tmp_path: Path, change: Change, which: int = 0) -> Path:
    """The real json file with one of its tests changed."""
    tests = real()
    change(tests[which])
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(tests), encoding="utf-8")
    return path


def cells(samples: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {(s["experiment"], s["prompt_tokens"], s["context_tokens"], s["dtype"]) for s in samples}


# As it is written


def test_json_gives_each_repetition(site_data: Path) -> None:
    assert bring_in(site_data, DATA / "llama-bench-f32.json", *MODEL, "--weights", "random") == 0
    run, samples = the_run(site_data)
    assert cells(samples) == {("prefill", 512, None, "float32"), ("decode", None, 16, "float32")}
    prefill = [s for s in samples if s["experiment"] == "prefill"]
    assert [s["duration_s"] for s in prefill] == [ns / 1e9 for ns in real()[0]["samples_ns"]]
    assert {(s["tokens"], s["steps"], s["batch"], s["process"], s["warm_up"]) for s in prefill} == {
        (512, 1, 1, 0, False)
    }
    decode = [s for s in samples if s["experiment"] == "decode"]
    assert {(s["tokens"], s["steps"]) for s in decode} == {(32, 32)}
    assert all(s["energy_joules"] is None and s["energy_refusal"]["kind"] == "unavailable" for s in samples)
    assert {s["mode"] for s in samples} == {"imported"}
    assert len(run["processes"]) == 1 and run["code"] is None
    assert run["model"]["weights"] == {
        "kind": "random",
        "label": "random weights, as stated at import (qwen15-f32.gguf)",
        "file": "qwen15-f32.gguf",
    }
    assert run["machine"]["label"] == "AMD EPYC"
    assert {run["machine"][k] for k in ("cpu_cores", "memory_bytes", "os", "accelerator")} == {None}
    assert (run["started_at"], run["finished_at"]) == ("2026-11-30T09:24:59Z", "2026-11-30T09:26:06Z")
    origin = run["origin"]
    assert (origin["program"], origin["version"], origin["format"], origin["file"]) == (
        "llama-bench",
        "0c1e570 (build 1)",
        "json",
        "llama-bench-f32.json",
    )
    told = " ".join(origin["notes"])
    assert "tg32: 0 to 31, stored as 16" in told
    assert "cached as f16, while the weights are float32" in told
    assert "one process" in told and "n_ubatch 512" in told
    assert "in pieces" not in told
    assert run["argv"] == ["import", "llama-bench-f32.json", *MODEL, "--weights", "random"]


def test_jsonl_with_depths(site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bring_in(site_data, DATA / "llama-bench-f32-depths.jsonl", *MODEL) == 0
    run, samples = the_run(site_data)
    assert cells(samples) == {
        ("prefill", 128, None, "float32"),
        ("decode", None, 8, "float32"),
        ("decode", None, 520, "float32"),
    }
    assert any("Left out: pp128 @ d512" in note for note in run["origin"]["notes"])
    assert run["model"]["weights"]["kind"] == "unknown"
    assert "Left out: pp128 @ d512" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["llama-bench-f32-pg.csv", "llama-bench-f32-pg.jsonl"])
def test_tests_of_prompt_and_generation_together_are_left_out_by_name(
    site_data: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bring_in(site_data, DATA / name, *MODEL) == 0
    run, samples = the_run(site_data)
    assert cells(samples) == {("prefill", 64, None, "float32"), ("decode", None, 4, "float32")}
    assert any("pp64+tg8" in note and "together" in note for note in run["origin"]["notes"])
    assert "pp64+tg8" in capsys.readouterr().out


def test_csv_and_sql_have_the_mean_alone(site_data: Path) -> None:
    assert bring_in(site_data, DATA / "llama-bench-f32-pg.csv", DATA / "short.sql", *MODEL) == 0
    of_sql, of_csv = (record.load(site_data, folder.name) for folder in written(site_data))
    for (run, samples), format_ in ((of_csv, "csv"), (of_sql, "sql")):
        assert run["origin"]["format"] == format_
        assert len(samples) == 2
        assert any(
            "not their number" in note and "standard deviation" in note for note in run["origin"]["notes"]
        )
    assert of_csv[1][0]["duration_s"] == 1463954660 / 1e9
    assert of_sql[1][0]["duration_s"] == 3337294644 / 1e9


def test_settings_and_dtypes_become_runs_of_their_own(site_data: Path) -> None:
    assert bring_in(site_data, DATA / "f16-bf16-busy-machine.csv", *MODEL) == 0
    runs = [record.load(site_data, folder.name) for folder in written(site_data)]
    assert [run["model"]["dtype"] for run, _ in runs] == ["float16", "bfloat16"]
    assert all(len(samples) == 2 for _, samples in runs)
    assert all(any("run of its own" in note for note in run["origin"]["notes"]) for run, _ in runs)
    # keys and values in f16 beside weights in float16 are nothing to tell
    assert not any("cached as" in note for note in runs[0][0]["origin"]["notes"])
    assert any("cached as f16" in note for note in runs[1][0]["origin"]["notes"])


def test_threads_make_a_setting(site_data: Path) -> None:
    assert bring_in(site_data, DATA / "threads-busy-machine.jsonl", *MODEL) == 0
    runs = [record.load(site_data, folder.name)[0] for folder in written(site_data)]
    assert [run["software"]["threads"] for run in runs] == [1, 2]


def test_every_real_file_passes_check_list_show_and_the_hooks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from hooks.data import store
    from tests.publish import fixture_data

    site_data = fixture_data.site_data(tmp_path / "site_data")
    files = [path for path in DATA.iterdir() if path.suffix != ".md"]
    assert len(files) == 7
    assert bring_in(site_data, *files, *MODEL) == 0
    assert main(["check", "--site-data", str(site_data)]) == 0
    assert main(["list", "--site-data", str(site_data)]) == 0
    for folder in written(site_data):
        assert main(["show", folder.name, "--site-data", str(site_data)]) == 0
    out = capsys.readouterr().out
    assert "from llama-bench 0c1e570 (build 1), short.sql (sql)" in out
    loaded = store.load(site_data)
    assert len(loaded.runs) == len(written(site_data)) == 9
    assert not loaded.incomplete


def test_a_gpu_and_names_that_try_something(tmp_path: Path, site_data: Path) -> None:
    def change(test: dict[str, Any]) -> None:
        test |= {
            "gpu_info": "<script>alert(1)</script> [/bold]",
            "backends": "CUDA",
            "model_filename": "C:\\m\\x.gguf",
        }

    tests = real()
    for test in tests:
        change(test)
    path = tmp_path / "gpu.json"
    path.write_text(json.dumps(tests), encoding="utf-8")
    assert bring_in(site_data, path, *MODEL) == 0
    run, _ = the_run(site_data)
    assert run["machine"]["accelerator"]["name"] == "<script>alert(1)</script> [/bold]"
    assert run["machine"]["label"] == "<script>alert(1)</script> [/bold] (AMD EPYC)"
    assert run["model"]["weights"]["file"] == "x.gguf"
    assert main(["check", "--site-data", str(site_data)]) == 0
    assert main(["show", run["run_id"], "--site-data", str(site_data)]) == 0


def test_a_long_prompt_is_told_to_have_been_cut(tmp_path: Path, site_data: Path) -> None:
    assert bring_in(site_data, changed(tmp_path, lambda test: test.update(n_ubatch=256)), *MODEL) == 0
    notes = [
        note for f in written(site_data) for note in record.load(site_data, f.name)[0]["origin"]["notes"]
    ]
    assert any("pieces of 256" in note for note in notes)


@pytest.mark.parametrize(
    ("described", "size", "dtype"),
    [
        ("qwen2 1.5B Q4_K - Medium", 0.6, "q4_k_m"),
        ("qwen2 1.5B Q8_0", 1.06, "q8_0"),
        ("qwen2 1.5B IQ2_XXS - 2.0625 bpw", 0.3, "iq2_xxs"),
        ("qwen2 1.5B MXFP4 MoE", 0.6, "mxfp4"),
        ("qwen2 ?B Q5_K - Small", 0.7, "q5_k_s"),
        ("qwen2 1.5B F16 (guessed)", 2.0, "float16"),
    ],
)
def test_types_of_weights(tmp_path: Path, site_data: Path, described: str, size: float, dtype: str) -> None:
    tests = real()
    for test in tests:
        test |= {"model_type": described, "model_size": int(test["model_n_params"] * size)}
    path = tmp_path / "typed.json"
    path.write_text(json.dumps(tests), encoding="utf-8")
    assert bring_in(site_data, path, *MODEL) == 0
    run, samples = the_run(site_data)
    assert run["model"]["dtype"] == dtype and {s["dtype"] for s in samples} == {dtype}
    assert any("guessed" in note for note in run["origin"]["notes"]) == ("guessed" in described)
    assert main(["check", "--site-data", str(site_data)]) == 0


# How the format is told


@pytest.mark.parametrize("path", sorted(DATA.iterdir()), ids=lambda path: path.name)
def test_the_format_is_told_by_the_content(path: Path, tmp_path: Path) -> None:
    assert format_of(path.read_text(encoding="utf-8")) == path.suffix[1:]
    assert format_of("\n\n" + path.read_text(encoding="utf-8")) == path.suffix[1:]


def test_the_name_does_not_matter(tmp_path: Path, site_data: Path) -> None:
    path = tmp_path / "results.txt"
    path.write_bytes(b"\xef\xbb\xbf" + (DATA / "short.sql").read_bytes())
    assert bring_in(site_data, path, *MODEL) == 0


# What is refused


def refused(site_data: Path, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The error, after making sure that nothing was written."""
    before = written(site_data)
    code = bring_in(site_data, *arguments)
    done = capsys.readouterr()
    assert code in (1, 2), done.out
    assert not done.out
    assert done.err.startswith("error: ") and "Traceback" not in done.err
    assert written(site_data) == before
    assert not (site_data / "unfinished" / record.STAGING).exists()
    return done.err


def test_the_md_table_is_refused_with_the_format_to_use(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(site_data, capsys, DATA / "llama-bench-f32-pg.md", *MODEL)
    assert "md table" in error and "llama-bench -o jsonl" in error and "two decimals" in error


def test_the_same_file_twice_is_refused_with_the_run(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bring_in(site_data, DATA / "short.sql", *MODEL) == 0
    capsys.readouterr()
    (folder,) = written(site_data)
    error = refused(site_data, capsys, DATA / "llama-bench-f32.json", DATA / "short.sql", *MODEL)
    assert "short.sql" in error and folder.name in error
    error = refused(site_data, capsys, DATA / "llama-bench-f32.json", DATA / "llama-bench-f32.json", *MODEL)
    assert "llama-bench-f32.json" in error


def test_one_bad_file_keeps_all_out(
    tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = changed(tmp_path, lambda test: test.update(n_gen="many"))
    error = refused(site_data, capsys, DATA / "short.sql", bad, *MODEL)
    assert "n_gen" in error


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda t: t.update(n_promt=1),
            ["field n_promt", "nearest known: n_prompt", "measure/llama_bench.py"],
        ),
        (lambda t: t.pop("n_depth"), ["field n_depth", "found none"]),
        (lambda t: t.pop("samples_ns"), ["field samples_ns", "found none"]),
        (lambda t: t.update(avg_ns=-5), ["field avg_ns", "-5"]),
        (lambda t: t.update(samples_ns=[1e300] * 5), ["samples_ns[0]", "1e+300"]),
        (lambda t: t.update(samples_ns=[-1, 2, 3]), ["samples_ns[0]", "more than 0"]),
        (lambda t: t.update(samples_ns=[]), ["samples_ns", "at least one number"]),
        (lambda t: t.update(samples_ns=["5"]), ["samples_ns[0]", "'5'"]),
        (lambda t: t.update(samples_ns=[True]), ["samples_ns[0]", "True"]),
        (lambda t: t.update(avg_ns=11127611259 + 1000), ["avg_ns", "mean of samples_ns"]),
        (lambda t: t.update(samples_ts=[1.0] * 5), ["samples_ts", "512 tokens over samples_ns"]),
        (lambda t: t.update(samples_ts=[46.0]), ["samples_ts", "5 rates"]),
        (lambda t: t.update(avg_ts=20.0), ["avg_ts", "at least 512 tokens"]),
        (lambda t: t.update(n_prompt=0), ["found none:", "times nothing"]),
        (lambda t: t.update(n_prompt=1.5), ["n_prompt", "1.5"]),
        (lambda t: t.update(test_time="yesterday"), ["test_time", "'yesterday'"]),
        (lambda t: t.update(test_time="2026-02-31T00:00:00Z"), ["test_time", "that exists"]),
        (lambda t: t.update(cpu_info="a\nb"), ["cpu_info", "printable"]),
        (lambda t: t.update(gpu_info="\x1b[2J"), ["gpu_info", "printable"]),
        (lambda t: t.update(model_type="qwen2 1.5B unknown, may not work"), ["model_type", "may not work"]),
        (lambda t: t.update(model_type="F32"), ["model_type"]),
        (lambda t: t.update(model_size=2), ["model_size", "6,174,857,216"]),
        (lambda t: t.update(model_n_params=134515008), ["model_n_params", "--model smollm2-135m"]),
        (lambda t: t.update(model_n_params=1600000000), ["1,543,714,304", "Nearest known: qwen2.5-1.5b"]),
        (lambda t: t.update(devices=["a", "b"]), ["devices", "a text or a number"]),
    ],
)
def test_what_is_wrong_in_a_field_is_named(
    tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str], change: Change, words: list[str]
) -> None:
    path = tmp_path / "changed.json"
    tests = real()[:1]
    change(tests[0])
    path.write_text(json.dumps(tests), encoding="utf-8")
    error = refused(site_data, capsys, path, *MODEL)
    assert f"{path}, record 1" in error
    for word in words:
        assert word in error


@pytest.mark.parametrize("digits", ["1" * 30, "1" * 400, "1" * 5000, "1e999", "-1e999"])
def test_a_number_that_nothing_can_hold(
    tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str], digits: str
) -> None:
    path = tmp_path / "huge.json"
    text = (DATA / "llama-bench-f32.json").read_text()
    path.write_text(text.replace("11127611259", digits), encoding="utf-8")
    error = refused(site_data, capsys, path, *MODEL)
    assert str(path) in error and digits[:20] in error
    assert len(error) < 500


def test_brackets_without_end(tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep.json"
    path.write_text('[{"build_commit": ' + "[" * 100_000, encoding="utf-8")
    assert "without end" in refused(site_data, capsys, path, *MODEL)


def test_nan_is_no_number(tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nan.json"
    for found, text in (("NaN", "NaN"), ("nan", "nan"), ("Infinity", "Infinity")):
        path.write_text(
            (DATA / "llama-bench-f32.json").read_text().replace("46.028211", text), encoding="utf-8"
        )
        assert found in refused(site_data, capsys, path, *MODEL)


@pytest.mark.parametrize("kept", [-2, -8, -200, -1000])
def test_a_cut_json_file(
    tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str], kept: int
) -> None:
    path = tmp_path / "cut.json"
    path.write_text((DATA / "llama-bench-f32.json").read_text()[:kept], encoding="utf-8")
    error = refused(site_data, capsys, path, *MODEL)
    assert f"{path}:" in error and "cut short" in error


@pytest.mark.parametrize("kept", [-4, -12, -40, -300])
def test_a_cut_last_line(
    tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str], kept: int
) -> None:
    for name, line in (("llama-bench-f32-pg.jsonl", 3), ("llama-bench-f32-pg.csv", 4)):
        path = tmp_path / name
        path.write_text((DATA / name).read_text()[:kept], encoding="utf-8")
        error = refused(site_data, capsys, path, *MODEL)
        assert f"{path}:{line}:" in error and "cut or damaged" in error


def test_a_cut_sql_file(tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.sql"
    path.write_text((DATA / "short.sql").read_text()[:-30], encoding="utf-8")
    error = refused(site_data, capsys, path, *MODEL)
    assert f"{path}:47:" in error and "cut short" in error


def test_a_csv_that_differs_from_its_header(
    tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(csv.reader((DATA / "llama-bench-f32-pg.csv").read_text().splitlines()))

    def write(rows: list[list[str]]) -> Path:
        text = io.StringIO()
        csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
        path = tmp_path / "changed.csv"
        path.write_text(text.getvalue(), encoding="utf-8")
        return path

    assert "n_promt" in refused(
        site_data, capsys, write([[c.replace("n_prompt", "n_promt") for c in rows[0]], *rows[1:]]), *MODEL
    )
    assert "once in the header" in refused(
        site_data, capsys, write([[c.replace("n_depth", "n_gen") for c in rows[0]], *rows[1:]]), *MODEL
    )
    assert ":2:" in refused(site_data, capsys, write([rows[0], rows[1][:-1]]), *MODEL)
    assert "stopped before" in refused(site_data, capsys, write([rows[0]]), *MODEL)
    column = rows[0].index("avg_ns")
    for bad in ("nan", "-1", "1e9", "", "99999999999999999999999"):
        spoiled = [rows[0], [*rows[1][:column], bad, *rows[1][column + 1 :]]]
        error = refused(site_data, capsys, write(spoiled), *MODEL)
        assert ":2, field avg_ns" in error


def test_joined_csv_files(tmp_path: Path, site_data: Path) -> None:
    path = tmp_path / "joined.csv"
    text = (DATA / "llama-bench-f32-pg.csv").read_text() + (DATA / "f16-bf16-busy-machine.csv").read_text()
    path.write_text(text, encoding="utf-8")
    assert bring_in(site_data, path, *MODEL) == 0
    assert len(written(site_data)) == 3


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("  stddev_ts REAL", "  stddev_ts REAL,\n  watts REAL", ["field watts", "nearest known"]),
        ("build_commit, build_number", "watts, build_number", ["no column named watts"]),
        ("INSERT INTO llama_bench (build_commit, ", "INSERT INTO llama_bench (", ["values for"]),
        (");\n\nINSERT", ");\nATTACH DATABASE 'x.db' AS x;\nINSERT", ["ATTACH", "not authorized"]),
        (");\n\nINSERT", ");\nDROP TABLE llama_bench;\nINSERT", ["DROP", "not authorized"]),
        (");\n\nINSERT", ");\nPRAGMA writable_schema=1;\nINSERT", ["PRAGMA", "not authorized"]),
        (");\n\nINSERT", ");\nCREATE TABLE other (a TEXT);\nINSERT", ["other", "not authorized"]),
        (");\n\nINSERT", ");\nSELECT load_extension('x');\nINSERT", ["not authorized"]),
        ("'0c1e570'", "(SELECT hex(randomblob(9)))", ["not authorized"]),
        ("'3337294644'", "'nan'", ["field avg_ns", "nan"]),
        ("'3337294644'", "9e999", ["field avg_ns"]),
        ("'AMD EPYC'", "NULL", ["field cpu_info", "found None"]),
    ],
)
def test_sql_may_fill_its_one_table_and_nothing_else(
    tmp_path: Path,
    site_data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    new: str,
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "changed.sql"
    text = (DATA / "short.sql").read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    error = refused(site_data, capsys, path, *MODEL)
    for word in [str(path), *words]:
        assert word in error
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["changed.sql"]


def test_a_file_of_nobody(tmp_path: Path, site_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    for content, words in (
        (b"", "an empty file"),
        (b"hello", "begins 'hello'"),
        (b"{}", "begins '{}'"),
        (b"[1, 2]", "begins"),
        (b"\xff\xfe[\x00", "UTF-16"),
        (b"\x80\x81", "UTF-8"),
    ):
        path.write_bytes(content)
        assert words in refused(site_data, capsys, path, *MODEL)
    assert "No such file" in refused(site_data, capsys, tmp_path / "none.json", *MODEL)
    assert "cannot be read" in refused(site_data, capsys, tmp_path, *MODEL)


def test_an_unknown_model_is_told_with_the_nearest(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(site_data, capsys, DATA / "short.sql", "--model", "qwen-2.5-1.5b")
    assert "nearest known: qwen2.5-1.5b" in error


def test_flags_for_what_the_file_states_are_refused(
    site_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(site_data, capsys, DATA / "short.sql", *MODEL, "--dtype", "float32")
    assert "leave out --dtype" in error


def test_a_full_disk_leaves_nothing(
    site_data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, count = Path.rename, [0]

    def fails_the_second_time(self: Path, target: Path) -> Path:
        count[0] += 1
        if count[0] == 2:
            raise OSError(28, os.strerror(28))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_the_second_time)
    error = refused(site_data, capsys, DATA / "f16-bf16-busy-machine.csv", *MODEL)
    assert "No space left" in error and "none of them was" in error
    assert count == [2]


def test_what_a_killed_import_left_is_cleared(site_data: Path) -> None:
    left = site_data / "unfinished" / record.STAGING / "20260101-half"
    left.mkdir(parents=True)
    (left / "run.json").write_text("{", encoding="utf-8")
    assert main(["list", "--site-data", str(site_data)]) == 0
    assert bring_in(site_data, DATA / "short.sql", *MODEL) == 0
    assert not left.exists()


# For any input


@given(st.integers(0, 2**31), st.integers(1, 2**31))
def test_the_mean_depth_lies_between_the_ends(depth: int, generated: int) -> None:
    mean = mean_depth(depth, generated)
    assert max(1, depth) <= mean <= max(1, depth + generated - 1)
    assert mean == 1 or abs(mean - (depth + (generated - 1) / 2)) <= 0.5


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_read_rightly_or_refused(data: st.DataObject) -> None:
    """Whatever is cut out of a file or put into it: the numbers that come out stand in it, or there is an error."""
    name = data.draw(st.sampled_from(["llama-bench-f32.json", "llama-bench-f32-pg.jsonl", "short.sql"]))
    text = (DATA / name).read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 40, len(text))))
    damaged = text[:start] + data.draw(st.text(max_size=5)) + text[end:]
    format_ = format_of(damaged)
    if format_ is None or format_ == "md":
        return
    try:
        for fields in records(damaged, format_, name):
            assert fields.where.startswith(name)
            fields.integer("avg_ns", least=1)
    except MeasureError as error:
        assert name in str(error)


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_contract(tmp_path_factory.mktemp("any") / "site_data")


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60, deadline=None)
@given(
    field=st.sampled_from(sorted(json.loads((DATA / "llama-bench-f32.json").read_text())[0])),
    value=st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=5,
    ),
)
def test_any_value_in_any_field_is_imported_as_the_contract_has_it_or_refused(
    contract: Path, field: str, value: object
) -> None:
    from measure import foreign, foreign_files
    from measure.check import Checker
    from measure.optimum_config import Said

    path = contract.parent / "any.json"
    tests = real()
    tests[0][field] = value
    path.write_text(json.dumps(tests), encoding="utf-8")
    try:
        files = foreign_files.read([path], contract, "qwen2.5-1.5b", Said())
    except MeasureError as error:
        assert "record 1" in str(error) or "any.json" in str(error)
        return
    folders = foreign.write(foreign.Asked(contract, "qwen2.5-1.5b", "unknown", ("import",)), files)
    try:
        for folder in folders:
            assert not list(Checker(contract).run_problems(folder))
            assert str(ROOT) not in (folder / "run.json").read_text()
    finally:
        for folder in folders:
            for item in folder.iterdir():
                item.unlink()
            folder.rmdir()
