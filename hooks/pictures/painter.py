"""The processes that paint beside the build: what each is given, and what came back. Paints nothing itself.

vl-convert holds Python's lock while it works, so only another process lets the build go on meanwhile. One is
started when the first picture is wanted that the cache does not have, and others when many wait. Where none can run,
pictures are made in this process. A preview has one painter for all its builds: Vega takes half a second to start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from base64 import b64decode
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from hooks.caching.cache import Cache, digest, of_environment, version
from hooks.pictures import specification
from hooks.pictures.painting import KINDS, VEGA_LITE

AHEAD = 3
"""What a process is given before it has answered: more than one, so that it need not wait for the build to listen."""

WORTH_A_PROCESS = 12
"""Pictures for each process that wait before one more is started: they take longer to draw than it takes to start."""

MOST_PROCESSES = os.cpu_count() or 1

Job = tuple[str, str, str]
"""Kind, key and text of what is to be made."""

_ROOT = Path(__file__).resolve().parents[2]


class Painter:
    """Pictures by their drawing or specification, and scripts by what they keep of Vega, each made once.

    Args:
        cache: Where finished pictures are kept between builds.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.ended = False
        """Whether no process is left: from then on pictures are made in this one."""
        self._made: dict[str, str] = {}
        self._waiting: set[str] = set()
        self._queue: deque[Job] = deque()
        self._processes: list[_Process] = []
        self._news = threading.Condition()

    def start(self, text: str, kind: str = "picture") -> None:
        """Begin on a drawing or specification (JSON text) or on another kind of work; returns at once."""
        key = self._key(kind, text)
        with self._news:
            if self.ended or key in self._made or key in self._waiting:
                return
            kept = self._cache(kind).get(kind, key)
            if isinstance(kept, str):
                self._made[key] = kept
                return
            self._waiting.add(key)
            self._queue.append((kind, key, text))
            self._feed()

    @property
    def busy(self) -> bool:
        """Whether something that was wanted is not made yet."""
        with self._news:
            return bool(self._waiting)

    def warm(self) -> None:
        """Have a process ready before a picture is wanted: Vega takes half a second to start."""
        with self._news:
            self._queue.append(("picture", "warm", '{"data": {"values": []}, "mark": "point"}'))
            self._feed()

    def picture(self, spec: str) -> str:
        """The SVG of a drawing or specification; waits for it.

        Raises:
            ValueError: Vega cannot draw it.
        """
        svg: str = json.loads(self._wait("picture", spec))["svg"]
        return svg

    def compiled(self, spec: str) -> dict[str, Any]:
        """The Vega specification that the same picture is drawn from; waits for it.

        Raises:
            ValueError: Vega cannot draw it.
        """
        vega: dict[str, Any] = json.loads(self._wait("picture", spec))["vega"]
        return vega

    def png(self, job: str) -> bytes:
        """The PNG that `png_job` asks for; waits for it.

        Raises:
            ValueError: The SVG cannot be drawn.
        """
        return b64decode(self._wait("png", job))

    def bundle(self, snippet: str) -> str:
        """The script that `bundle` makes; waits for it.

        Raises:
            ValueError: The snippet wants what vl-convert does not have.
        """
        return self._wait("bundle", snippet)

    def forget(self) -> None:
        """Let go of what earlier builds wanted; the cache has it."""
        with self._news:
            self._made.clear()

    def close(self) -> None:
        """End the processes, without waiting for pictures that nobody asked for."""
        with self._news:
            processes, self._processes = self._processes, []
            self._queue.clear()
            self._waiting.clear()
        for process in processes:
            process.close()

    @cached_property
    def _made_with(self) -> dict[str, str]:
        own = f"{VEGA_LITE} {version('vl-convert-python')}"
        return dict.fromkeys(KINDS, own) | {"picture": f"{own} {specification.made_with()}"}

    def _cache(self, kind: str) -> Cache:
        """A bundle is made of vl-convert alone, in a second or two."""
        return of_environment(self.cache) if kind == "bundle" else self.cache

    def _key(self, kind: str, text: str) -> str:
        return digest(self._made_with[kind], kind, text)

    def _wait(self, kind: str, text: str) -> str:
        self.start(text, kind)
        key = self._key(kind, text)
        with self._news:
            self._news.wait_for(lambda: key not in self._waiting)
            if key not in self._made:
                self._keep(kind, key, KINDS[kind](text))
        found = self._made[key]
        if found.startswith("!"):
            raise ValueError(found[1:])
        return found

    def _keep(self, kind: str, key: str, made: str) -> None:
        self._made[key] = made
        self._waiting.discard(key)
        if not made.startswith("!"):
            self._cache(kind).put(kind, key, made)

    def _feed(self) -> None:
        """Give processes what waits; the caller holds the lock. One more starts when so much waits that it pays."""
        for process in self._processes:
            while self._queue and len(process.given) < AHEAD:
                process.give(self._queue.popleft())
        count = len(self._processes)
        if len(self._queue) > WORTH_A_PROCESS * count and count < MOST_PROCESSES and not self.ended:
            try:
                self._processes.append(_Process(self._told, self._gone))
            except OSError:
                self._end()
                return
            self._feed()

    def _told(self, process: _Process, answer: str) -> None:
        kind, key, made = json.loads(answer)
        with self._news:
            process.given.discard(key)
            self._keep(kind, key, made)
            self._feed()
            self._news.notify_all()

    def _gone(self, process: _Process) -> None:
        """A process has ended. What it was given is not given to another, which it might end, too."""
        with self._news:
            if process in self._processes:
                self._processes.remove(process)
                self._waiting -= process.given
                if not self._processes:
                    self._end()
                self._news.notify_all()

    def _end(self) -> None:
        self.ended = True
        self._queue.clear()
        self._waiting.clear()
        self._news.notify_all()


class _Process:
    """One process, with a thread that talks to it and one that listens: a pipe that is full must not stop the build.

    Args:
        told: Called with this and each line that the process prints.
        gone: Called with this once it has ended.
    """

    def __init__(self, told: Callable[[_Process, str], None], gone: Callable[[_Process], None]) -> None:
        self.given: set[str] = set()
        """The keys of what it is working on."""
        self._told, self._gone = told, gone
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hooks.pictures.painting"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._talking = threading.Thread(target=self._talk, daemon=True)
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._talking.start()
        self._listening.start()

    def give(self, job: Job) -> None:
        """Hand it one more thing to make."""
        self.given.add(job[1])
        self._jobs.put(job)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._listening.join()

    def _talk(self) -> None:
        assert self._process.stdin is not None
        with (
            suppress(OSError),
            self._process.stdin as pipe,
        ):  # where it has ended, `gone` is about to be called
            while (job := self._jobs.get()) is not None:
                pipe.write(json.dumps(job) + "\n")
                pipe.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            for line in pipe:
                self._told(self, line)
        self._jobs.put(None)
        self._talking.join()
        self._process.wait()
        self._gone(self)
