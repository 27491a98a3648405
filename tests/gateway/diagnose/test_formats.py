"""Each format of logs gives the requests that were sent, with the provider's counts in one convention."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptcache_gateway.diagnose.exchange import LoggedExchange, NotUnderstoodError, read_time
from promptcache_gateway.diagnose.formats import LogReader

Entry = dict[str, Any]

TALK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]
REDACTED = [{"role": "user", "content": "redacted-by-litellm"}]
OPENAI = {"prompt_tokens": 2_000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1_536}}


def read(*entries: Entry, name: str | None = None) -> list[LoggedExchange]:
    reader = LogReader(name)
    return [exchange for entry in entries for exchange in reader.read(entry)] + list(reader.end())


def counts(exchange: LoggedExchange) -> tuple[int | None, int | None, int | None]:
    usage = exchange.usage
    return (None, None, None) if usage is None else (usage.total_input, usage.cache_read, usage.cache_write)


def test_our_own_format() -> None:
    (one,) = read(
        {
            "request": {"model": "m", "messages": TALK},
            "response": {"id": "r", "usage": OPENAI},
            "time": 1_795_953_600,
            "ttft_ms": 250,
            "template": "support",
            "tenant": "acme",
            "id": "r1",
        }
    )

    assert one.body == {"model": "m", "messages": TALK}
    assert counts(one) == (2_000, 1_536, 0)
    assert (one.time, one.ttft_ms, one.template, one.tenant, one.id) == (
        1_795_953_600,
        250,
        "support",
        "acme",
        "r1",
    )


def test_a_bare_body_with_what_stands_beside_it() -> None:
    (one,) = read({"model": "m", "messages": TALK, "usage": OPENAI, "timestamp": "2026-11-29T12:00:00Z"})

    assert one.body == {"model": "m", "messages": TALK}
    assert counts(one) == (2_000, 1_536, 0)
    assert one.time == 1_795_953_600


def test_a_bare_body_alone_says_nothing_of_its_answer() -> None:
    (one,) = read({"model": "m", "input": "Hello?"})
    assert one.usage is None
    assert one.time is None


def test_an_anthropic_body_and_its_counts() -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90}
    (one,) = read(
        {"request": {"model": "claude", "system": "Be brief.", "messages": TALK[1:]}, "usage": usage}
    )
    assert counts(one) == (1_000, 900, 90)


def test_bodies_that_were_logged_as_text_and_streams_as_lists_of_events() -> None:
    events = [{"choices": [], "usage": None}, {"choices": [], "usage": OPENAI}]
    (one,) = read({"request": json.dumps({"model": "m", "messages": TALK}), "response": events})
    assert one.body["messages"] == TALK
    assert counts(one) == (2_000, 1_536, 0)


def test_litellms_standard_payload() -> None:
    payload = {
        "id": "chatcmpl-1",
        "call_type": "acompletion",
        "model": "gpt-4o",
        "messages": TALK,
        "model_parameters": {"temperature": 0, "tools": [{"type": "function", "function": {"name": "f"}}]},
        "response": {"usage": OPENAI},
        "startTime": 1_795_953_600.0,
        "completionStartTime": 1_795_953_600.5,
        "endTime": 1_795_953_601.0,
        "stream": True,
        "status": "success",
        "metadata": {"user_api_key_team_id": "team-a"},
    }
    for entry in (payload, {"standard_logging_object": payload}):
        (one,) = read(entry)
        assert one.body["messages"] == TALK
        assert one.body["model"] == "gpt-4o"
        assert one.body["tools"][0]["function"] == {"name": "f"}
        assert counts(one) == (2_000, 1_536, 0)
        assert (one.ttft_ms, one.tenant, one.status) == (500, "team-a", 200)


def test_litellms_table_of_spending() -> None:
    row = {
        "request_id": "r",
        "call_type": "acompletion",
        "model": "gpt-4o",
        "messages": "{}",
        "proxy_server_request": json.dumps({"model": "gpt-4o", "messages": TALK}),
        "response": "{}",
        "prompt_tokens": 2_000,
        "completion_tokens": 5,
        "startTime": "2026-11-29T12:00:00",
    }
    (one,) = read(row)
    assert one.body == {"model": "gpt-4o", "messages": TALK}
    assert counts(one) == (2_000, None, None)  # the row does not say what was read

    with pytest.raises(NotUnderstoodError, match="not logged"):
        read({"call_type": "acompletion", "messages": {}, "model": "gpt-4o"})


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"input": 464, "input_cached_tokens": 1_536, "output": 5, "total": 2_005}, (2_000, 1_536, 0)),
        (
            {"input": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90, "output": 5},
            (1_000, 900, 90),
        ),
        ({"input": 2_000, "output": 5}, (2_000, None, None)),
        ({"input": "464", "input_cached_tokens": "1536", "output": "5"}, (2_000, 1_536, 0)),
        ({"input": 2_000, "cache_read_input_tokens": 1_536, "output": 5, "total": 2_005}, (2_000, 1_536, 0)),
        (
            {"input": 2_000, "cache_read": 1_536, "output": 5, "output_reasoning": 3, "total": 2_008},
            (2_000, 1_536, 0),
        ),
        (
            {"input": 2_000, "cache_read_input_tokens": 1_536, "output": 5, "total": 3_541},
            (3_536, 1_536, 0),
        ),
        ({"prompt_tokens": 2_000, "prompt_tokens_details": {"cached_tokens": 128}}, (2_000, 128, 0)),
    ],
)
def test_langfuse_counts_each_token_under_one_name(details: Entry, expected: tuple[int, int, int]) -> None:
    (one,) = read(
        {
            "id": "o1",
            "traceId": "t1",
            "type": "GENERATION",
            "model": "gpt-4o",
            "modelParameters": {"temperature": 0},
            "input": TALK,
            "usageDetails": details,
            "startTime": "2026-11-29T12:00:00.000Z",
            "completionStartTime": "2026-11-29T12:00:00.250Z",
            "promptName": "support",
        }
    )
    assert counts(one) == expected
    assert (one.ttft_ms, one.template) == (250, "support")


def test_langfuses_spans_are_no_requests() -> None:
    assert read({"traceId": "t1", "type": "SPAN", "input": TALK}) == []


def claude(kind: str, message: Entry, second: int, **more: object) -> Entry:
    return {
        "type": kind,
        "sessionId": "s1",
        "isSidechain": False,
        "timestamp": f"2026-11-29T12:00:{second:02}Z",
        "message": message,
        **more,
    }


def test_a_claude_code_transcript_becomes_its_requests() -> None:
    first = {"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 15_000}
    second = {"input_tokens": 5, "cache_read_input_tokens": 15_003, "cache_creation_input_tokens": 400}
    model = {"model": "claude-opus-4-6", "role": "assistant"}
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}
    requests = read(
        {"type": "file-history-snapshot", "sessionId": "s1"},
        claude("user", {"role": "user", "content": "List it."}, 1),
        claude(
            "assistant",
            {**model, "id": "m1", "content": [{"type": "text", "text": "Yes."}], "usage": first},
            3,
        ),
        claude("assistant", {**model, "id": "m1", "content": [call], "usage": first}, 4),
        claude(
            "user",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a"}]},
            5,
        ),
        claude(
            "assistant", {**model, "id": "m2", "content": [{"type": "text", "text": "a"}], "usage": second}, 7
        ),
    )

    assert [len(one.body["messages"]) for one in requests] == [1, 3]
    assert [block["type"] for block in requests[1].body["messages"][1]["content"]] == ["text", "tool_use"]
    assert [counts(one) for one in requests] == [(15_003, 0, 15_000), (15_408, 15_003, 400)]
    assert requests[1].time == read_time("2026-11-29T12:00:05Z")
    assert not requests[0].whole


def test_a_claude_code_compaction_begins_anew_and_subagents_are_apart() -> None:
    model = {"model": "claude-opus-4-6", "role": "assistant", "usage": {"input_tokens": 3}}
    requests = read(
        claude("user", {"role": "user", "content": "One."}, 1),
        claude("user", {"role": "user", "content": "Sub."}, 2, isSidechain=True),
        claude("assistant", {**model, "id": "m1", "content": []}, 3),
        {"type": "system", "subtype": "compact_boundary", "sessionId": "s1"},
        claude("user", {"role": "user", "content": "This session is being continued."}, 5),
        claude("assistant", {**model, "id": "m2", "content": []}, 6),
    )
    assert [one.body["messages"][0]["content"] for one in requests] == [
        "One.",
        "This session is being continued.",
    ]


def codex(kind: str, payload: Entry, second: int = 0) -> Entry:
    return {"timestamp": f"2026-11-29T12:00:{second:02}Z", "type": kind, "payload": payload}


def codex_count(total: int, read_tokens: int) -> Entry:
    usage = {"input_tokens": total, "cached_input_tokens": read_tokens, "output_tokens": 5}
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": usage}
    return codex("event_msg", {"type": "token_count", "info": info})


def test_a_codex_rollout_becomes_its_requests() -> None:
    user = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List it."}]}
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"}
    output = {"type": "function_call_output", "call_id": "c", "output": "a"}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
    again = codex_count(5_300, 4_992)
    requests = read(
        codex("session_meta", {"id": "s", "instructions": "You are Codex."}),
        codex("turn_context", {"model": "gpt-5-codex"}),
        codex("response_item", user, 1),
        codex("event_msg", {"type": "token_count", "info": None}),
        codex("response_item", {"type": "reasoning", "summary": []}, 2),
        codex("response_item", call, 3),
        codex("response_item", output, 4),
        codex_count(5_000, 0),
        codex("response_item", answer, 6),
        again,
        again,
    )

    assert [[item["type"] for item in one.body["input"]] for one in requests] == [
        ["message"],
        ["message", "reasoning", "function_call", "function_call_output"],
    ]
    assert [counts(one) for one in requests] == [(5_000, 0, 0), (5_300, 4_992, 0)]
    assert requests[0].body["model"] == "gpt-5-codex"
    assert requests[0].body["instructions"] == "You are Codex."


@pytest.mark.parametrize(
    ("told", "known"),
    [
        (("medium", "medium", "high"), ["medium", "medium", "high"]),
        ((None, "medium", "high"), [None, None, None]),  # the default may have been the same
        ((None, None, None), [None, None, None]),
    ],
)
def test_a_codex_turn_is_sent_with_its_effort(told: tuple[str | None, ...], known: list[str | None]) -> None:
    lines = [codex("session_meta", {"id": "s"})]
    for number, effort in enumerate(told):
        context = {"model": "gpt-5-codex", **({} if effort is None else {"effort": effort})}
        said = {"type": "message", "content": [{"type": "input_text", "text": f"Turn {number}."}]}
        lines += [
            codex("turn_context", context),
            codex("response_item", {**said, "role": "user"}, number),
            codex("response_item", {**said, "role": "assistant"}, number),
            codex_count(5_000 + number, 0),
        ]
    assert [one.body.get("reasoning", {}).get("effort") for one in read(*lines)] == known


@pytest.mark.parametrize("entry", [{"x": 1}, {"messages": "none"}, {"request": {"x": 1}}, {"request": "{"}])
def test_what_is_no_request_is_said_not_to_be_understood(entry: Entry) -> None:
    with pytest.raises(NotUnderstoodError):
        read(entry)


def test_a_log_of_a_named_format_holds_no_other() -> None:
    with pytest.raises(NotUnderstoodError):
        read({"model": "m", "messages": TALK}, name="codex")


def line(kind: str, text: str, uuid: str, parent: str | None, second: int, **more: object) -> Entry:
    message: Entry = {"role": kind, "content": text}
    if kind == "assistant":
        message |= {"id": f"m-{uuid}", "model": "claude-opus-4-6", "usage": {"input_tokens": 5}}
    return claude(kind, message, second, uuid=uuid, parentUuid=parent, **more)


def told(exchanges: list[LoggedExchange]) -> list[list[str]]:
    texts = []
    for exchange in exchanges:
        contents = [message["content"] for message in exchange.body["messages"]]
        texts.append([text if isinstance(text, str) else text[0]["text"] for text in contents])
    return texts


def test_two_subagents_of_a_session_are_two_conversations() -> None:
    found = read(
        line("user", "task A", "a1", None, 1, isSidechain=True),
        line("user", "task B", "b1", None, 2, isSidechain=True),
        line("assistant", "A done", "a2", "a1", 3, isSidechain=True),
        line("assistant", "B done", "b2", "b1", 4, isSidechain=True),
        line("user", "and A again", "a3", "a2", 5, isSidechain=True),
        line("assistant", "A again done", "a4", "a3", 6, isSidechain=True),
    )
    assert told(found) == [["task A"], ["task B"], ["task A", "A done", "and A again"]]


def test_a_rewind_takes_the_conversation_up_from_there_and_copies_count_once() -> None:
    lines = [
        line("user", "one", "u1", None, 1),
        line("assistant", "first", "u2", "u1", 2),
        line("user", "two", "u3", "u2", 3),
        line("assistant", "second", "u4", "u3", 4),
        line("user", "two, otherwise", "u5", "u2", 5),
        line("assistant", "third", "u6", "u5", 6),
    ]
    expected = [["one"], ["one", "first", "two"], ["one", "first", "two, otherwise"]]
    assert told(read(*lines)) == expected
    assert told(read(*lines, *lines)) == expected


def test_results_of_parallel_calls_rewind_nothing() -> None:
    call = {"type": "tool_use", "id": "c", "name": "ls", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "a.py"}
    answer = {"id": "m1", "model": "claude-opus-4-6", "usage": {"input_tokens": 5}}
    found = read(
        line("user", "look", "u1", None, 1),
        claude("assistant", {**answer, "content": [call]}, 2, uuid="u2", parentUuid="u1"),
        claude("assistant", {**answer, "content": [call]}, 3, uuid="u3", parentUuid="u2"),
        claude("user", {"content": [result]}, 4, uuid="u4", parentUuid="u3"),
        claude("user", {"content": [result]}, 5, uuid="u5", parentUuid="u2"),
        line("assistant", "seen", "u6", "u5", 6),
    )
    assert [len(exchange.body["messages"]) for exchange in found] == [1, 4]


def test_what_litellm_answered_itself_was_never_sent() -> None:
    entry = {"call_type": "completion", "messages": TALK, "model": "gpt-4o", "cache_hit": "True"}
    with pytest.raises(NotUnderstoodError, match="own cache"):
        read(entry)
    assert len(read({**entry, "cache_hit": "False"})) == 1


@pytest.mark.parametrize(
    "entry",
    [
        {"call_type": "aembedding", "messages": ["a"], "model": "text-embedding-3-small"},
        {"model": "text-embedding-3-small", "input": "a"},
        {
            "call_type": "completion",
            "model": "m",
            "messages": [{"role": "user", "content": "redacted-by-litellm"}],
        },
    ],
)
def test_what_holds_no_prompt_is_no_request(entry: Entry) -> None:
    with pytest.raises(NotUnderstoodError):
        read(entry)


def test_redacted_prompts_leave_their_counters() -> None:
    (one,) = read({"call_type": "c", "messages": REDACTED, "model": "gpt-4o", "response": {"usage": OPENAI}})
    assert one.counts is not None
    assert counts(one) == (2_000, 1_536, 0)


def test_an_observation_without_its_input_leaves_its_counters() -> None:
    entry = generation(1, projectId="p1", usageDetails={"input": 464, "input_cached_tokens": 1_536})
    del entry["input"]
    (one,) = read(entry)
    assert one.counts is not None
    assert one.tenant == "p1"


def generation(number: int, **more: object) -> Entry:
    return {
        "id": f"o{number}",
        "traceId": "t1",
        "type": "GENERATION",
        "model": "gpt-4o",
        "input": TALK,
        "startTime": f"2026-11-29T12:00:{number:02}Z",
        **more,
    }


@pytest.mark.parametrize(
    "hold",
    [
        lambda them: {"id": "t1", "name": "a trace", "observations": them},
        lambda them: {"data": them, "meta": {"page": 1}},
        lambda them: {
            "data": [{"id": "t1", "observations": them[:2]}, {"id": "t2", "observations": them[2:]}]
        },
    ],
)
def test_langfuses_traces_and_pages_hold_observations(hold: Any) -> None:
    span = {"id": "s", "traceId": "t1", "type": "SPAN", "input": TALK}
    held = hold([generation(1), span, generation(2)])
    assert [one.id for one in read(held)] == ["o1", "o2"]


def test_a_generation_without_a_prompt_costs_no_other_of_its_trace() -> None:
    found = LogReader().read({"observations": [generation(1), generation(2, input=None), generation(3)]})
    seen: list[str | None] = []

    def take() -> None:
        for one in found:
            seen.append(one.id)  # noqa: PERF401 - those before the error count

    with pytest.raises(NotUnderstoodError):
        take()
    assert seen == ["o1", "o3"]
