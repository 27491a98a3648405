"""Run a client library's own tests against the gateway, in front of a mock upstream.

    python scripts/run_client_tests.py openai
    python scripts/run_client_tests.py anthropic [FOLDER]

Without FOLDER (an unpacked source distribution) pip fetches that of the installed version, whose tests know
its types, into a temporary folder, and there too what the tests' own set-up imports and is not installed.
They send every documented parameter, which no real server takes at once, hence the mock: it answers each
route with one plausible object. What is run is what the gateway serves; the rest of a client's surface
(files, fine-tuning, batches, realtime…) is outside it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CHAT_USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
MODEL = {"id": "model", "object": "model", "created": 1, "owned_by": "mock"}
ANSWERS: dict[str, Any] = {
    "/v1/chat/completions": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi.", "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": CHAT_USAGE,
    },
    "/v1/completions": {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "text": "Hi.", "finish_reason": "stop", "logprobs": None}],
        "usage": CHAT_USAGE,
    },
    "/v1/embeddings": {
        "object": "list",
        "model": "m",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.1, 0.2]}],
        "usage": {"prompt_tokens": 2, "total_tokens": 2},
    },
    "/v1/responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "m",
        "output": [],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    },
    "/v1/messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hi."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 2},
    },
    "/v1/messages/count_tokens": {"input_tokens": 9},
}
# Test files of each client, the tests among them that stay within the gateway's surface, and pytest's -k.
SUITES = {
    "openai": (
        (
            "tests/api_resources/test_completions.py",
            "tests/api_resources/test_embeddings.py",
            "tests/api_resources/test_models.py",
            "tests/api_resources/chat/test_completions.py",
            "tests/api_resources/test_responses.py",
            "tests/api_resources/beta/test_responses.py",
        ),
        (
            "(test_completions and create) or (test_responses and create) or test_embeddings"
            " or (test_models and not delete)"
        ),
    ),
    "anthropic": (
        (
            "tests/api_resources/test_messages.py",
            "tests/api_resources/test_models.py",
            "tests/api_resources/beta/test_messages.py",
            "tests/api_resources/beta/test_models.py",
        ),
        "test_messages or test_models",
    ),
}
# What a client's conftest.py imports beside what the gateway's own tests need, and what that needs in turn.
SET_UP = {"openai": (), "anthropic": ("inline-snapshot", "http-snapshot", "asttokens", "executing")}


class Mock(BaseHTTPRequestHandler):
    """Answers each route with its object; a stream with an event or two of the route's shape."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Models: a list, or one."""
        name = self.path.partition("?")[0].removeprefix("/v1/models").strip("/")
        shown = {**MODEL, "type": "model", "display_name": "m", "lifecycle": "active"}
        shown["created_at"] = "2026-01-01T00:00:00Z"
        listed = {"object": "list", "data": [shown], "has_more": False, "first_id": None, "last_id": None}
        self._send(shown | {"id": name} if name else listed)

    def do_POST(self) -> None:
        """The answer of the route."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        answer = ANSWERS[self.path.partition("?")[0]]
        if not body.get("stream"):
            self._send(answer)
            return
        data = b"data: " + json.dumps(answer).encode() + b"\n\ndata: [DONE]\n\n"
        if "messages" in self.path:
            data = b'event: message_stop\ndata: {"type": "message_stop"}\n\n'
        self._write(data, "text/event-stream")

    def _send(self, value: Any) -> None:
        self._write(json.dumps(value).encode(), "application/json")

    def _write(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> int:
    """Start mock and gateway, run the tests; pytest's exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("client", choices=sorted(SUITES))
    parser.add_argument("folder", type=Path, nargs="?", help="the client's unpacked source distribution")
    arguments, more = parser.parse_known_args()
    mock = ThreadingHTTPServer(("127.0.0.1", 0), Mock)
    threading.Thread(target=mock.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        sources = arguments.folder or fetched(arguments.client, scratch)
        set_up(arguments.client, scratch)
        gateway, address = start_gateway(arguments.client, f"http://127.0.0.1:{mock.server_port}", scratch)
        try:
            return run_tests(arguments.client, sources, scratch, address, more)
        finally:
            gateway.terminate()
            gateway.wait(30)
            mock.shutdown()


def fetched(client: str, scratch: Path) -> Path:
    """The unpacked source distribution of the client's installed version."""
    wanted = f"{client}=={importlib.metadata.version(client)}"
    pip("download", "--no-deps", "--no-binary", client, "--dest", str(scratch), wanted)
    (archive,) = scratch.glob(f"{client}-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(scratch, filter="data")
    return scratch / archive.name.removesuffix(".tar.gz")


def set_up(client: str, scratch: Path) -> None:
    """Put what the tests' own set-up imports where `run_tests` has it found, not into this environment."""
    missing = [name for name in SET_UP[client] if importlib.util.find_spec(name.replace("-", "_")) is None]
    if missing:
        pip("install", "--no-deps", "--target", str(scratch / "set_up"), *missing)


def pip(*arguments: str) -> None:
    """Run pip; what it complains of is shown."""
    subprocess.run([sys.executable, "-m", "pip", "-q", *arguments], check=True)


def start_gateway(client: str, upstream: str, folder: Path) -> tuple[subprocess.Popen[str], str]:
    """The gateway's process, and its address once it serves."""
    kind = "anthropic" if client == "anthropic" else "openai"
    serve = "import sys; from promptcache_gateway.cli import main; sys.exit(main())"
    told = ["--upstream", upstream, "--upstream-kind", kind, "--port", "0", "--data-dir", str(folder)]
    gateway = subprocess.Popen(
        [sys.executable, "-c", serve, *told, "--log-format", "json"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert gateway.stderr is not None
    for line in gateway.stderr:
        said = json.loads(line)
        if said["message"] == "serving":
            with urllib.request.urlopen(f"{said['address']}/health", timeout=10):
                return gateway, said["address"]
    raise SystemExit("the gateway did not start")


def run_tests(client: str, folder: Path, scratch: Path, address: str, more: list[str]) -> int:
    """Run the chosen tests against ``address``; ``more`` goes to pytest."""
    files, chosen = SUITES[client]
    # Stainless's clients end their addresses differently: OpenAI's without a version, Anthropic's add it.
    environment = os.environ | {"TEST_API_BASE_URL": f"{address}/v1" if client == "openai" else address}
    paths = (str(scratch / "set_up"), os.environ.get("PYTHONPATH"))
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", ".", "-o", "asyncio_mode=auto"]
    command += ["-o", "asyncio_default_fixture_loop_scope=session"]
    command += ["-p", "no:cacheprovider", "-q", "-k", chosen, *more, *files]
    return subprocess.run(command, check=False, cwd=folder, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
