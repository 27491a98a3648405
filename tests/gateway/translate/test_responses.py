"""OpenAI's responses over chat completions: golden requests and answers, whole and event by event."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import ResponseErrorEvent

from promptcache.usage import Usage
from promptcache_gateway.errors import ApiError
from promptcache_gateway.exchange import Call
from promptcache_gateway.translate.chat_to_messages import chat_to_messages
from promptcache_gateway.translate.events import read_events
from promptcache_gateway.translate.flavor import BY_BLOCKS, ENGINE, LENIENT, STRICT, Flavor
from promptcache_gateway.translate.places import own_place
from promptcache_gateway.translate.response_answers import response_frame, to_response
from promptcache_gateway.translate.response_events import ResponseEvents
from promptcache_gateway.translate.responses_to_chat import response_path, responses_to_chat
from promptcache_gateway.translate.seals import sealed
from tests.gateway.translate.test_answers import CHUNKS, COMPLETION, USAGE

SCHEMA = {"type": "object"}
CALL = {"type": "function_call", "call_id": "c1", "name": "t", "arguments": '{"a": 1}'}
MARK = {"mode": "explicit"}
REQUEST: dict[str, Any] = {
    "model": "alias",
    "instructions": "Be terse.",
    "input": [
        {"role": "user", "content": "Hi"},
        {"type": "reasoning", "id": "rs", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Looking.", "annotations": []}],
        },
        CALL,
        {**CALL, "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {
            "role": "developer",
            "content": [{"type": "input_text", "text": "New rule.", "prompt_cache_breakpoint": MARK}],
        },
        {
            "role": "user",
            "content": [{"type": "input_image", "image_url": "https://x/y", "detail": "low"}],
        },
    ],
    "tools": [{"type": "function", "name": "t", "description": None, "parameters": SCHEMA, "strict": True}],
    "tool_choice": {"type": "function", "name": "t"},
    "max_output_tokens": 9,
    "text": {"format": {"type": "json_schema", "name": "o", "schema": SCHEMA, "strict": True}},
    "reasoning": {"effort": "low"},
    "temperature": 0.1,
    "store": False,
    "stream": True,
}
FUNCTION = {"name": "t", "arguments": '{"a": 1}'}
CHAT: dict[str, Any] = {
    "model": "m",
    "tools": [{"type": "function", "function": {"name": "t", "parameters": SCHEMA, "strict": True}}],
    "tool_choice": {"type": "function", "function": {"name": "t"}},
    "max_tokens": 9,
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "o", "schema": SCHEMA, "strict": True},
    },
    "reasoning_effort": "low",
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0.1,
    "messages": [
        {"role": "system", "content": "Be terse."},
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Looking."}],
            "tool_calls": [
                {"id": "c1", "type": "function", "function": FUNCTION},
                {"id": "c2", "type": "function", "function": FUNCTION},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {
            "role": "system",
            "content": [{"type": "text", "text": "New rule.", "prompt_cache_breakpoint": MARK}],
        },
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "https://x/y", "detail": "low"}}],
        },
    ],
}


def test_a_request() -> None:
    translated = responses_to_chat(REQUEST, "m", LENIENT)
    assert translated == CHAT
    assert list(translated) == list(CHAT)
    assert responses_to_chat(REQUEST, "m", STRICT)["max_completion_tokens"] == 9
    terse = {"input": "x", "text": {"verbosity": "low"}}
    assert responses_to_chat(terse, "m", STRICT)["verbosity"] == "low"
    assert "verbosity" not in responses_to_chat(terse, "m", ENGINE)


def test_a_text_is_a_user_s_message() -> None:
    assert responses_to_chat({"input": "Hi"}, "m", ENGINE)["messages"] == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": "x", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"input": "x", "background": True}, "background"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0]"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "input[0].content[0]"),
        ({"input": [{"type": "function_call", "name": "t", "arguments": "{}"}]}, "input[0].call_id"),
        ({"input": "x", "tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"input": "x", "tool_choice": {"type": "mcp"}}, "tool_choice"),
        ({"input": "x", "include": ["message.output_text.logprobs"]}, "include[0]"),
        ({"input": "x", "prompt_cache_options": {"prewarm": True}}, "prompt_cache_options.prewarm"),
    ],
)
def test_what_cannot_be_said_in_chat_names_its_place(body: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        responses_to_chat(body, "m", LENIENT)
    assert (caught.value.status, caught.value.param) == (400, param)


def spoken(*items: dict[str, Any], flavor: Flavor = LENIENT) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = responses_to_chat({"input": list(items)}, "m", flavor)["messages"]
    return messages


def thought(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs", "content": [{"type": "reasoning_text", "text": text}], **more}


def test_what_chooses_among_tools_is_said_where_there_are_any() -> None:
    asked = {"input": "x", "tool_choice": "auto", "parallel_tool_calls": False}
    assert set(responses_to_chat(asked, "m", LENIENT)) == {"model", "messages"}
    told = responses_to_chat({**asked, "tools": REQUEST["tools"]}, "m", LENIENT)
    assert (told["tool_choice"], told["parallel_tool_calls"]) == ("auto", False)
    assert responses_to_chat({**asked, "tool_choice": "required"}, "m", LENIENT)["tool_choice"] == "required"


def test_a_sound_is_the_same_part_in_a_chat() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    assert spoken({"role": "user", "content": [sound]})[0]["content"] == [sound]


RESULTS = [{"type": "function_call_output", "call_id": name, "output": "r"} for name in ("c1", "c2")]


@pytest.mark.parametrize("between", [thought("b"), {"role": "assistant", "content": "b"}])
def test_nothing_stands_between_calls_and_their_results(between: dict[str, Any]) -> None:
    """A chat's calls are one message, and the next ones are their results."""
    told = spoken(thought("a"), CALL, between, {**CALL, "call_id": "c2"}, *RESULTS)
    assert [message["role"] for message in told] == ["assistant", "tool", "tool"]
    assert [call["id"] for call in told[0]["tool_calls"]] == ["c1", "c2"]
    thoughtful = between["type"] == "reasoning" if "type" in between else False
    assert told[0]["reasoning_content"] == ("ab" if thoughtful else "a")
    assert told[0]["content"] == (None if thoughtful else "b")


