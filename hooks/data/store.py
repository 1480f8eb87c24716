"""All of site_data/ in memory: the layout of the folder, and nothing that is not in it. Computes no statistic.

What is wrong in a file is an error with file, line and field. Nothing is skipped: a file that has no place
in the contract is an error too. `unfinished/` is never opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hooks.caching.cache import Cache
from hooks.data import runs
from hooks.data.contract import Contract
from hooks.data.records import Record, Run
from hooks.errors import Place, PublishError

_KNOWN_FOLDERS = {"runs", "models", "cited", "tokenizers", "unfinished"}
_KNOWN_FILES = {"schema.json", "ledger.jsonl", "datapackage.json", "README.md"}


@dataclass(frozen=True)
class Store:
    """All of site_data/. `incomplete` holds the runs whose samples.jsonl lost or gained lines."""

    folder: Path
    runs: Mapping[str, Run]
    models: Mapping[str, Record]
    cited: Mapping[str, Record]
    tokenizers: Mapping[str, Record]
    incomplete: tuple[PublishError, ...]


def load(folder: Path, kept: Cache | None = None) -> Store:
    """Read and check all of site_data/; what `kept` holds was checked when it was put there.

    A wrong number of samples is not raised but kept in `Store.incomplete`: the build reports it beside the
    pages that miss a quantity, which say more.

    Raises:
        PublishError: Anything else that is not as schema.json has it.
    """
    if not folder.is_dir():
        raise PublishError(
            f"there is no folder {folder.name}/",
            place=Place(str(folder)),
            expected="schema.json, runs/, models/, cited/, tokenizers/",
            mend="`git checkout -- site_data` brings the committed data back; `make measure` measures this machine",
        )
    _refuse_strangers(folder)
    contract = Contract(folder / "schema.json", kept)
    incomplete: list[PublishError] = []
    return Store(
        folder=folder,
        runs={run.id: run for run in runs.read_all(folder / "runs", contract, incomplete, kept)},
        models=dict(_records(folder, "models", "*.json", "model", contract)),
        cited=dict(_records(folder, "cited", "*.json", "cited", contract)),
        tokenizers=dict(_records(folder, "tokenizers", "*/origin.json", "tokenizer", contract)),
        incomplete=tuple(incomplete),
    )


def _refuse_strangers(folder: Path) -> None:
    for entry in sorted(folder.iterdir()):
        known = _KNOWN_FOLDERS if entry.is_dir() else _KNOWN_FILES
        if entry.name not in known and not entry.name.startswith("."):
            raise PublishError(
                "this has no place in the data contract",
                place=Place(str(entry)),
                expected=", ".join(sorted(known)),
                mend="move it out of site_data/",
            )


def _records(
    folder: Path, part: str, pattern: str, kind: str, contract: Contract
) -> Iterator[tuple[str, Record]]:
    files = sorted((folder / part).glob(pattern))
    if part != "tokenizers":
        strangers = {item for item in (folder / part).glob("*") if not item.name.startswith(".")} - set(files)
        for stranger in sorted(strangers):
            raise PublishError(
                f"this has no place in {part}/",
                place=Place(str(stranger)),
                expected=f"{part}/NAME.json",
                mend="move it out of site_data/",
            )
    for path in files:
        record = contract.record(path, kind)
        expected = path.parent.name if part == "tokenizers" else path.stem
        if record["name"] != expected:
            raise PublishError(
                "the record's name is not its file's",
                place=Place(str(path)),
                expected=expected,
                found=record["name"],
                mend=f'write "name": "{expected}", or rename the file',
            )
        if part == "cited":
            _refuse_twice(record, path)
        yield expected, record


def _refuse_twice(source: Record, path: Path) -> None:
    """One name, one value: of two under one name a page could show either."""
    names = [value["name"] for value in source["values"]]
    for name in names:
        if names.count(name) > 1:
            raise PublishError(
                f"two values are named `{name}`",
                place=Place(str(path)),
                expected="each name once",
                found="; ".join(str(value["value"]) for value in source["values"] if value["name"] == name),
                mend="give one of them another name",
            )


@lru_cache(maxsize=8)
def _loaded(folder: Path, state: tuple[tuple[str, int, int], ...], kept: Cache | None) -> Store:
    return load(folder, kept)


def load_cached(folder: Path, kept: Cache | None = None) -> Store:
    """`load`, skipped while no file of the folder has changed (name, size and time in nanoseconds)."""
    unfinished = folder / "unfinished"
    files = sorted(path for path in folder.rglob("*") if unfinished not in path.parents and path.is_file())
    state = tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    return _loaded(folder, state, kept)
