"""Files of other programs: opened, told apart by their content, given to who can read them. Understands no record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from measure import llama_bench, llama_bench_files, optimum_benchmark
from measure.errors import MeasureError, UsageError
from measure.foreign import ForeignRun
from measure.optimum_config import Said
from measure.sizes import Sizes, known_models

LARGEST_BYTES = 64 * 2**20
"""No results are as long as that; something else was meant."""


def read(
    paths: Sequence[Path], site_data: Path, model: str, said: Said
) -> list[tuple[Path, bytes, list[ForeignRun]]]:
    """(file, its content, its runs) for each of `paths`.

    Raises UsageError for a file or a model that is not there, MeasureError for what cannot be read as a whole.
    """
    sizes = Sizes.load(site_data, model)
    known = [Sizes.load(site_data, name) for name in known_models(site_data)]
    found = []
    for path in paths:
        content = _content(path)
        found.append((path, content, _runs(path, content, sizes, known, said)))
    return found


def _runs(path: Path, content: bytes, sizes: Sizes, known: Sequence[Sizes], said: Said) -> list[ForeignRun]:
    name = str(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        encoding = (
            "UTF-16, as PowerShell's > writes it" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else str(error)
        )
        raise MeasureError(
            f"{name}: expected text in UTF-8, found {encoding}; write the file again, or convert it"
        ) from error
    format_ = llama_bench_files.format_of(text)
    if format_:
        if said != Said():
            raise UsageError(
                f"{name}: a file of llama-bench states its dtype, prompts and dates; leave out --dtype, "
                "--prompt-tokens and --date"
            )
        records = llama_bench_files.records(text, format_, name)
        return llama_bench.runs(records, format_, sizes, known)
    if optimum_benchmark.is_report(text):
        return optimum_benchmark.runs(text, name, sizes, said)
    raise MeasureError(
        f"{name}: expected a file of llama-bench (json, jsonl, csv, sql) or optimum-benchmark (benchmark.json, "
        f"benchmark_report.json), found {_beginning(text)}"
    )


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise MeasureError(
                f"{path}: expected at most {LARGEST_BYTES:,} bytes, found {path.stat().st_size:,}"
            )
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error


def _beginning(text: str) -> str:
    start = text.strip()[:60]
    return f"a text that begins {start!r}" if start else "an empty file"
