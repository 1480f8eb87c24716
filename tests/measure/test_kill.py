"""SIGKILL at random moments: what was complete stays, no line is torn, and the resumed run is whole."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.measure.conftest import ROOT, Command
from tests.measure.test_run import assert_all_taken, start_and_wait_for_samples

KILLS = 50


class Killed:
    """Runs of one plan, started by `module` and killed again and again."""

    def __init__(self, module: str, site_data: Path) -> None:
        self._command = [sys.executable, "-m", module, "run", "--site-data", str(site_data)]
        self._unfinished = site_data / "unfinished"
        self._runs = site_data / "runs"
        self._whole = b""
        self.kills = 0
        self.kills_after_samples = 0
        self.processes_beyond_plan = 0

    def start(self) -> subprocess.Popen[str]:
        """Begin a run, or resume the one that was killed."""
        run_id = self._run_id()
        arguments = ["--resume", run_id] if run_id else ["--model", "tiny", "--plan", "quick"]
        return subprocess.Popen(
            [*self._command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
        )

    def kill_at_a_sample(self, later_s: float) -> float:
        """Kill it that long after it has written a sample. Returns how long that took on this machine, as busy as it
        is."""
        began = time.monotonic()
        process = self.start()
        while process.poll() is None and self._written() <= len(self._whole):
            time.sleep(0.005)
        seconds = time.monotonic() - began
        self._kill(process, later_s)
        return seconds

    def kill_after(self, seconds: float) -> None:
        """Kill it that long after its start."""
        self._kill(self.start(), seconds)

    def _kill(self, process: subprocess.Popen[str], after_s: float) -> None:
        """Kill it at that moment, and look at what is on the disk. A run that ends before is looked at whole."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=after_s)
        process.send_signal(signal.SIGKILL)
        said, _ = process.communicate()
        if process.returncode == 0:
            self._look_at_complete()
            return
        assert process.returncode == -signal.SIGKILL, said
        self.kills += 1
        if self._run_id() is None and len(self._whole):
            self._look_at_complete()  # killed between its last step and its end
        else:
            self.look()

    def look(self) -> None:
        """All that was whole before is still there; of what is new, only the last line may be torn."""
        run_id = self._run_id()
        if run_id is None:
            assert not self._whole
            return
        content = (self._unfinished / run_id / "samples.jsonl").read_bytes()
        assert content.startswith(self._whole)
        whole = content[: content.rfind(b"\n") + 1]
        self.kills_after_samples += len(whole) > len(self._whole)
        self._whole = whole
        for line in whole.splitlines():
            json.loads(line)
        json.loads((self._unfinished / run_id / "run.json").read_text(encoding="utf-8"))

    def finish(self) -> None:
        """Let it end."""
        process = self.start()
        said, _ = process.communicate(timeout=240)
        assert process.returncode == 0, said
        self._look_at_complete()

    def _look_at_complete(self) -> None:
        """The newest run is whole, with all that was on the disk before."""
        folder = max(self._runs.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        assert self._run_id() is None
        content = (folder / "samples.jsonl").read_bytes()
        assert content.startswith(self._whole) and content.endswith(b"\n")
        self._whole = b""
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        assert_all_taken(run, [json.loads(line) for line in content.decode().splitlines()])
        self.processes_beyond_plan += len(run["processes"]) - run["plan"]["rounds"]

    def _written(self) -> int:
        """Bytes of the unfinished run's samples."""
        return max((p.stat().st_size for p in self._unfinished.glob("*/samples.jsonl")), default=0)

    def _run_id(self) -> str | None:
        """The unfinished run's id, once its folder has its description."""
        found = [p.parent.name for p in self._unfinished.glob("*/run.json")]
        assert len(found) <= 1
        return found[0] if found else None


def test_fifty_kills_cost_nothing_that_was_complete(site_data: Path, measure: Command) -> None:
    moments = random.Random(20)
    runs = Killed("tests.measure.fast_worker", site_data)
    first_s = runs.kill_at_a_sample(0.0)
    while runs.kills < KILLS:
        if runs.kills % 2:
            runs.kill_after(moments.uniform(0.1, 1.5) * first_s)
        else:
            first_s = runs.kill_at_a_sample(moments.uniform(0.0, 0.5) * first_s)
    runs.finish()
    assert runs.kills_after_samples > KILLS / 4, (
        "most kills came before the first sample: they showed nothing"
    )
    assert runs.processes_beyond_plan > KILLS / 4
    checked = measure("check", "--site-data", str(site_data))
    assert checked.returncode == 0, checked.stderr


@pytest.mark.slow
def test_kills_of_a_real_run(site_data: Path, measure: Command) -> None:
    run = Killed("measure", site_data)
    process = start_and_wait_for_samples(measure, site_data, 5)
    process.kill()
    process.communicate()
    run.look()
    run.kill_after(1.0)  # while torch is imported
    run.finish()
    checked = measure("check", "--site-data", str(site_data))
    assert checked.returncode == 0, checked.stderr


def test_a_process_killed_while_it_checks_a_mode_settles_that_mode(
    site_data: Path, fast_measure: Command, measure: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIE_AT_CHECK", "1")
    done = fast_measure("run", "--model", "tiny", "--plan", "quick", "--site-data", str(site_data))
    assert done.returncode == 0, done.stderr
    (folder,) = (site_data / "runs").iterdir()
    samples = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    compiled = [s for s in samples if s["experiment"] == "decode" and s["mode"] == "compiled"]
    assert len(compiled) == 2 and all(s["refusal"]["kind"] == "did_not_fit" for s in compiled)
    assert "killed while it checked the mode compiled" in compiled[0]["refusal"]["reason"]
    assert any(s["experiment"] == "decode" and s["mode"] == "eager" and s["duration_s"] for s in samples)
    assert measure("check", "--site-data", str(site_data)).returncode == 0
