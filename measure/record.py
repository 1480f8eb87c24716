"""Run folders on disk: begin, append, resume, finish. Decides nothing about what is measured.

A run grows in site_data/unfinished/ and is moved to site_data/runs/ in one step when it is complete, so
that whatever stands in runs/ is whole. Samples are appended one line each and flushed to the disk before
the next is taken: a run that is killed loses the sample in progress and nothing else.
"""

from __future__ import annotations

import difflib
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure.errors import MeasureError, UsageError
from measure.plan import Cell

SCHEMA_VERSION = 2
READABLE_VERSIONS = (1, 2)
"""Runs of these versions are read: all that a later one added is optional."""
STAGING = ".staging"
"""Where runs are written that appear at once; a folder that no command lists."""

CELL_FIELDS = tuple(Cell.__dataclass_fields__)

Json = dict[str, Any]


class RunRecord:
    """One run that is being written. Make one with `begin` or `resume`."""

    def __init__(self, site_data: Path, run: Json, samples: list[Json]) -> None:
        self.run = run
        self.samples = samples
        self._site_data = site_data
        self._folder = unfinished_folder(site_data) / str(run["run_id"])

    @classmethod
    def begin(cls, site_data: Path, run: Json) -> RunRecord:
        """Start the folder of a new run.

        Raises MeasureError when it cannot be written; nothing stays behind then.
        """
        record = cls(site_data, run, [])
        folder = record._folder
        try:
            folder.mkdir(parents=True)
            _write_json(folder / "run.json", run)
            (folder / "samples.jsonl").touch()
            _flush_folder(folder)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise MeasureError(
                f"{folder}: the run cannot begin ({error.strerror}). Make room there, or name another "
                "folder with --site-data"
            ) from error
        return record

    @classmethod
    def resume(cls, site_data: Path, run_id: str) -> RunRecord:
        """Open an unfinished run again; a last line that a kill cut short is dropped."""
        folder = unfinished_folder(site_data) / run_id
        if not folder.is_dir():
            raise UsageError(_no_such_run(site_data, run_id))
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        path = folder / "samples.jsonl"
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with path.open("r+b") as file:
                file.truncate(len(whole))
        samples = []
        for number, line in enumerate(whole.decode("utf-8").splitlines(), start=1):
            try:
                samples.append(json.loads(line))
            except ValueError as error:
                raise MeasureError(
                    f"{path}:{number}: expected one sample as JSON, found {line[:80]!r}. Only the last line "
                    "of a killed run may be torn; remove this line by hand if its sample may be lost"
                ) from error
        return cls(site_data, run, samples)

    @property
    def run_id(self) -> str:
        """Name of the run and of its folder."""
        return str(self.run["run_id"])

    def append(self, sample: Json) -> None:
        """Write one sample and see it reach the disk.

        Raises MeasureError when it cannot be written; what was written before stays whole.
        """
        line = json.dumps(sample, allow_nan=False, ensure_ascii=False) + "\n"
        path = self._folder / "samples.jsonl"
        try:
            with path.open("ab", buffering=0) as file:
                size = file.tell()
                try:
                    _write_all(file.fileno(), line.encode("utf-8"))
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(size)  # no torn line stays behind
                    raise
        except OSError as error:
            raise _cannot_write(path, error, self.run_id) from error
        self.samples.append(sample)

    def save(self) -> None:
        """Write run.json as it stands."""
        try:
            _write_json(self._folder / "run.json", self.run)
        except OSError as error:
            raise _cannot_write(self._folder / "run.json", error, self.run_id) from error

    def finish(self, finished_at: str, left_out: list[Json]) -> Path:
        """Complete the run and move it to where it is published; returns its folder."""
        self.run["plan"]["left_out"] = left_out
        self.run["samples"] = len(self.samples)
        self.run["finished_at"] = finished_at
        self.run["status"] = "complete"
        self.save()
        target = runs_folder(self._site_data) / self.run_id
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            raise MeasureError(f"{target}: already there; a run folder is written once and never changed")
        self._folder.rename(target)
        _flush_folder(target.parent)
        return target


