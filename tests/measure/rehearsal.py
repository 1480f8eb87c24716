"""The whole GPU campaign acted on a machine without a GPU: the real command, the real pynvml, a driver that acts.

The model runs on the CPU, in bfloat16, with a graph's capture replaced by calling its step again; plan, budget,
processes, meter, gates, records and pages are those of a real run. Its figures mean nothing: the contract refuses them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fake_nvml import fake_driver

ROOT = Path(__file__).resolve().parents[2]
ACTED_CARD = "waveform=1,low_watts=120,high_watts=600,period_s=0.7,tick_s=0.1,own_listed=0,own_bytes=0"
"""Settings of fake_nvml.c: a power that steps, and nobody on the card, since no process here has a context."""


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal left."""

    code: int
    said: str
    took_s: float
    folder: Path

    def run(self) -> dict[str, Any]:
        """Its run.json."""
        data: dict[str, Any] = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
        return data

    def samples(self) -> list[dict[str, Any]]:
        """Its samples."""
        lines = (self.folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def rehearse(library: Path, site_data: Path, *, model: str, budget: str) -> Rehearsed:
    """`python -m measure run --plan gpu --budget BUDGET` with the driver in the folder of `library`."""
    command = [sys.executable, "-m", "measure", "run", "--plan", "gpu", "--budget", budget, "--model", model]
    command += ["--device", f"rehearsal:{fake_driver.UUID}", "--site-data", str(site_data)]
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(library.parent),
        "FAKE_NVML": ACTED_CARD,
        "OMP_NUM_THREADS": "1",
    }
    began = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    took_s = time.monotonic() - began
    folders = sorted((site_data / "runs").glob("*"))
    return Rehearsed(
        done.returncode, done.stdout + done.stderr, took_s, folders[-1] if folders else site_data
    )
