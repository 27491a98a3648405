"""Other people's clients through the gateway: chat, streams, tools, and cached tokens as they read them.

None is needed to use promptcache; each test is skipped where its client is not installed (extra `clients`).
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.gateway.clients.others import ARGUMENTS, USES
from tests.gateway.mock_upstream import CHAT, DONE, USAGE_CHUNK, Wire, chunk, sse

if TYPE_CHECKING:
    from tests.gateway.mock_upstream import MockUpstream
    from tests.gateway.serving import Served

# Where scripts/install_js_clients.sh puts them.
JS_CLIENTS = Path(
    os.environ.get("PROMPTCACHE_JS_CLIENTS", Path(__file__).parents[3] / ".venv" / "js-clients")
)
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}


async def answer_with_tools(wire: Wire) -> None:
    """As OpenAI does: a call where tools are offered and none has answered, else text."""
    request = json.loads(wire.seen.body)
    calls = bool(request.get("tools")) and request["messages"][-1]["role"] != "tool"
    if not request.get("stream"):
        message = {"role": "assistant", "content": None if calls else "Hello there."}
        if calls:
            message["tool_calls"] = [CALL]
        finish = "tool_calls" if calls else "stop"
        body = {
            **CHAT,
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        }
        await wire.respond(json.dumps(body).encode())
        return
    delta = chunk("")
    delta["choices"] = [{"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}, "finish_reason": None}]
    end = chunk("")
    end["choices"] = [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]
    parts = [delta] if calls else [chunk("Hello"), chunk(" there.")]
    asked = (request.get("stream_options") or {}).get("include_usage")
    tail = [sse(USAGE_CHUNK)] if asked else []
    await wire.events(*map(sse, [*parts, end]), *tail, DONE)


@pytest.mark.parametrize("name", sorted(USES))
def test_a_client_of_others(name: str, proxied: Served, mock: MockUpstream) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed (extra `clients`)")
    mock.script = answer_with_tools
    address = f"{proxied.url}/v1"
    _use([sys.executable, "-W", "ignore", "-m", "tests.gateway.clients.others", name, address], mock)


def test_the_vercel_ai_sdk(proxied: Served, mock: MockUpstream) -> None:
    node, installed = shutil.which("node"), JS_CLIENTS / "node_modules" / "ai"
    if node is None:
        pytest.skip("node is not installed")
    if not installed.is_dir():
        pytest.skip(f"the AI SDK is not in {JS_CLIENTS}: scripts/install_js_clients.sh installs it")
    mock.script = answer_with_tools
    _use([node, str(Path(__file__).with_name("vercel_ai.mjs")), f"{proxied.url}/v1", str(JS_CLIENTS)], mock)


def _use(command: list[str], mock: MockUpstream) -> None:
    """Run a client's use in a process of its own: it asked for a stream, and offered tools."""
    environ = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LANGSMITH_TRACING": "false"}
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environ, check=False)

    assert told.returncode == 0, told.stderr[-2_000:]
    assert "cached tokens" in told.stdout
    bodies = [json.loads(seen.body) for seen in mock.seen]
    assert any(body.get("stream") for body in bodies)
    assert any(body.get("tools") for body in bodies)