def test_what_is_said_around_calls_is_one_text_in_parts() -> None:
    said = {"role": "assistant", "content": "x"}
    (message,) = spoken(said, CALL, {**said, "content": [{"type": "output_text", "text": "y"}]})
    assert message["content"] == [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]


def test_signed_thoughts_go_back_to_anthropic_where_they_stood_and_nowhere_else() -> None:
    blocks = [
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
    ]
    items = [
        thought("a", encrypted_content=sealed(blocks)),
        CALL,
        thought("b", encrypted_content=sealed(blocks[1:])),
    ]
    again = {**CALL, "call_id": "c2"}
    asked = spoken({"role": "user", "content": "q"}, *items, again, *RESULTS, flavor=BY_BLOCKS)
    turn = chat_to_messages({"messages": asked}, "m")["messages"][1]["content"]
    assert [block["type"] for block in turn] == [
        *("thinking", "redacted_thinking", "tool_use", "redacted_thinking", "tool_use")
    ]
    assert turn[:2] == blocks
    assert "thinking_blocks" not in str(spoken(*items))
    for other in ("gAAAA", sealed([])[:-4] + "?", "thinking_blocks.bnVsbA==", None):
        told = spoken(thought("a", encrypted_content=other), CALL, flavor=BY_BLOCKS)
        assert told == spoken(CALL, flavor=BY_BLOCKS)


def frame() -> dict[str, Any]:
    call = Call(
        id="pcr_1",
        received_at=5.5,
        dialect="openai.responses",
        path="/v1/responses",
        body=b"",
        payload=REQUEST,
        model="m",
        stream=True,
        tenant="default",
        template=None,
        upstream="u",
        use_cache=True,
        want_body=False,
    )
    return response_frame(call, "resp_1")


def test_a_whole_answer() -> None:
    made = to_response(COMPLETION, frame())
    assert (made["id"], made["status"], made["model"], made["created_at"]) == (
        "resp_1",
        "completed",
        "m-1",
        5,
    )
    assert made["instructions"] == "Be terse."
    thought, message, first, second = made["output"]
    assert (thought["type"], thought["content"][0]["text"]) == ("reasoning", "hm")
    assert message["content"][0]["text"] == "Hi é"
    assert (first["type"], first["call_id"], first["arguments"]) == ("function_call", "c1", '{"a": 1}')
    assert (second["call_id"], second["status"]) == ("c2", "completed")
    assert made["usage"]["input_tokens"] == 100
    assert made["usage"]["input_tokens_details"] == {"cached_tokens": 60, "cache_write_tokens": 10}


