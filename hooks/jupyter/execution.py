"""Executing notebooks, in processes beside the build. Decides neither which, nor what becomes of their outputs.

mkdocs-jupyter executes a notebook and makes its outputs HTML (`hooks.jupyter.nursery`), while the build renders pages.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from hooks.caching.opened import BEGUN, Seen
from hooks.errors import Place, PublishError, Report
from hooks.files import replace_text

_ROOT = Path(__file__).resolve().parents[2]

SITE_DATA = "SPLICED_SITE_DATA"
QUANTITIES = "SPLICED_QUANTITIES"
KEPT = "SPLICED_CACHE"
"""Environment variables by which the cells of a notebook find what the pages read, and what is kept between builds."""


_SETTINGS = {
    "NotebookClient": {
        "kernel_manager_class": "hooks.jupyter.kernels.Manager",
        "shutdown_kernel": "immediate",
    },
    "HistoryManager": {"enabled": False},
}
"""What mkdocs-jupyter reads when it executes a notebook, for itself and for the kernel."""


@dataclass(frozen=True)
class Executed:
    """A notebook that ran: the HTML of each code cell's output by the cell's number, and what it read."""

    outputs: Mapping[int, str]
    reads: Seen


def environment(memory: Path, site_data: Path, quantities: Path, kept: Path | None = None) -> dict[str, str]:
    """The environment of notebooks, and none of the settings of whoever builds.

    Args:
        memory: The folder that outlives builds; settings are written into one in it.
        site_data: The data.
        quantities: quantities.toml.
        kept: Where results are kept between builds.
    """
    folder = memory / "ipython"
    path, text = folder / "jupyter/jupyter_nbconvert_config.json", json.dumps(_SETTINGS)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        replace_text(path, text)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {
        # More threads for algebra take a tenth of a second to start, and may give other digits on other machines.
        "OPENBLAS_NUM_THREADS": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # as IPython has it
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, dict.fromkeys([str(_ROOT), *paths]))),
        "IPYTHONDIR": str(folder),
        "JUPYTER_CONFIG_DIR": str(folder / "jupyter"),
        "JUPYTER_DATA_DIR": str(folder / "jupyter"),
        SITE_DATA: str(site_data),
        QUANTITIES: str(quantities),
        KEPT: str(kept or ""),
        BEGUN: str(time.time_ns()),
        "PYTHONHASHSEED": "0",  # sets print in one order
        "NBCONVERT_DISABLE_CONFIG_EXPORTERS": "1",  # else nbconvert tries each of its exporters when it is imported
    }


class Execution:
    """A process that executes notebooks. It starts at once, and imports what they import until it is given some.

    Args:
        environment: Of the notebooks.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._notebooks: Mapping[Path, str] = {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hooks.jupyter.nursery"],
            cwd=_ROOT,
            env=environment,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._ended: SimpleQueue[tuple[Path, Executed | PublishError]] = SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Whether it reads what notebooks in this environment read."""
        return all(self._environment[name] == environment[name] for name in (SITE_DATA, QUANTITIES, KEPT))

    def begin(self, notebooks: Mapping[Path, str]) -> None:
        """Begin to execute notebooks: their files, and what errors call them. Returns at once; for once only."""
        assert self._process.stdin is not None
        self._notebooks = notebooks
        jobs = [[str(path), name] for path, name in notebooks.items()]
        since = {name: value for name, value in os.environ.items() if name not in self._environment}
        wanted = {"environment": since, "jobs": jobs}
        with suppress(OSError):  # it died: the listener tells
            self._process.stdin.write(json.dumps(wanted) + "\n")
            self._process.stdin.flush()
        self._listener.start()

    def ended(self, *, wait: bool) -> tuple[Path, Executed | PublishError] | None:
        """The next notebook that ended, and what became of it; one comes for each notebook.

        Args:
            wait: Where none has ended, wait until one has. Otherwise None is returned.
        """
        try:
            return self._ended.get(block=wait)
        except Empty:
            return None

    def _listen(self) -> None:
        assert self._process.stdout is not None
        left = dict(self._notebooks)
        with suppress(ValueError):
            for line in self._process.stdout:
                result = json.loads(line)
                path = Path(result["path"])
                del left[path]
                if "error" in result:
                    self._ended.put((path, _error(result["error"])))
                    continue
                outputs = {int(number): html for number, html in result["outputs"].items()}
                self._ended.put((path, Executed(outputs, result["reads"])))
        code = self._process.wait()
        for path, name in left.items():
            error = PublishError(
                "the notebook did not run to its end",
                place=Place(name),
                expected="a process that executes notebooks and stays alive",
                found=f"exit code {code}; what it printed stands above",
                mend="`make clean` and `make site` set everything up anew",
            )
            self._ended.put((path, error))

    def close(self) -> None:
        """End the process, and those of notebooks that still run."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._listener.ident is not None:
            self._listener.join()
        with suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()


def _error(parts: dict[str, Any]) -> PublishError:
    for name in ("place", "used_at"):
        parts[name] = Place(**parts[name]) if parts[name] else None
    parts["values"] = tuple(parts["values"])
    error = PublishError(parts["what"])
    error.report = Report(**parts)
    return error
