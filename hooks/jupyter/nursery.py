"""The process from which kernels are forked: it has imported what notebooks import, and has run no cell.

A kernel and what a notebook imports take a second and a half of processor time each time they are started anew. Here
one process imports them and reads the data, and each kernel begins as a copy of it: a notebook finds in it what it
would find in a kernel of its own. It is forked before anything else is imported, so that both go on at once.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import NoReturn

IMPORTED = (
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.debugger",  # each kernel would import it when it starts
    "pandas",
    "altair",
    "hooks.notebook",
)
"""What a kernel has before its first cell. To a notebook that imports none of it, it is not there."""

LAUNCHER = "ipykernel_launcher"
"""The module that a command to start a kernel names."""

CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
"""Whether a process can be copied here. Where it cannot, kernels start as always."""


class Nursery:
    """That process, forked here: call this before there are threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        wish_read, wish_write = os.pipe()
        pid_read, pid_write = os.pipe()
        if os.fork() == 0:
            os.close(wish_write)
            os.close(pid_read)
            _serve(wish_read, pid_write)
            os._exit(0)
        os.close(wish_read)
        os.close(pid_write)
        self._wishes, self._pids = os.fdopen(wish_write, "w"), os.fdopen(pid_read)

    def start(self, command: list[str], folder: str, environment: dict[str, str]) -> int:
        """Fork a kernel; returns its process id."""
        with self._lock:
            self._wishes.write(json.dumps([command, folder, environment]) + "\n")
            self._wishes.flush()
            return int(self._pids.readline())


def _serve(wishes: int, pids: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # kernels that end leave nothing
    for name in IMPORTED:
        with suppress(Exception):  # what is wrong with it is the cell's to say, which imports it
            importlib.import_module(name)
    with suppress(Exception):
        sys.modules["hooks.notebook"]._book()
    with os.fdopen(wishes) as incoming, os.fdopen(pids, "w") as outgoing:
        for line in incoming:
            command, folder, environment = json.loads(line)
            pid = os.fork()
            if pid == 0:
                try:
                    _become_kernel(command, folder, environment)
                finally:
                    os._exit(1)
            outgoing.write(f"{pid}\n")
            outgoing.flush()


def _become_kernel(command: list[str], folder: str, environment: dict[str, str]) -> NoReturn:
    nursery = os.getppid()
    os.setsid()
    os.closerange(3, 64)  # the pipes of the nursery, and of whoever started it
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [LAUNCHER, *command, f"--IPKernelApp.parent_handle={nursery}"]
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance()
    os._exit(0)
