"""The providers' routes, tried out with generated requests: whatever is sent, the gateway does not fail.

Requests fit the description (`model_routes`), or do not. Each model stands for a kind of upstream: most are
translated, or read by the built-in engine. The upstreams are never at fault here.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings, UpstreamSettings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.anthropic_wire import answer_messages
from tests.gateway.mock_upstream import answer_chat, mock_upstream
from tests.gateway.model_routes import description
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateway.mock_upstream import Wire

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis.errors import Unsatisfiable  # noqa: E402

MODES = schemathesis.GenerationMode
CHAT, CLAUDE, BOTH, ENGINE = "m", "claude-x", "both", "tiny"
APIS = ("chat", "completions", "embeddings", "messages")
EXAMPLES = 20
SERVED = {
    "/v1/chat/completions": ("choices", "data: [DONE]"),
    "/v1/messages": ("content", "event: message_stop"),
    "/v1/responses": ("output", "event: response."),
}
"""What every model here serves; what is in an answer, and what ends a stream."""


async def answer_either(wire: Wire) -> None:
    """Answer in the API that is asked, or refuse in its words what the script cannot read."""
    anthropic = "/messages" in wire.seen.line
    try:
        await (answer_messages if anthropic else answer_chat)(wire)
    except (AttributeError, TypeError):  # before a byte is sent
        error: dict[str, Any] = {"type": "invalid_request_error", "message": "This is no request."}
        told = (
            {"type": "error", "error": error}
            if anthropic
            else {"error": {**error, "param": None, "code": None}}
        )
        await wire.respond(json.dumps(told).encode(), status="400 Bad Request")


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Served]]:
    engine = Engine.from_loaded(
        tiny_model(seed=0), EngineConfig(model="tiny", kv_cache_tokens=1024, max_context=512)
    )
    with ExitStack() as stack:
        chat, claude, either = (
            stack.enter_context(mock_upstream(script))
            for script in (answer_chat, answer_messages, answer_either)
        )
        upstreams = (
            UpstreamSettings(name="chat", url=chat.url, apis=("chat",), models=(CHAT,)),
            UpstreamSettings(name="claude", url=claude.url, kind="anthropic", models=(CLAUDE,)),
            UpstreamSettings(name="both", url=either.url, models=(BOTH,), apis=APIS),
        )
        folder = tmp_path_factory.mktemp("data")
        foreign = stack.enter_context(serve(Settings(upstreams=upstreams, data_dir=folder / "foreign")))
        local = LocalUpstream(EngineSettings(model="tiny"), engine)
        own = stack.enter_context(serve(Settings(data_dir=folder / "own"), upstream=local))
        yield {CHAT: foreign, CLAUDE: foreign, BOTH: foreign, ENGINE: own}


@pytest.mark.parametrize("mode", [MODES.POSITIVE, MODES.NEGATIVE], ids=["fits", "does not fit"])
@pytest.mark.parametrize("model", [CHAT, CLAUDE, BOTH, ENGINE])
def test_no_request_to_a_model_makes_it_fail(houses: dict[str, Served], model: str, mode: Any) -> None:
    schema = schemathesis.openapi.from_dict(description(model))
    schema.config.update(base_url=houses[model].url)
    met = {
        operation.path: statuses_of(operation, mode)
        for operation in (result.ok() for result in schema.get_all_operations())
    }
    answered = set().union(*(met[path] for path in SERVED))
    assert mode == MODES.NEGATIVE or 200 in answered, "or nothing was tried out"
    assert mode == MODES.POSITIVE or answered & {400, 404}


def statuses_of(operation: Any, mode: Any) -> set[int]:
    """Try one operation; what its answers' statuses were."""
    met: set[int] = set()

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def attempt(case: Any) -> None:
        answer = case.call(timeout=20)
        met.add(answer.status_code)
        judge(answer, case.formatted_path)

    try:
        attempt()
    except Unsatisfiable:
        assert mode == MODES.NEGATIVE  # nothing can be wrong where nothing is asked for
    return met


def judge(answer: Any, path: str) -> None:
    """An answer, or a refusal in the words of the API that was asked; a stream ends without an error."""
    if answer.status_code >= 400:
        error = answer.json()["error"]
        assert answer.status_code < 500 or (answer.status_code, path[-12:]) == (501, "count_tokens"), error
        if "/messages" in path and answer.request.method == "POST":
            assert set(error) == {"type", "message"}
        else:
            assert set(error) >= {"message", "type", "param", "code"}
        return
    member, end = SERVED.get(path, ("", ""))
    if answer.headers["content-type"][0].startswith("text/event-stream"):
        assert "event: error" not in answer.text
        assert '"error":{' not in answer.text
        assert end in answer.text
    else:
        told = json.loads(answer.content)
        assert not member or member in told
