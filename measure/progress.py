"""How far a run is and how long it still takes: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

SHOW_AFTER_S = 2.0
PLAIN_EVERY_S = 15.0


class ProgressReport:
    """Shows `update`s. Use as a context manager."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._began = time.monotonic()
        self._spoke_at = self._began
        self._stage = ""
        self._bar: Progress | None = None
        if self._stream.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"),
                console=Console(file=self._stream),
                transient=True,
            )
            self._task = self._bar.add_task("starting", total=None, left="")

    def __enter__(self) -> ProgressReport:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, stage: str, detail: str, done: int, total: int, left_s: float | None) -> None:
        """In `stage`, `done` of `total` windows are taken; about `left_s` seconds are left, None: not known yet.

        Plain lines come with each new stage, and within one every `PLAIN_EVERY_S` seconds.
        """
        left = f"about {duration(left_s)} left" if left_s is not None else "time left not known yet"
        text = ", ".join(filter(None, (stage, detail)))
        if self._bar:
            self._bar.update(self._task, description=text, completed=done, total=total or None, left=left)
            return
        now = time.monotonic()
        due = stage != self._stage or now - self._spoke_at >= PLAIN_EVERY_S
        if due and now - self._began >= SHOW_AFTER_S:
            windows = f"{done} of {total} windows, " if total else ""
            print(f"{text}: {windows}{left}", file=self._stream, flush=True)
            self._spoke_at, self._stage = now, stage

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            print(line, file=self._stream, flush=True)


def duration(seconds: float) -> str:
    """A length of time for people: 42 s, 3 min, 1 h 20 min."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