def write_complete(
    site_data: Path, runs: Sequence[tuple[Json, list[Json]]], hold: Callable[[Path], None]
) -> list[Path]:
    """Write runs that are complete from the start, all of them or none; returns their folders.

    They are written beside each other out of sight, each is given to `hold`, which raises where it is not as it should
    be, and only then they are moved to where runs are published.
    """
    staging = unfinished_folder(site_data) / STAGING
    shutil.rmtree(staging, ignore_errors=True)  # of an import that was killed
    targets = [runs_folder(site_data) / str(run["run_id"]) for run, _ in runs]
    for target in targets:
        if target.exists():
            raise MeasureError(f"{target}: already there; a run folder is written once and never changed")
    try:
        for run, samples in runs:
            folder = staging / str(run["run_id"])
            folder.mkdir(parents=True)
            _write_json(folder / "run.json", run)
            lines = "".join(json.dumps(s, allow_nan=False, ensure_ascii=False) + "\n" for s in samples)
            with (folder / "samples.jsonl").open("w", encoding="utf-8") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
            hold(folder)
        moved: list[Path] = []
        runs_folder(site_data).mkdir(parents=True, exist_ok=True)
        try:
            for target in targets:
                (staging / target.name).rename(target)
                moved.append(target)
        except OSError:
            for target in moved:
                shutil.rmtree(target)
            raise
        _flush_folder(runs_folder(site_data))
    except OSError as error:
        raise MeasureError(
            f"{site_data}: the runs could not be written ({error.strerror}); none of them was. Make room there, or "
            "name another folder with --site-data"
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return targets


def runs_folder(site_data: Path) -> Path:
    """Where complete runs are."""
    return site_data / "runs"


def unfinished_folder(site_data: Path) -> Path:
    """Where runs grow; never published, not in git."""
    return site_data / "unfinished"


def run_folders(site_data: Path) -> list[Path]:
    """All run folders, complete ones first, each kind in order of time."""
    return [
        path
        for parent in (runs_folder(site_data), unfinished_folder(site_data))
        for path in sorted(parent.glob("*"))
        if path.is_dir() and not path.name.startswith(".")
    ]


def load(site_data: Path, run_id: str) -> tuple[Json, list[Json]]:
    """(run, samples) of the run called `run_id`, or whose id alone begins so."""
    folder = find(site_data, run_id)
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        lines = (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
        return run, [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise MeasureError(
            f"{folder}: cannot be read ({error}); `python -m measure check` says file and line"
        ) from error


def find(site_data: Path, run_id: str) -> Path:
    """The folder of the run called `run_id`, or whose id alone begins so; its path, as runs print it, is a name too.

    Raises UsageError with the nearest known where there is none, or more than one.
    """
    found = [p for p in run_folders(site_data) if p.name == run_id or p.resolve() == Path(run_id).resolve()]
    found = found or [p for p in run_folders(site_data) if p.name.startswith(run_id)]
    if len(found) != 1:
        raise UsageError(_no_such_run(site_data, run_id))
    return found[0]


def cell_of(sample: Json) -> Cell:
    """The cell that a sample belongs to."""
    return Cell(**{field: sample[field] for field in CELL_FIELDS})


@contextmanager
def only_run(site_data: Path) -> Iterator[None]:
    """Hold the place of the one run that may write into `site_data`: two at once would disturb each other."""
    folder = unfinished_folder(site_data)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("a+")
    except OSError as error:
        raise MeasureError(f"{folder}: cannot be written ({error.strerror})") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise MeasureError(
                f"another run is measuring into {site_data} (process {file.read().strip() or 'unknown'}); "
                "two at once would disturb each other. Wait until it ends, or stop it"
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def resume_command(site_data: Path, run_id: str) -> str:
    """The command that finishes an unfinished run."""
    where = "" if site_data == Path("site_data") else f" --site-data {site_data}"
    return f"python -m measure run --resume {run_id}{where}"


def _no_such_run(site_data: Path, run_id: str) -> str:
    names = [p.name for p in run_folders(site_data)]
    listing = "".join(f"\n  {name}" for name in names) or " none"
    near = difflib.get_close_matches(run_id, names, 1)
    nearest = f"nearest known: {near[0]}; " if near else ""
    return f"no single run {run_id!r} in {site_data}; {nearest}there are:{listing}"


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _write_json(path: Path, data: Json) -> None:
    """Replace `path` in one step, so that a kill leaves the old file or the new one."""
    beside = path.with_suffix(".new")
    text = json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cannot_write(path: Path, error: OSError, run_id: str) -> MeasureError:
    free = shutil.disk_usage(path.parent).free
    site_data = path.parent.parent.parent
    return MeasureError(
        f"{path}: cannot be written ({error.strerror}; {free / 1e6:.1f} MB free on that disk). "
        f"All samples until now are kept. Make room, then: {resume_command(site_data, run_id)}"
    )
