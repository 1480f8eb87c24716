"""The kernel that mkdocs-jupyter executes a notebook with: IPython's own, in the process that executes it.

A kernel is mostly a process of its own, which is started, found ready, talked to over sockets and ended. Here each
notebook already has a process of its own (`hooks.jupyter.nursery`), and the messages go no further than that.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

from ipykernel.inprocess.blocking import BlockingInProcessKernelClient
from ipykernel.inprocess.ipkernel import InProcessKernel
from ipykernel.inprocess.manager import InProcessKernelManager
from ipykernel.iostream import OutStream
from traitlets import DottedObjectName, Instance, default

from hooks.caching import opened

T = TypeVar("T")

_cells: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
"""What the main thread is to do next; None where nothing more comes."""


def executing(work: Callable[[], T]) -> T:
    """Do the work, which has cells executed, in another thread; this one executes them: await and signals want that."""
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(work)
        result.add_done_callback(lambda _: _cells.put(None))
        while (cell := _cells.get()) is not None:
            cell()
    return result.result()


def _in_main_thread(work: Callable[..., T], *args: Any, **options: Any) -> T:
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work(*args, **options))
        except BaseException as error:
            done.set_exception(error)

    _cells.put(run)
    return done.result()


class _Receiving:
    """What ipykernel asks of the thread that receives messages, which this kernel does without."""

    parent_thread = threading.main_thread()


class Kernel(InProcessKernel):
    """A kernel that hears what other processes print, too, and awaits, as one in a process of its own does."""

    shell_channel_thread = Instance(_Receiving, ())
    _supports_kernel_subshells = False

    @default("stdout")
    def _hear_output(self) -> OutStream:
        return OutStream(self.session, self.iopub_thread, "stdout")  # type: ignore[no-untyped-call]

    @default("stderr")
    def _hear_errors(self) -> OutStream:
        return OutStream(self.session, self.iopub_thread, "stderr")  # type: ignore[no-untyped-call]


class Client(BlockingInProcessKernelClient):
    """A client of such a kernel, which is ready once it is there."""

    def wait_for_ready(self, timeout: float | None = None) -> None:
        """Nothing to wait for."""

    def execute(self, *args: Any, **options: Any) -> str:
        """Execute a cell."""
        message: str = _in_main_thread(super().execute, *args, **options)
        return message

    def kernel_info(self) -> str:
        """Ask the kernel about itself."""
        message: str = _in_main_thread(super().kernel_info)
        return message


class Manager(InProcessKernelManager):
    """Starts the kernel as nbclient asks for it, in the folder of the notebook."""

    client_class = DottedObjectName(f"{__name__}.{Client.__name__}")

    def start_kernel(self, *, cwd: str = ".", **_: Any) -> None:
        """Start it, and note from now on what is read."""
        os.chdir(cwd)
        packages = (at for at, path in enumerate(sys.path) if path.endswith("-packages"))
        sys.path.insert(next(packages, len(sys.path)), "")  # where IPython has the working folder
        self.kernel = Kernel(parent=self, session=self.session)  # type: ignore[no-untyped-call]
        sys.stdout, sys.stderr = self.kernel.stdout, self.kernel.stderr
        opened.watch(os.environ["IPYTHONDIR"])

    def shutdown_kernel(self, now: bool = False, restart: bool = False) -> None:
        """The process is about to end, and the kernel with it."""
        super().shutdown_kernel()  # type: ignore[no-untyped-call]
