"""Executing notebooks, in a process beside the build. Decides neither which, nor what becomes of their outputs.

mkdocs-jupyter executes a notebook and makes its outputs HTML. It and what it needs take half a second to be
imported, and a notebook mostly waits for its kernel; so all of that happens in one process of its own, with a thread
for each notebook, while the build renders pages.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from hooks.caching.opened import BEGUN, Seen
from hooks.errors import Place, PublishError, Report
from hooks.files import replace_text
from hooks.jupyter.nursery import CAN_FORK, Nursery

_ROOT = Path(__file__).resolve().parents[2]

TEMPLATES = Path(__file__).resolve().parent
"""The folder with the template by which mkdocs-jupyter makes HTML of a notebook."""

SITE_DATA = "SPLICED_SITE_DATA"
QUANTITIES = "SPLICED_QUANTITIES"
KEPT = "SPLICED_CACHE"
"""Environment variables by which the cells of a notebook find what the pages read, and what is kept between builds."""


_OF_MKDOCS_JUPYTER = {
    "NotebookClient": {
        "kernel_manager_class": "hooks.jupyter.kernels.Manager",
        "shutdown_kernel": "immediate",
    },
}
"""The settings that mkdocs-jupyter reads when it executes a notebook."""


@dataclass(frozen=True)
class Executed:
    """A notebook that ran: the HTML of each code cell's output by the cell's number, and what it read."""

    outputs: Mapping[int, str]
    reads: Seen


def environment(folder: Path, site_data: Path, quantities: Path, kept: Path | None = None) -> dict[str, str]:
    """The environment of the kernels, with a profile of their own in `folder`, made here.

    Without it they would run the start-up files and settings of whoever builds the site.
    """
    settings = {
        "IPKernelApp": {
            "log_level": "ERROR",
            "exec_lines": [f"from hooks.caching import opened; opened.watch({str(folder)!r}); del opened"],
        },
        "HistoryManager": {"hist_file": ":memory:"},
    }
    for name, content in (
        ("profile_default/ipython_kernel_config.json", settings),
        ("jupyter/jupyter_nbconvert_config.json", _OF_MKDOCS_JUPYTER),
    ):
        path, text = folder / name, json.dumps(content)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            replace_text(path, text)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {
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
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # the debugger of kernels, which nobody uses, would warn of its limits
    }


class Execution:
    """Notebooks being executed.

    Args:
        notebooks: Their files, and what errors call them.
        environment: Of the kernels.
    """

    def __init__(self, notebooks: Mapping[Path, str], environment: Mapping[str, str]) -> None:
        self._notebooks = notebooks
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hooks.jupyter.execution"],
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert self._process.stdin is not None
        jobs = [[str(path), name] for path, name in notebooks.items()]
        self._process.stdin.write(json.dumps(jobs) + "\n")
        self._process.stdin.flush()
        self._ended: SimpleQueue[tuple[Path, Executed | PublishError]] = SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
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
        """End the process and its kernels."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()  # the process ends with its input, and the kernels end with it
        self._process.wait()
        self._listener.join()
        self._process.stdout.close()


def _error(parts: dict[str, Any]) -> PublishError:
    for name in ("place", "used_at"):
        parts[name] = Place(**parts[name]) if parts[name] else None
    parts["values"] = tuple(parts["values"])
    error = PublishError(parts["what"])
    error.report = Report(**parts)
    return error


# --- the process ----------------------------------------------------------------------------------


def _execute(path: str, name: str) -> dict[str, Any]:
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    from hooks.jupyter.notebook_pages import Notebook

    try:
        notebook = Notebook.read(Path(path), name)
        try:
            html = _html(path, execute=True, kernel_name="python3", allow_errors=False)
        except CellExecutionError as error:
            raise notebook.raised(error) from error
        except (CellTimeoutError, DeadKernelError) as error:
            raise PublishError(
                "the notebook did not run to its end",
                place=Place(name),
                expected="cells that end",
                found=f"{type(error).__name__}: {str(error)[:300]}",
                mend="run it in Jupyter and see which cell stops",
            ) from error
        outputs, reads = notebook.outputs(html)
    except PublishError as error:
        return {"path": path, "error": asdict(error.report)}
    return {"path": path, "outputs": outputs, "reads": reads}


def _html(path: str, **options: Any) -> str:
    """What mkdocs-jupyter makes of a notebook by our template."""
    from mkdocs_jupyter.config import settings
    from mkdocs_jupyter.nbconvert2 import nb2html

    settings.templates_dir = str(TEMPLATES)
    html: str = nb2html(path, custom_mathjax_url="", **options)
    return html


def _warm(folder: Path) -> None:
    """Have mkdocs-jupyter import and compile what it does not need before its first notebook, while kernels start."""
    path = folder / "empty.ipynb"
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": "1",
    }
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]}))
    _html(str(path))


def _end_with_input(sockets: str) -> None:
    sys.stdin.read()
    shutil.rmtree(sockets, ignore_errors=True)
    os._exit(1)


def main(jobs: Sequence[Sequence[str]]) -> None:
    """Execute the notebooks `[path, name]`; print a JSON line for each as it ends."""
    outgoing = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else prints must not get between our lines
    import jupyter_client.asynchronous  # noqa: F401  # this process and the kernels need it, and share it so

    nursery = Nursery() if CAN_FORK else None
    with TemporaryDirectory(prefix="spliced-") as sockets:  # the path of a socket must be short
        os.environ["JUPYTER_RUNTIME_DIR"] = sockets
        threading.Thread(target=_end_with_input, args=(sockets,), daemon=True).start()
        import mkdocs_jupyter.nbconvert2  # noqa: F401  # once, before the threads

        if nursery is not None:
            from hooks.jupyter import kernels

            kernels.use(nursery)
        # As many kernels as cores, and two more where there is one core: they wait more than they work.
        with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as pool:
            running = [pool.submit(_execute, *job) for job in jobs]
            _warm(Path(sockets))
            for ended in as_completed(running):
                outgoing.write(json.dumps(ended.result(), ensure_ascii=False) + "\n")
                outgoing.flush()


if __name__ == "__main__":
    main(json.loads(sys.stdin.readline()))
