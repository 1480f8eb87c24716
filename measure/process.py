"""A fresh worker process as the session sees it: start, ask, close. The other end is worker.py."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from measure.clock import utc_now
from measure.errors import MeasureError
from measure.plan import Cell
from measure.record import Json

WORKER = [sys.executable, "-m", "measure.worker"]
LAST_WORDS = 15
"""Lines of a dead process's standard error that are worth showing."""


class ProcessDied(Exception):
    """The worker ended before it was asked to."""

    def __init__(self, message: str, *, killed: bool, cell: Cell | None, process: WorkerProcess) -> None:
        super().__init__(message)
        self.killed = killed
        self.cell = cell
        self.process = process


class WorkerProcess:
    """One `python -m measure.worker`, in a session of its own so that Ctrl-C reaches the parent only."""

    def __init__(self, job: Json) -> None:
        self.number = 0
        """Its place among the processes of the run; the session gives it."""
        self.opened_s = time.monotonic()
        self.started_at = utc_now()
        self.started: Json = {}
        self.built: Json = {}
        self._cell: Cell | None = None
        self._words = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 closed in close()
        self._process = subprocess.Popen(
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            text=True,
            encoding="utf-8",
            cwd=Path.cwd(),
            start_new_session=True,
        )
        self._send(job)

    def wait_started(self) -> Json:
        """What the worker found: machine, software, code, dtype."""
        self.started = self._receive()
        return self.started

    def wait_built(self) -> Json:
        """What the worker built: model, weights, meter."""
        self.built = self._receive()
        return self.built

    def measure(self, cell: Cell, steps: int, *, probe: bool) -> Json:
        """One answer: an event `sample` or `refused`. `probe`: measure the ceilings beside the window, too."""
        self._cell = cell
        self._send({"cell": vars(cell), "steps": steps, "probe": probe})
        answer = self._receive()
        self._cell = None
        return answer

    def check_mode(self, cell: Cell) -> Json:
        """Check the mode of `cell`, at its depth: an event `mode_check` with run.json's `check`, or `refused`."""
        self._cell = cell
        self._send({"check_mode": cell.mode, "context_tokens": cell.length})
        answer = self._receive()
        self._cell = None
        return answer

    def close(self) -> None:
        """End the process, in the middle of a window if need be."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._words):
            if stream:
                with suppress(BrokenPipeError):
                    stream.close()

    def _send(self, message: Json) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._death() from error

    def _receive(self) -> Json:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise self._death()
        event: Json = json.loads(line)
        if event["event"] == "error":
            error = MeasureError(event["message"])
            error.exit_code = event["exit_code"]
            raise error
        return event

    def _death(self) -> ProcessDied:
        code = self._process.wait()
        self._words.seek(0)
        words = self._words.read().splitlines()[-LAST_WORDS:]
        message = f"the measuring process ended with code {code}" + "".join(f"\n  {word}" for word in words)
        return ProcessDied(message, killed=code == -signal.SIGKILL, cell=self._cell, process=self)
