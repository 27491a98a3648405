"""What Anthropic's callers read where a request is refused: their API's words and places, not another's."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings, UpstreamSettings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.mock_upstream import answer_chat, mock_upstream
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

HI = {"role": "user", "content": "Hi"}
OTHER_API = "cannot be translated for this model's upstream, which speaks another API."


def of(*blocks: Any) -> dict[str, Any]:
    return {
        "messages": [HI, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": [*blocks]}]
    }


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Served]]:
    engine = Engine.from_loaded(tiny_model(seed=0), EngineConfig(model="tiny", kv_cache_tokens=8192))
    with ExitStack() as stack:
        mock = stack.enter_context(mock_upstream(answer_chat))
        folder = tmp_path_factory.mktemp("data")
        chat = UpstreamSettings(url=mock.url, apis=("chat",), models=("m*",))
        local = LocalUpstream(EngineSettings(model="tiny"), engine)
        yield {
            "m": stack.enter_context(serve(Settings(upstreams=(chat,), data_dir=folder / "chat"))),
            "tiny": stack.enter_context(serve(Settings(data_dir=folder / "engine"), upstream=local)),
        }


ALIKE = [
    (of({"type": "image"}), "Invalid value for 'messages.2.content.0.source': expected an object."),
    (of({"type": "text", "text": "a"}, 3), "Invalid value for 'messages.2.content.1': expected an object."),
    (of({"type": "search_result"}), f"The block 'search_result' at 'messages.2.content.0' {OTHER_API}"),
    ({"messages": [3]}, "Invalid value for 'messages.0': expected an object."),
    ({"tools": [{"name": 3}]}, "Invalid value for 'tools.0.name': expected a string."),
    (
        {"tools": [{"type": "web_search_20250305", "name": "w"}]},
        f"The provider's own tool 'web_search_20250305' at 'tools.0' {OTHER_API}",
    ),
    ({"system": [3]}, "Invalid value for 'system.0': expected an object."),
    ({"mcp_servers": [{"name": "x"}]}, f"'mcp_servers' {OTHER_API}"),
    ({"container": "c"}, f"'container' {OTHER_API}"),
    ({"context_management": {"edits": [{"type": "clear_tool_uses"}]}}, f"'context_management' {OTHER_API}"),
    ({"model": 3}, "Invalid value for 'model': expected a string."),
]
OF_THE_ENGINE = [
    (
        of({"type": "image", "source": {"type": "url", "url": "https://h/x.png"}}),
        "'messages.2.content.0': the built-in engine takes text only, no images, sound or files.",
    ),
    (
        {"tools": [{"name": "f", "input_schema": 3}]},
        "Invalid value for 'tools.0.input_schema': expected a JSON schema.",
    ),
    (
        {"tools": [{"name": "f"}], "tool_choice": {"type": "tool", "name": "g"}},
        "Invalid value for 'tool_choice.name': expected the name of one of 'tools'.",
    ),
    (
        of({"type": "tool_result", "tool_use_id": "x", "content": "r"}),
        "Invalid value for 'messages.2.content.0.tool_use_id': no tool call before it has the id 'x'.",
    ),
    (
        {"messages": [HI, {"role": "assistant", "content": "The"}]},
        f"The beginning of an answer at 'messages.1' {OTHER_API}",
    ),
]


@pytest.mark.parametrize(
    ("model", "body", "said"),
    [(model, *case) for model in ("m", "tiny") for case in ALIKE]
    + [("tiny", *case) for case in OF_THE_ENGINE],
)
def test_a_refusal_names_the_place_as_anthropic_does(
    houses: dict[str, Served], model: str, body: dict[str, Any], said: str
) -> None:
    asked = {"model": model, "max_tokens": 5, "messages": [HI], **body}
    answers = [houses[model].post(asked, path="/v1/messages")]
    if "beginning" not in said:  # to count one is another matter
        answers.append(houses[model].post(asked, path="/v1/messages/count_tokens"))
    for answer in answers:
        error = answer.json()["error"]
        assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
        assert error["message"] == said


def test_openai_s_callers_read_places_as_openai_writes_them(houses: dict[str, Served]) -> None:
    answer = houses["tiny"].post({"model": "tiny", "messages": [HI, 3]})
    assert "'messages[1]'" in answer.json()["error"]["message"]
    assert answer.json()["error"]["param"] == "messages[1]"


def test_where_no_model_has_a_name_none_is_listed(houses: dict[str, Served]) -> None:
    """Its upstream takes whatever a pattern matches."""
    asked = {"model": "x", "max_tokens": 5, "messages": [HI]}
    answer = houses["m"].post(asked, path="/v1/messages")
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")
    assert answer.json()["error"]["message"] == "The model 'x' does not exist here."
