"""How mkdocs-jupyter's kernels start, are found ready and end: without needless waiting. Executes no cell.

jupyter_client has a new kernel print for a fifth of a second, in case somebody wants to read it, and looks ten times a
second whether one has ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress
from importlib.metadata import EntryPoint
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from traitlets import Type, Unicode, default

from hooks.jupyter.nursery import CAN_FORK, LAUNCHER, Nursery

_END_S = 2.0
"""How long to wait for a killed kernel; then it is left to itself."""


class Client(AsyncKernelClient):
    """A client that is ready as soon as the kernel has answered and is heard."""

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait for the first answer. What else the kernel says of itself answers no cell, and nbclient passes it over.

        Raises:
            RuntimeError: The kernel has ended, or the time is over.
        """
        begin = time.monotonic()
        while timeout is None or time.monotonic() - begin < timeout:
            self.kernel_info()
            with suppress(Empty):
                answer = await self.get_shell_msg(timeout=1)
                await self.get_iopub_msg(timeout=0.2)
                self._handle_kernel_info_reply(answer)
                return
            if not await self.is_alive():
                raise RuntimeError("the kernel died before it answered")
        raise RuntimeError(f"the kernel did not answer in {timeout} seconds")


class Manager(AsyncKernelManager):
    """A kernel that is talked to over sockets in a folder of its own: TCP may give two that start at once one port."""

    client_factory = Type(Client, klass=AsyncKernelClient)
    transport = Unicode("ipc" if CAN_FORK else "tcp")

    @default("ip")
    def _own_sockets(self) -> str:
        return str(Path(os.environ["JUPYTER_RUNTIME_DIR"]) / uuid4().hex[:8]) if CAN_FORK else "127.0.0.1"


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
        if LAUNCHER not in cmd:
            return await super().launch_kernel(cmd, **options)
        environment = {name: str(value) for name, value in options.get("env", os.environ).items()}
        folder = str(options.get("cwd") or Path.cwd())
        pid = self.nursery.start(cmd[cmd.index(LAUNCHER) + 1 :], folder, environment)
        self.process = _Kernel(pid)
        self.pid = self.pgid = pid
        return self.connection_info

    async def kill(self, restart: bool = False) -> None:
        """Kill the kernel, and see that it has ended."""
        await super().kill(restart)
        begin = time.monotonic()
        while await self.poll() is None and time.monotonic() - begin < _END_S:
            await asyncio.sleep(0.002)


def use(nursery: Nursery) -> None:
    """Have jupyter_client start kernels of this process so, from now on."""
    Forked.nursery = nursery
    factory = KernelProvisionerFactory.instance()
    name = "spliced-forked"
    factory.provisioners[name] = EntryPoint(name, f"{__name__}:{Forked.__name__}", factory.GROUP_NAME)
    factory.default_provisioner_name = name
