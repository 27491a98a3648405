"""Whatever form a server writes a chat's answer in, all ways of translating it tell the same."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache.usage import Usage
from promptcache_gateway.translate.at_once import events_of
from promptcache_gateway.translate.events import read_events
from promptcache_gateway.translate.gathered import CompletionParts
from promptcache_gateway.translate.message_answers import MessageEvents, to_message
from promptcache_gateway.translate.response_answers import to_response
from promptcache_gateway.translate.response_events import ResponseEvents
from tests.gateway.translate.test_answers import assembled, call, chunk, translated
from tests.gateway.translate.test_other_ways import gathered
from tests.gateway.translate.test_responses import _without_ids, frame

SAID = {"type": "text", "text": "a"}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]}


def tool(name: str | None, arguments: str) -> dict[str, Any]:
    named = {} if name is None else {"id": name}
    return {**named, "type": "function", "function": {"name": "f", "arguments": arguments}}


def block(name: str, arguments: dict[str, int]) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "f", "input": arguments}


TEXTS = [{"type": "text", "text": "ab"}]
FORMS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "parts": (
        {"content": [THOUGHT, SAID, {"type": "reference", "reference_ids": [1]}, {**SAID, "text": "b"}]},
        [chunk(content=[THOUGHT]), chunk(content="a"), chunk(content=[{**SAID, "text": "b"}])],
        [{"type": "thinking", "thinking": "hm", "signature": ""}, *TEXTS],
    ),
    "text and a refusal": (
        {"content": "well", "refusal": "no"},
        [chunk(content="we"), chunk(content="ll"), chunk(refusal="n"), chunk(refusal="o")],
        [{"type": "text", "text": "well"}, {"type": "text", "text": "no"}],
    ),
    "nothing": ({"content": ""}, [chunk(role="assistant", content="")], []),
    "a thought and nothing": (
        {"reasoning_content": "hm"},
        [chunk(reasoning_content="h"), chunk(reasoning_content="m")],
        [{"type": "thinking", "thinking": "hm", "signature": ""}],
    ),
    "a refusal among parts": (
        {"content": [{"type": "refusal", "refusal": "No."}]},
        [chunk(content=[{"type": "refusal", "refusal": one}]) for one in ("N", "o.")],
        [{"type": "text", "text": "No."}],
    ),
    "the call of a function": (
        {"content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}},
        [chunk(function_call={"name": "f", "arguments": ""})]
        + [chunk(function_call={"arguments": one}) for one in ('{"a"', ":1}")],
        [block("toolu_x_0", {"a": 1})],
    ),
    "calls without ids": (
        {"tool_calls": [tool(None, "{}"), tool(None, '{"a":1}')]},
        [call(0, "{}", name="f"), call(1, '{"a":1}', name="f")],
        [block("toolu_x_0", {}), block("toolu_x_1", {"a": 1})],
    ),
    "arguments that are an object": (
        {"tool_calls": [{**tool("c1", ""), "function": {"name": "f", "arguments": {"a": 1}}}]},
        [chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}])],
        [block("c1", {"a": 1})],
    ),
    "calls that are all numbered 0": (
        {"tool_calls": [tool("c1", '{"a":1}'), tool("c2", '{"a":2}')]},
        [call(0, '{"a":', id="c1", name="f"), call(0, "1}"), call(0, '{"a":2}', id="c2", name="f")],
        [block("c1", {"a": 1}), block("c2", {"a": 2})],
    ),
    "a call that is named with each piece": (
        {"tool_calls": [tool("c1", '{"a":1}')]},
        [call(0, one, id="c1", name="f") for one in ('{"a"', ":1}")],
        [block("c1", {"a": 1})],
    ),
}


@pytest.mark.parametrize(("message", "deltas", "content"), FORMS.values(), ids=FORMS)
def test_every_form_is_told_the_same_in_every_way(
    message: dict[str, Any], deltas: list[dict[str, Any]], content: list[dict[str, Any]]
) -> None:
    answer = {"id": "c", "model": "m-1", "choices": [{"index": 0, "message": message}]}
    response = _comparable(to_response(answer, frame()))
    for told in (answer, gathered(CompletionParts(), deltas, {})):
        assert to_message(told, "m", "msg_x")["content"] == content
        assert _comparable(to_response(told, frame())) == response
    for events in (deltas, list(events_of(answer))):
        assert assembled(translated(MessageEvents("m", "msg_x", None), events))["content"] == content
        translator = ResponseEvents(frame())
        out = b"".join(map(translator.take, events)) + translator.end(Usage.unreported())
        *steps, last = read_events(out)
        assert _comparable(last["response"]) == response
        done = {"response.output_item.done": "item", "response.content_part.done": "part"}
        told = [step[done[step["type"]]] for step in steps if step["type"] in done]
        items = [one for one in told if "id" in one]
        assert items == last["response"]["output"]
        assert [part for item in items for part in item.get("content", ())] == [
            one for one in told if "id" not in one
        ]


def _comparable(response: dict[str, Any]) -> dict[str, Any]:
    """Without the ids that were made."""
    made = _without_ids(response)["output"]
    given = ("c1", "c2")
    return {
        "output": [{**item, "call_id": item.get("call_id") in given and item["call_id"]} for item in made]
    }
