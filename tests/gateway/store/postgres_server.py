"""A real PostgreSQL server of a test's own: a fresh cluster in a temporary folder, on a free port."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_BINARIES = [*Path("/usr/lib/postgresql").glob("*/bin"), Path("/usr/bin"), Path("/usr/local/bin")]
_OPTIONS = "-c fsync=off -c full_page_writes=off -c max_connections=40 -c shared_buffers=8MB"


@dataclass
class PostgresServer:
    """The server. It can be stopped, killed and started again with what it held."""

    folder: Path
    binaries: Path
    port: int
    who: dict[str, Any]
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        command = [
            self.binaries / "postgres",
            "-D",
            self.folder / "data",
            "-p",
            str(self.port),
            "-h",
            "127.0.0.1",
        ]
        self.process = subprocess.Popen(
            [*command, "-k", self.folder, *_OPTIONS.split()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **self.who,
        )
        ready = [self.binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        deadline = time.monotonic() + 60
        while subprocess.run(ready, check=False).returncode:
            assert self.process.poll() is None, "the server ended at once"
            assert time.monotonic() < deadline, "the server does not come up"
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """SIGQUIT: at once and without goodbye; SIGSTOP: it goes silent, its connections stay."""
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.wait(30)
        self.process = None


def why_not() -> str | None:
    """Why no server can be started here, or None."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "the extra `postgres` is not installed"
    if _binaries() is None:
        return "PostgreSQL's server is not installed (Debian: postgresql)"
    if os.geteuid() == 0 and not _unprivileged():
        return "PostgreSQL does not run as root, and there is no user `postgres` or `nobody`"
    return None


def _binaries() -> Path | None:
    found = [
        folder for folder in _BINARIES if (folder / "initdb").exists() and (folder / "postgres").exists()
    ]
    return found[0] if found else None


def _unprivileged() -> str | None:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            pwd.getpwnam(name)
            return name
    return None


@contextlib.contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server; skips the test, saying why, where that cannot be done."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    binaries = _binaries()
    assert binaries is not None
    folder = Path(tempfile.mkdtemp(prefix="promptcache-pg-"))
    name = _unprivileged() if os.geteuid() == 0 else None
    who: dict[str, Any] = (
        {} if name is None else {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}
    )
    if name is not None:
        shutil.chown(folder, name)
    server = PostgresServer(folder, binaries, _free_port(), who)
    make = [
        binaries / "initdb",
        "-D",
        folder / "data",
        "-U",
        "tester",
        "-A",
        "trust",
        "-N",
        "-E",
        "UTF8",
        "--locale=C",
    ]
    try:
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL, cwd="/", **who)
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
