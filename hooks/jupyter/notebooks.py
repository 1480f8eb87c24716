"""The notebooks of a build: which must be executed, and the outputs of all. Executes none itself.

A notebook is executed when it is new, when a package or Python itself is another, or when something that it read the
last time has changed: numbers, samples, files, modules (`hooks.caching.reads`). Otherwise its kept outputs are what it
would print again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hooks.caching import reads
from hooks.caching.cache import Cache, digest, file_digest, versions
from hooks.errors import PublishError
from hooks.jupyter.execution import Executed, Execution
from hooks.jupyter.notebook_pages import Notebook
from hooks.numbers.book import Book

_CODE = (
    "jupyter/notebook_pages.py",
    "jupyter/execution.py",
    "jupyter/nursery.py",
    "jupyter/kernels.py",
    "jupyter/mkdocs_html/notebook.html.j2",
    "caching/opened.py",
)
"""What makes outputs of an executed notebook; the modules that its cells use are among its reads."""


@dataclass(frozen=True)
class _Wanted:
    notebook: Notebook
    path: Path
    content: str | None
    key: str


class Notebooks:
    """Notebooks by the URI of their page.

    Args:
        book: Today's numbers; without them every notebook is executed.
        kept: Outputs of earlier builds.
        environment: Gives that of the notebooks; called only when one is executed.
        execution: One that has begun already; taken if it fits, and closed if not.
    """

    def __init__(
        self,
        book: Book | None = None,
        kept: Cache | None = None,
        environment: Callable[[], Mapping[str, str]] = dict,
        execution: Execution | None = None,
    ) -> None:
        self.book = book
        self.kept = kept or Cache(None)
        self.executed: tuple[str, ...] = ()
        self._environment = environment
        self._wanted: dict[str, _Wanted] = {}
        self._known: dict[str, Mapping[int, str] | PublishError] = {}
        self.runs: set[str] = set()
        """The runs that the notebooks which are not executed read, and those that have ended."""
        self._running: set[str] = set()
        self._execution = execution

    def begin(self, files: Mapping[str, tuple[Path, str]]) -> None:
        """Read the notebooks and begin to execute those that must be; returns at once.

        Args:
            files: Path, and what errors call it, by URI.
        """
        made_with = digest(versions(), [file_digest(Path(__file__).parents[1] / name) for name in _CODE])
        for uri, (path, name) in files.items():
            content = file_digest(path)
            try:
                notebook = Notebook.read(path, name)
            except PublishError as error:
                self._known[uri] = error
                continue
            key = digest("notebook", made_with, str(path), content)
            self._wanted[uri] = _Wanted(notebook, path, content, key)
            known = self.kept.get("notebook", key)
            if known is not None and self.book is not None and reads.hold(known["reads"], self.book):
                self._known[uri] = {int(number): html for number, html in known["outputs"].items()}
                self.runs.update(known["runs"])
        stale = {uri: wanted for uri, wanted in self._wanted.items() if uri not in self._known}
        self.executed = tuple(stale)
        self._running = set(stale)
        if stale:
            # A build waits for the last to end, so those with the most in them begin.
            longest = sorted(stale.values(), key=lambda wanted: -len(wanted.notebook.markdown))
            jobs = {wanted.path: wanted.notebook.name for wanted in longest}
            environment = self._environment()
            if self._execution is None or not self._execution.fits(environment):
                self.close()
                self._execution = Execution(environment)
            self._execution.begin(jobs)
        else:
            self.close()

    def notebook(self, uri: str) -> Notebook | None:
        """The notebook of a page; None where the page is none, or could not be read."""
        return self._wanted[uri].notebook if uri in self._wanted else None

    def ended(self, until: Collection[str] = ()) -> Iterator[tuple[str, Mapping[int, str] | PublishError]]:
        """What is known since the last call: URIs, and the HTML of each cell's output by its number or what is wrong.

        Args:
            until: URIs; wait for those of them whose notebooks still run.
        """
        yield from self._known.items()
        self._known.clear()
        while self._execution is not None and self._running:
            ended = self._execution.ended(wait=not self._running.isdisjoint(until))
            if ended is None:
                return
            path, result = ended
            uri = next(uri for uri in self._running if self._wanted[uri].path == path)
            self._running.remove(uri)
            if isinstance(result, Executed):
                wanted = self._wanted[uri]
                runs = sorted(reads.runs(result.reads, self.book)) if self.book else []
                self.runs.update(runs)
                if file_digest(path) == wanted.content:  # else it was saved meanwhile
                    kept = {"outputs": result.outputs, "reads": result.reads, "runs": runs}
                    self.kept.put("notebook", wanted.key, kept)
            yield uri, result.outputs if isinstance(result, Executed) else result
        self.close()

    def close(self) -> None:
        """End what still runs."""
        if self._execution is not None:
            self._execution.close()
            self._execution = None
