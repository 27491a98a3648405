"""The product as a user has it: `promptcache serve` with the real model, in a process of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import openai
import pytest

START_SECONDS = 120
MODEL = "smollm2-135m-instruct"
RULES = "\n".join(
    f"Rule {n}. When a customer asks about topic {n}, answer in two sentences and cite section {n}, politely."
    for n in range(1, 58)
)


@dataclass(frozen=True)
class Served:
    """A running gateway: its address and a client for it."""

    url: str
    client: openai.OpenAI

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, timeout=30)

    def post(self, path: str) -> httpx.Response:
        return httpx.post(self.url + path, timeout=30)


@contextmanager
def serve(folder: Path) -> Iterator[Served]:
    """Run the command until the block ends; it must then end well."""
    port = free_port()
    log = folder / "log"
    command = [sys.executable, "-m", "promptcache", "serve", "--port", str(port), "--data-dir", str(folder)]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, stdout=sink, stderr=subprocess.STDOUT, env=os.environ | {"OMP_NUM_THREADS": "2"}
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_ready(url, process, log)
        with openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=120) as client:
            yield Served(url, client)
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(30)
    assert status == 0, log.read_text(encoding="utf-8")


def wait_until_ready(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        try:
            if httpx.get(f"{url}/health", timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail(f"not ready after {START_SECONDS} s:\n{log.read_text(encoding='utf-8')}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def ask(served: Served, messages, **extra):
    """One greedy chat completion: its response headers and the parsed answer."""
    raw = served.client.chat.completions.with_raw_response.create(
        model=MODEL, messages=messages, max_tokens=8, temperature=0, **extra
    )
    return raw.headers, raw.parse()


def with_system(system: str, question: str):
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]
