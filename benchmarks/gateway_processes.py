"""The processes of the gateway's benchmark: mock upstream, bare proxies, the gateway, LiteLLM's proxy.

Each is started and waited for before the next, so that none starts up while another one is measured.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import gateway_litellm
from gateway_load import ready

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS, PLAIN, FLOOR, MINIMAL, LITELLM = "gateway", "no diagnosis", "floor", "minimal", "litellm"
MOCK = "mock"
_PROGRAM = Path(__file__).resolve().parent / "gateway.py"


class Servers:
    """The processes of one run: ports and process ids by name."""

    def __init__(self, base: int, folder: Path) -> None:
        self._base, self._folder = base, folder
        self._upstream = f"http://127.0.0.1:{self._base}"
        self._running: list[subprocess.Popen[bytes]] = []
        self.ports: dict[str, int] = {}
        self.pids: dict[str, int] = {}

    async def start(self, python: str | None, *, alone: bool) -> None:
        """Start the mock upstream and the proxies; ``alone``: of these the gateway only.

        ``python``: an interpreter that has LiteLLM's proxy; None: that is left out.
        """
        own = [sys.executable, str(_PROGRAM), "--port", "PORT", "--upstream", "UPSTREAM", "--run"]
        serve = [sys.executable, "-m", "promptcache", "serve", "--upstream", "UPSTREAM", "--port", "PORT"]
        commands = {
            MOCK: [*own, "mock"],
            OURS: [*serve, "--data-dir", str(self._folder / "ours")],
            PLAIN: [*serve, "--no-diagnosis", "--data-dir", str(self._folder / "plain")],
            FLOOR: [*own, "floor"],
            MINIMAL: [*own, "minimal"],
        }
        if python is not None:
            commands[LITELLM] = gateway_litellm.command(python, self._upstream, self._folder)
        for name in (MOCK, OURS) if alone else commands:
            port, process = self._run(name, commands[name])
            try:
                await ready(port, process)
            except TimeoutError as error:
                said = (self._folder / f"{name}.log").read_text(errors="replace")
                raise SystemExit(f"{name} does not answer:\n{said[-2000:]}") from error

    def _run(self, name: str, command: list[str]) -> tuple[int, subprocess.Popen[bytes]]:
        """Start one: its port and its process. ``PORT`` and ``UPSTREAM`` in the command are put in."""
        port = self._base + len(self._running)
        known = {"PORT": str(port), "UPSTREAM": self._upstream}
        foreign = name == LITELLM
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [known.get(word, word) for word in command],
                stdout=log,
                stderr=log,
                cwd=self._folder if foreign else None,
                env=gateway_litellm.environment() if foreign else None,
            )
        self._running.append(process)
        self.ports[name], self.pids[name] = port, process.pid
        return port, process

    def stop(self) -> None:
        """End them."""
        for process in self._running:
            process.terminate()
        for process in self._running:
            process.wait()


@contextmanager
def servers(base: int) -> Iterator[Servers]:
    """The processes, on ports from ``base`` on; ended whatever happens."""
    with tempfile.TemporaryDirectory() as folder:
        made = Servers(base, Path(folder))
        try:
            yield made
        finally:
            made.stop()
