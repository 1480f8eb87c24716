"""The process that executes notebooks: it imports what they import, runs no cell, and each notebook gets a copy of it.

A kernel, what a notebook imports and mkdocs-jupyter take a second of processor time each time they are started anew.
Here one process imports them and reads the data, and each notebook is executed and made HTML in a copy of it, which
then ends: a notebook finds in it what it would find in a process of its own. Where processes cannot be copied, each
notebook has one that begins anew.
"""

from __future__ import annotations

import gc
import importlib
import json
import multiprocessing
import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hooks.errors import Place, PublishError

IMPORTED = (
    "mkdocs_jupyter.nbconvert2",
    "bs4",
    "hooks.jupyter.kernels",
    "hooks.jupyter.notebook_pages",
    "ipykernel.debugger",
    "pandas",
    "altair",
    "hooks.notebook",
)
"""What a process has before the first cell. To a notebook that imports none of it, it is not there."""

_DEBUGGER = "debugpy.server"
"""Where ipykernel does not find it, a kernel does without a debugger, which would take a twentieth of a second."""

CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
"""Whether a process can be copied here."""

AT_ONCE = max(2, os.cpu_count() or 1)
"""How many notebooks run at once."""

TEMPLATES = Path(__file__).resolve().parent
"""The folder with the template by which mkdocs-jupyter makes HTML of a notebook."""

Job = Sequence[str]
"""Path and name of a notebook."""

Result = dict[str, Any]
"""What became of a notebook, as JSON values: its path, and outputs and reads or an error's report."""


def main() -> None:
    """Prepare, then execute the notebooks that the first line of input names; print a JSON line for each as it ends.

    Ends when its input does.
    """
    outgoing = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else prints must not get between our lines
    if CAN_FORK:
        _prepare()
    with os.fdopen(0, "rb", buffering=0, closefd=False) as incoming:  # unbuffered: `wait` sees its end
        line = incoming.readline()
    if not line:
        return
    wanted = json.loads(line)
    os.environ.update(wanted["environment"])
    over = [0] if os.name == "posix" else []  # our input: it ends where the build does
    for result in _executed(wanted["jobs"], over):
        outgoing.write(json.dumps(result, ensure_ascii=False) + "\n")
        outgoing.flush()


def _prepare() -> None:
    """Have all in memory that notebooks want. What is here stays, so looking for garbage in it would be in vain, and
    would have each copy of the process copy that memory, too."""
    gc.disable()
    sys.modules.setdefault(_DEBUGGER, None)  # type: ignore[arg-type]  # nobody debugs here
    for name in IMPORTED:
        with suppress(Exception):  # what is wrong with it is the cell's to say, which imports it
            importlib.import_module(name)
    with suppress(Exception):
        sys.modules["hooks.notebook"]._book()
    with TemporaryDirectory() as folder:
        _convert_nothing(Path(folder))
    gc.freeze()


def _convert_nothing(folder: Path) -> None:
    """Have mkdocs-jupyter compile what it wants for each notebook, by making HTML of one with nothing in it."""
    path = folder / "empty.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}))
    _html(str(path))


def _executed(jobs: Sequence[Job], over: Sequence[int]) -> Iterator[Result]:
    """What became of each notebook, in the order in which they end; stops where something can be read from `over`."""
    context: Any = multiprocessing.get_context("fork" if CAN_FORK else "spawn")
    waiting, running = deque(jobs), dict[Connection, tuple[Any, Job]]()
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            receiver, sender = context.Pipe(duplex=False)
            job = waiting.popleft()
            process = context.Process(target=_run, args=(sender, *job))
            process.start()
            sender.close()
            running[receiver] = process, job
        for ready in wait([*running, *over]):
            if not isinstance(ready, Connection):
                for process, _ in running.values():
                    process.kill()
                return
            process, (path, name) = running.pop(ready)
            try:
                with ready:
                    result = ready.recv()
            except EOFError:
                process.join()
                error = _not_to_its_end(name, f"its process ended with exit code {process.exitcode}")
                result = {"path": path, "error": asdict(error.report)}
            yield result


def _run(answers: Connection, path: str, name: str) -> None:
    """The process of one notebook. It ends at once, whatever the cells have left running in it."""
    from hooks.jupyter import kernels

    gc.enable()
    answers.send(kernels.executing(partial(_execute, path, name)))
    os._exit(0)


def _execute(path: str, name: str) -> Result:
    from nbclient.exceptions import CellExecutionError

    from hooks.jupyter.notebook_pages import Notebook

    try:
        notebook = Notebook.read(Path(path), name)
        try:
            html = _html(path, execute=True, kernel_name="python3", allow_errors=False)
        except CellExecutionError as error:
            raise notebook.raised(error) from error
        except Exception as error:  # whatever it is, it must reach the build
            raise _not_to_its_end(name, f"{type(error).__name__}: {str(error)[:300]}") from error
        outputs, reads = notebook.outputs(html)
    except PublishError as error:
        return {"path": path, "error": asdict(error.report)}
    return {"path": path, "outputs": outputs, "reads": reads}


def _not_to_its_end(name: str, found: str) -> PublishError:
    return PublishError(
        "the notebook did not run to its end",
        place=Place(name),
        expected="cells that end, and a process that outlives them",
        found=found,
        mend="run it in Jupyter and see which cell stops",
    )


def _html(path: str, **options: Any) -> str:
    """What mkdocs-jupyter makes of a notebook by our template."""
    from mkdocs_jupyter.config import settings
    from mkdocs_jupyter.nbconvert2 import nb2html

    settings.templates_dir = str(TEMPLATES)
    html: str = nb2html(path, custom_mathjax_url="", **options)
    return html


if __name__ == "__main__":
    main()
