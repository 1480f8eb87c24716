"""Builds the fake NVML driver and hands it to the real pynvml. Its settings are listed in fake_nvml.c."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pynvml

SOURCE = Path(__file__).with_name("fake_nvml.c")
UUID = "GPU-fa4e0000-0000-4000-8000-000000000001"
IDLE_UUID = "GPU-fa4e0000-0000-4000-8000-000000000002"
MIG_UUID = "MIG-fa4e0000-0000-4000-8000-0000000000a1"


def build(folder: Path) -> Path:
    """Compile the driver into `folder`, under the name that pynvml looks for on LD_LIBRARY_PATH.

    Skips the test only on a machine without any C compiler; a compiler that fails is an error.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        import pytest  # benchmarks go without

        pytest.skip("no C compiler on this machine: install gcc to test the energy meter")
    library = folder / "libnvidia-ml.so.1"
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
    command = [compiler, *flags, f"-Wl,-soname,{library.name}", "-o", str(library), str(SOURCE), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


class FakeDriver:
    """The library's own side: settings, time and the truth. `settings` are named as in fake_nvml.c."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))
        for name in ("fake_nvml_now", "fake_nvml_watts", "fake_nvml_joules"):
            getattr(self.library, name).restype = ctypes.c_double

    def configure(self, **settings: float) -> None:
        """Start again from the defaults, with these settings."""
        text = ",".join(f"{key}={value!r}" for key, value in settings.items())
        assert self.library.fake_nvml_configure(text.encode()) == 0, text

    def set(self, key: str, value: float) -> None:
        """Change one setting now."""
        assert self.library.fake_nvml_set(key.encode(), ctypes.c_double(value)) == 0, key

    def load(self, on: bool) -> None:
        """Put the card under load, or take it off (waveform 4)."""
        self.library.fake_nvml_load(int(on))

    def now(self) -> float:
        """The driver's time in seconds."""
        return float(self.library.fake_nvml_now())

    def advance(self, seconds: float) -> None:
        """Move virtual time."""
        self.library.fake_nvml_advance(ctypes.c_double(seconds))

    def watts(self, at_s: float) -> float:
        """The true power."""
        return float(self.library.fake_nvml_watts(ctypes.c_double(at_s)))

    def joules(self, begin_s: float, end_s: float) -> float:
        """The true energy between two times."""
        return float(self.library.fake_nvml_joules(ctypes.c_double(begin_s), ctypes.c_double(end_s)))

    def users(self) -> int:
        """How many nvmlInit calls have had no nvmlShutdown yet."""
        return int(self.library.fake_nvml_users())


@contextmanager
def installed(driver: FakeDriver) -> Iterator[FakeDriver]:
    """Let pynvml use this library in place of the machine's own."""
    with (
        mock.patch.object(pynvml, "nvmlLib", driver.library),
        mock.patch.object(pynvml, "_nvmlGetFunctionPointer_cache", {}),
    ):
        yield driver


class VirtualClock:
    """The driver's virtual time as the meter's clock; periodic actions run whenever time passes."""

    def __init__(self, driver: FakeDriver) -> None:
        self._driver = driver
        self._actions: dict[int, tuple[float, float, Callable[[], None]]] = {}
        self._keys = 0

    def now(self) -> float:
        return self._driver.now()

    def sleep(self, seconds: float) -> None:
        """Let time pass, and what is due in it happen."""
        until_s = self._driver.now() + seconds
        while self._actions:
            key, (due_s, period_s, action) = min(self._actions.items(), key=lambda item: item[1][0])
            if due_s > until_s:
                break
            self._driver.advance(max(due_s - self._driver.now(), 0.0))
            action()
            self._actions[key] = (self._driver.now() + period_s, period_s, action)
        self._driver.advance(max(until_s - self._driver.now(), 0.0))

    def every(self, period_s: float, action: Callable[[], None]) -> Callable[[], None]:
        self._keys += 1
        key = self._keys
        self._actions[key] = (self._driver.now() + period_s, period_s, action)

        def stop() -> None:
            self._actions.pop(key, None)

        return stop