@pytest.mark.parametrize(
    ("reason", "said"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_an_answer_that_was_cut(reason: str, said: str) -> None:
    answer = {"choices": [{"message": {"content": "x"}, "finish_reason": reason}]}
    made = to_response(answer, frame())
    assert (made["status"], made["incomplete_details"]) == ("incomplete", {"reason": said})
    assert made["output"][-1]["status"] == "incomplete"
    assert made["usage"] is None, "what was not reported is no zero"
    told = to_response({**answer, "usage": {"prompt_tokens": 9, "completion_tokens": 0}}, frame())["usage"]
    assert (told["input_tokens"], told["output_tokens"], told["total_tokens"]) == (9, 0, 9)
    assert "input_tokens_details" not in told, "nor is what was reported of the rest"


def test_only_the_item_that_was_being_written_is_incomplete() -> None:
    said = {
        "content": "x",
        "tool_calls": [{"index": at, "id": f"c{at}", "function": FUNCTION} for at in (0, 1)],
    }
    whole = to_response({"choices": [{"message": said, "finish_reason": "length"}]}, frame())
    translator = ResponseEvents(frame())
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": "x"}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": said["tool_calls"]}, "finish_reason": "length"}]},
    ]
    out = b"".join(map(translator.take, chunks)) + translator.end(Usage.from_stream(chunks))
    events = list(read_events(out))
    last = events[-1]["response"]
    assert last["status"] == "incomplete"
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    for output in (whole["output"], last["output"], done):
        assert [item["status"] for item in output] == ["completed", "completed", "incomplete"]
    text = ResponseEvents(frame())
    cut = b"".join(
        map(text.take, [chunks[0], {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}])
    )
    *_, done_item, response = read_events(cut + text.end(Usage.unreported()))
    assert response["response"]["usage"] is None
    assert done_item["item"]["status"] == response["response"]["output"][0]["status"] == "incomplete"


def test_what_is_said_instead_of_an_answer_is_a_refusal() -> None:
    """Else a client that expects JSON would take it for an answer."""
    part = {"type": "refusal", "refusal": "I will not."}
    made = to_response({"choices": [{"message": {"content": None, "refusal": "I will not."}}]}, frame())
    assert [item["content"] for item in made["output"]] == [[part]]
    translator = ResponseEvents(frame())
    deltas = [
        {"role": "assistant", "content": "", "refusal": None},
        {"refusal": "I "},
        {"refusal": "will not."},
    ]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events = list(read_events(b"".join(map(translator.take, chunks)) + translator.end(Usage.unreported())))
    told = [(event["type"], event.get("delta") or event.get("refusal")) for event in events[4:7]]
    assert told == [
        ("response.refusal.delta", "I "),
        ("response.refusal.delta", "will not."),
        ("response.refusal.done", "I will not."),
    ]
    assert [item["content"] for item in events[-1]["response"]["output"]] == [[part]]


def test_events_tell_the_same() -> None:
    translator = ResponseEvents(frame())
    out = b"".join(translator.take(chunk) for chunk in CHUNKS) + translator.end(Usage.from_stream(CHUNKS))
    events = list(read_events(out))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events][:2] == ["response.created", "response.in_progress"]
    last = events[-1]
    assert last["type"] == "response.completed"
    whole = to_response(COMPLETION, frame())
    assert _without_ids(last["response"]) == _without_ids(whole)
    text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    assert text == "Hi é"
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == last["response"]["output"]
    assert USAGE["total_tokens"] == last["response"]["usage"]["total_tokens"]


def test_an_error_is_the_next_event_and_one_that_the_client_knows() -> None:
    translator = ResponseEvents(frame())
    out = translator.take(CHUNKS[0]) + translator.fail(ApiError(502, "no", kind="upstream_error", code="c"))
    *before, last = read_events(out)
    told = ResponseErrorEvent.model_validate(last, strict=True)
    assert (told.code, told.message, told.sequence_number) == ("c", "no", len(before))


