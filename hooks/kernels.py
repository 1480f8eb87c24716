"""Kernels forked from one process that has imported what notebooks import. Executes no cell.

A kernel and what a notebook imports take a second and a half of processor time each time they are started anew. Here
one process imports them and reads the data, and each kernel begins as a copy of it: no cell has run in it, so a
notebook finds what it would find in a kernel of its own. Where a process cannot be copied, kernels start as always.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

IMPORTED = ("ipykernel.kernelapp", "ipykernel.ipkernel", "pandas", "altair", "hooks.notebook")
"""What a kernel has before its first cell. To a notebook that imports none of it, it is not there."""

_LAUNCHER = "ipykernel_launcher"


class Nursery:
    """The process from which kernels are forked, itself forked here: call this before there are threads."""

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


class _Kernel:
    """A forked kernel as jupyter_client sees a process: what it uses of subprocess.Popen."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        return 0

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)


class Forked(LocalProvisioner):
    """Starts a kernel by a fork of the nursery; all else is as with any local kernel."""

    nursery: Nursery
    process: Any = None

    async def launch_kernel(self, cmd: list[str], **options: Any) -> Any:
        """Start the kernel that the command means."""
        if _LAUNCHER not in cmd:
            return await super().launch_kernel(cmd, **options)
        environment = {name: str(value) for name, value in options.get("env", os.environ).items()}
        folder = str(options.get("cwd") or Path.cwd())
        pid = self.nursery.start(cmd[cmd.index(_LAUNCHER) + 1 :], folder, environment)
        self.process = _Kernel(pid)
        self.pid = self.pgid = pid
        return self.connection_info


def use() -> None:
    """Have jupyter_client start kernels of this process so, from now on. Call it before there are threads."""
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return
    Forked.nursery = Nursery()
    factory = KernelProvisionerFactory.instance()
    name = "spliced-forked"
    factory.provisioners[name] = EntryPoint(name, f"{__name__}:{Forked.__name__}", factory.GROUP_NAME)
    factory.default_provisioner_name = name


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


def _become_kernel(command: list[str], folder: str, environment: dict[str, str]) -> None:
    nursery = os.getppid()
    os.setsid()
    os.closerange(3, 64)  # the pipes of the nursery, and of whoever started it
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [_LAUNCHER, *command, f"--IPKernelApp.parent_handle={nursery}"]
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance()
    os._exit(0)
