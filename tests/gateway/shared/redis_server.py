"""A real Redis (or Valkey) of a test's own, on a free port."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class RedisServer:
    """The server. It can be killed, silenced and started again, with what it held."""

    binary: str
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [self.binary, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        self.process = subprocess.Popen(
            [*command, "--save", "", "--appendonly", "yes", "--appendfsync", "no"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while not self._answers():
            assert self.process.poll() is None, "the server ended at once"
            assert time.monotonic() < deadline, "the server does not come up"
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it; SIGKILL: at once and without goodbye."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(how)
            self.process.wait(30)
            self.process = None

    def silence(self) -> None:
        """Its connections stay, and nothing is answered."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as asking:
                asking.sendall(b"PING\r\n")
                return asking.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def why_not() -> str | None:
    """Why no server can be started here, or None."""
    try:
        import redis  # noqa: F401
    except ImportError:
        return "the extra `redis` is not installed"
    if _binary() is None:
        return "no Redis is installed (Debian: redis-server or valkey-server)"
    return None


def _binary() -> str | None:
    return shutil.which("redis-server") or shutil.which("valkey-server")


@contextlib.contextmanager
def redis_server() -> Iterator[RedisServer]:
    """Start a server; skips the test, saying why, where that cannot be done."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    binary = _binary()
    assert binary is not None
    folder = Path(tempfile.mkdtemp(prefix="promptcache-redis-"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    server = RedisServer(binary, folder, port)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
