"""Nothing is fetched while a site is built: it builds where there is no network, notebooks and charts included."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.publish.project import Project, notebook

NOWHERE = "192.0.2.1"
"""An address that is reserved for documentation: nobody answers there."""

# A network namespace of our own has one device, the loopback, over which the kernels of notebooks talk; it is down.
IN_A_NAMESPACE = f"""
import errno, fcntl, os, socket, struct, sys
with socket.socket() as device:
    up = struct.pack("16sh22x", b"lo", 1)
    fcntl.ioctl(device, 0x8914, up)  # SIOCSIFFLAGS, IFF_UP
with socket.socket() as probe:
    assert probe.connect_ex(("{NOWHERE}", 80)) == errno.ENETUNREACH, "there is a network"
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""

# Where namespaces are not allowed, Python itself refuses to connect; only what is not Python could get past it.
GUARD = """
import errno, socket

def _here(address):
    return not isinstance(address, tuple) or str(address[0]).startswith("127.") or address[0] in ("localhost", "::1")

def _guarded(name):
    original = getattr(socket.socket, name)
    def call(self, address):
        if not _here(address):
            raise OSError(errno.ENETUNREACH, "no network in this test")
        return original(self, address)
    setattr(socket.socket, name, call)

_guarded("connect")
_guarded("connect_ex")
"""


def namespaces() -> bool:
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", "true"], capture_output=True, check=False
    )
    return done.returncode == 0


def build(project: Project, how: str) -> subprocess.CompletedProcess[str]:
    """`mkdocs build --strict` without a network."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    if how == "namespace":
        try:
            allowed = namespaces()
        except FileNotFoundError:
            allowed = False
        if not allowed:
            pytest.skip("network namespaces are not allowed here")
        unshare = ["unshare", "--user", "--map-root-user", "--net"]
        command = [*unshare, sys.executable, "-c", IN_A_NAMESPACE, *command[1:]]
    else:
        guard = project.folder / "guard"
        guard.mkdir(exist_ok=True)
        (guard / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
        environment["PYTHONPATH"] = str(guard)
    return subprocess.run(
        command,
        cwd=project.folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("how", ["namespace", "guard"])
def test_a_site_builds_without_a_network(how: str, tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    done = build(project, how)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "<svg" in project.read("index.html") and '<div class="cell-output">' in project.read(
        "notes/note.html"
    )
    # What this test would see if something were fetched:
    asking = f"import urllib.request\nurllib.request.urlopen('http://{NOWHERE}/', timeout=5)"
    project.write("docs/notes/note.ipynb", notebook([("code", asking)]))
    done = build(project, how)
    assert done.returncode != 0
    assert "docs/notes/note.ipynb, cell 1, line 2: a cell raised an exception" in done.stdout + done.stderr
