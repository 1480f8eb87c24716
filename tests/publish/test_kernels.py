"""Cells do in the kernels of a build what they do in Jupyter's own, and nothing of whoever builds runs there."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

from hooks.errors import PublishError
from hooks.jupyter import nursery
from hooks.jupyter.execution import Executed, Execution, environment
from hooks.jupyter.notebook_pages import Notebook

CELLS = {
    "prints": "import sys\nprint('out', flush=True)\nprint('err', file=sys.stderr)",
    # What is not printed by Python comes through a pipe, in its own time.
    "child": "import os, subprocess, time\nsubprocess.run(['echo', 'child'])\ntime.sleep(0.3)",
    "descriptor": "os.write(1, b'raw\\n')\ntime.sleep(0.3)",
    "shell": "!echo shell",
    "processes": "import multiprocessing\nwith multiprocessing.Pool(2) as pool:\n    print(pool.map(abs, [-1, -2]))",
    "threads": "import threading\nwork = threading.Thread(target=print, args=('thread',))\nwork.start()\nwork.join()",
    "await": "import asyncio\nawait asyncio.sleep(0.01)\nasyncio.get_running_loop().is_running()",
    "main thread": "import threading\nthreading.current_thread() is threading.main_thread()",
    "signals": "import signal, time\nsignal.signal(signal.SIGALRM, lambda *_: print('alarm'))\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.05)\ntime.sleep(0.2)",
    "names": "__name__, '__file__' in globals(), len(In), sys.path[0] in ('', os.getcwd()), '' in sys.path",
    "display": "from IPython.display import Markdown, clear_output, display\nprint('gone')\nclear_output()\n"
    "display(Markdown('**b**'))\nhandle = display('first', display_id='x')\nhandle.update('second')\n3",
    "warns": "import logging\nlogging.warning('logged')",
    "table": "import pandas\npandas.DataFrame({'a': [1, 2]})",
    "exits": "import atexit\n_ = atexit.register(print, 'at exit')\nquit()",
}


def write(path: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def ours(*paths: Path) -> dict[Path, Executed | PublishError]:
    """What becomes of notebooks in a build; their folder is that of its data, too."""
    folder = paths[0].parent
    execution = Execution(environment(folder, folder / "site_data", folder / "quantities.toml"))
    try:
        execution.begin({path: path.name for path in paths})
        ended = [execution.ended(wait=True) for _ in paths]
    finally:
        execution.close()
    return {path: result for each in ended if each is not None for path, result in [each]}


def in_jupyter(path: Path) -> dict[int, str]:
    """What the cells print in a kernel that Jupyter starts."""
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    resources = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, kernel_name="python3", resources=resources).execute()
    executed = path.with_name("executed.ipynb")
    nbformat.write(notebook, executed)
    return Notebook.read(executed, executed.name).outputs(nursery._html(str(executed)))[0]


def test_cells_do_what_they_do_in_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # with it, ipykernel hears no other process
    path = write(tmp_path / "note.ipynb", *CELLS.values())
    (result,) = ours(path).values()
    assert isinstance(result, Executed), result
    titled = dict(zip(CELLS, result.outputs.values(), strict=True))
    assert titled == dict(zip(CELLS, in_jupyter(path).values(), strict=True))
    assert {title for title, html in titled.items() if not html} == {"exits"}


def test_a_process_that_ends_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    dies = write(tmp_path / "dies.ipynb", "import os\nos.abort()")
    lives = write(tmp_path / "lives.ipynb", "'alive'")
    ended = ours(dies, lives)
    assert "its process ended with exit code -6" in str(ended[dies])
    found = ended[lives]
    assert isinstance(found, Executed)
    assert "alive" in found.outputs[1]


def test_start_up_files_do_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_up = tmp_path / "theirs" / "profile_default" / "startup"
    start_up.mkdir(parents=True)
    (start_up / "00.py").write_text("LEFT_BY_START_UP = True\n", encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "theirs"))
    path = write(tmp_path / "note.ipynb", "'LEFT_BY_START_UP' in globals()")
    assert "True" in in_jupyter(path)[1]
    found = ours(path)[path]
    assert isinstance(found, Executed)
    assert "False" in found.outputs[1]