def test_token_ids_are_told_where_the_upstream_tells_them() -> None:
    choice = {"message": {"content": "x"}, "finish_reason": "stop", "token_ids": [7, 8]}
    whole = to_response({"choices": [choice], "prompt_token_ids": [1, 2]}, frame())
    assert (whole["prompt_token_ids"], whole["token_ids"]) == ([1, 2], [7, 8])
    translator = ResponseEvents(frame())
    chunks: list[dict[str, Any]] = [
        {"prompt_token_ids": [1, 2], "choices": [{"index": 0, "delta": {"content": ""}}]},
        {"choices": [{"index": 0, "delta": {"content": "x"}, "token_ids": [7]}]},
        {"choices": [{"index": 0, "delta": {"content": "y"}, "token_ids": [8]}]},
    ]
    out = b"".join(map(translator.take, chunks)) + translator.end(Usage.from_stream(chunks))
    last = list(read_events(out))[-1]["response"]
    assert (last["prompt_token_ids"], last["token_ids"]) == ([1, 2], [7, 8])
    assert "token_ids" not in to_response(COMPLETION, frame())


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("messages", "input"),
        ("messages[0].content", "instructions"),
        ("messages[1].content[1].text", "input[0].content[1].text"),
        ("messages[1].role", "input[0].role"),
        ("messages[2]", "input[1]"),
        ("messages[2].content", "input[2].content"),
        ("messages[2].tool_calls[0].id", "input[3].call_id"),
        ("messages[2].tool_calls[1].function.name", "input[4].name"),
        ("messages[2].tool_calls[1].function.arguments", "input[4].arguments"),
        ("messages[3].tool_call_id", "input[5].call_id"),
        ("messages[3].content[0].text", "input[5].output"),
        ("messages[4].tool_call_id", "input[6].call_id"),
        ("messages[9].content", "input"),
        ("max_tokens", "max_output_tokens"),
        ("max_completion_tokens", "max_output_tokens"),
        ("response_format.json_schema.schema.properties.a", "text.format.schema.properties.a"),
        ("response_format.type", "text.format.type"),
        ("reasoning_effort", "reasoning.effort"),
        ("verbosity", "text.verbosity"),
        ("tools[1].function.parameters.type", "tools[1].parameters.type"),
        ("tool_choice.function.name", "tool_choice.name"),
        ("tool_choice.allowed_tools.mode", "tool_choice.mode"),
        ("tool_choice.allowed_tools.tools[1]", "tool_choice.tools[1]"),
        ("prompt_token_ids", "prompt_token_ids"),
    ],
)
def test_a_fault_is_named_by_its_place_in_what_the_caller_sent(there: str, here: str) -> None:
    call = {"type": "function_call", "name": "t", "arguments": "{}"}
    texts = [{"type": "input_text", "text": text} for text in "ab"]
    items = [
        {"role": "user", "content": texts},
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"role": "assistant", "content": "c"},
        {**call, "call_id": "c1"},
        {**call, "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": "r"},
        {"type": "function_call_output", "call_id": "c2", "output": texts},
    ]
    payload = {"instructions": "i", "input": items}
    assert response_path(there, payload, LENIENT) == here
    for whole in ({"input": "text"}, {"input": items[1:2]}):
        assert response_path("messages[0]", whole, LENIENT).startswith("input")


@pytest.mark.parametrize("flavor", [LENIENT, BY_BLOCKS])
def test_what_tools_show_is_the_user_s_in_chat_behind_all_results(flavor: Flavor) -> None:
    """A chat's tool speaks text only, and nothing stands between results. Anthropic's shows images."""
    seen = {"type": "input_image", "image_url": "https://x/y"}
    items = [
        CALL,
        {**CALL, "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": [seen]},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "r"}, seen],
        },
        {"role": "user", "content": "And?"},
    ]
    payload = {"input": items}
    image = {"type": "image_url", "image_url": {"url": "https://x/y"}}
    text = {"type": "text", "text": "r"}
    told = responses_to_chat(payload, "m", flavor)["messages"][1:]
    contents = [(message["role"], message["content"]) for message in told]
    if flavor is BY_BLOCKS:
        assert contents == [("tool", [image]), ("tool", [text, image]), ("user", "And?")]
    else:
        assert contents == [("tool", ""), ("tool", [text]), ("user", [image, image]), ("user", "And?")]
    assert response_path(f"messages[{len(told)}].content", payload, flavor) == "input[4].content"
    assert responses_to_chat({"input": items[:-1]}, "m", flavor)["messages"][1:] == told[:-1]


def test_a_place_in_a_conversation_is_one_in_the_turn_or_in_what_it_goes_on_from() -> None:
    assert own_place("input[4].call_id", 3) == "input[1].call_id"
    assert own_place("input[2].call_id", 3) == "previous_response_id"
    assert own_place("input[2]", 0) == "input[2]"
    assert own_place("max_output_tokens", 3) == "max_output_tokens"


def _without_ids(response: dict[str, Any]) -> dict[str, Any]:
    items = [{**item, "id": ""} for item in response["output"]]
    return {**response, "output": items}
