"""Usage: every provider's shape, streams, and the invariant that parts add up to the whole."""

from __future__ import annotations

import json
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache.usage import Usage
from tests.sdk.bodies import sampled

# usage → (convention, total, uncached, read, write, output)
SHAPES: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "openai chat": (
        {
            "prompt_tokens": 2000,
            "completion_tokens": 10,
            "total_tokens": 2010,
            "prompt_tokens_details": {"cached_tokens": 1500, "cache_write_tokens": 200},
        },
        ("inclusive", 2000, 300, 1500, 200, 10),
    ),
    "openai responses": (
        {
            "input_tokens": 900,
            "output_tokens": 4,
            "input_tokens_details": {
                "cached_tokens": 0,
                "cache_write_tokens": 800,
                "cache_write_tokens_details": {"ttl_30m_tokens": 600, "ttl_12h_tokens": 200},
            },
        },
        ("inclusive", 900, 100, 0, 800, 4),
    ),
    "prompt count without the cached": (
        {"prompt_tokens": 812, "prompt_tokens_details": {"cached_tokens": 7264}, "completion_tokens": 435},
        ("exclusive", 8076, 812, 7264, 0, 435),
    ),
    "its own sum counts the cached beside the prompt": (
        {
            "prompt_tokens": 500,
            "completion_tokens": 20,
            "total_tokens": 820,
            "prompt_tokens_details": {"cached_tokens": 300},
        },
        ("exclusive", 800, 500, 300, 0, 20),
    ),
    "reads and writes together as cached": (
        {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 900, "cache_write_tokens": 300}},
        ("inclusive", 1000, 100, 600, 300, None),
    ),
    "anthropic": (
        {
            "input_tokens": 12,
            "cache_read_input_tokens": 9000,
            "cache_creation_input_tokens": 500,
            "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 400},
            "output_tokens": 87,
        },
        ("disjoint", 9512, 12, 9000, 500, 87),
    ),
    "anthropic, a loop with a compaction": (
        {
            "input_tokens": 10,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 0,
            "output_tokens": 5,
            "iterations": [
                {
                    "type": "compaction",
                    "input_tokens": 30,
                    "cache_read_input_tokens": 900,
                    "cache_creation_input_tokens": 0,
                    "output_tokens": 50,
                },
                {
                    "type": "message",
                    "input_tokens": 10,
                    "cache_read_input_tokens": 100,
                    "cache_creation_input_tokens": 0,
                    "output_tokens": 5,
                },
                {
                    "type": "advisor_message",
                    "input_tokens": 7000,
                    "cache_read_input_tokens": 0,
                    "cache_creation_input_tokens": 0,
                    "output_tokens": 5,
                },
            ],
        },
        ("disjoint", 1040, 40, 1000, 0, 55),
    ),
    "gemini": (
        {
            "promptTokenCount": 1000,
            "cachedContentTokenCount": 600,
            "candidatesTokenCount": 8,
            "thoughtsTokenCount": 2,
            "toolUsePromptTokenCount": 50,
        },
        ("inclusive", 1050, 450, 600, 0, 10),
    ),
    "bedrock": (
        {
            "inputTokens": 5,
            "cacheReadInputTokens": 70,
            "cacheWriteInputTokens": 25,
            "outputTokens": 3,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 25}],
        },
        ("disjoint", 100, 5, 70, 25, 3),
    ),
    "deepseek": (
        {
            "prompt_tokens": 100,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36,
            "completion_tokens": 1,
        },
        ("inclusive", 100, 36, 64, 0, 1),
    ),
    "deepseek, parts only": (
        {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36},
        ("disjoint", 100, 36, 64, 0, None),
    ),
    "qwen": (
        {
            "prompt_tokens": 100,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_input_tokens": 90},
        },
        ("inclusive", 100, 10, 0, 90, None),
    ),
    "flat, as together and sglang": (
        {"prompt_tokens": 100, "cached_tokens": 40, "completion_tokens": 2},
        ("inclusive", 100, 60, 40, 0, 2),
    ),
    "vllm without its flag": (
        {"prompt_tokens": 100, "prompt_tokens_details": None, "completion_tokens": 2},
        (None, 100, None, None, None, 2),
    ),
    "deepseek, with nulls beside the details": (
        {
            "prompt_tokens": 100,
            "prompt_cache_hit_tokens": None,
            "prompt_cache_miss_tokens": None,
            "prompt_tokens_details": {"cached_tokens": 64},
        },
        ("inclusive", 100, 36, 64, 0, None),
    ),
    "deepseek, misses beside the details": (
        {
            "prompt_tokens": 100,
            "prompt_cache_hit_tokens": None,
            "prompt_cache_miss_tokens": 36,
            "prompt_tokens_details": {"cached_tokens": 64},
        },
        ("inclusive", 100, 36, 64, 0, None),
    ),
    "openai's usage api": (
        {
            "object": "organization.usage.completions.result",
            "input_tokens": 100,
            "input_uncached_tokens": 10,
            "input_cached_tokens": 60,
            "input_cache_write_tokens": 30,
            "input_cache_write_30m_tokens": 20,
            "input_cache_write_12h_tokens": 10,
            "output_tokens": 5,
        },
        ("disjoint", 100, 10, 60, 30, 5),
    ),
    "openai's usage api, parts only": (
        {
            "input_uncached_tokens": 10,
            "input_cached_tokens": 60,
            "input_cache_write_30m_tokens": 20,
            "input_cache_write_12h_tokens": 10,
        },
        ("disjoint", 100, 10, 60, 30, None),
    ),
    "openai's usage api, whole": (
        {
            "input_tokens": 100,
            "input_cached_tokens": 60,
            "input_cache_write_30m_tokens": 30,
            "output_tokens": 5,
        },
        ("inclusive", 100, 10, 60, 30, 5),
    ),
    "nothing": ({}, (None, None, None, None, None, None)),
}


def read(usage: Usage) -> tuple[Any, ...]:
    return (
        usage.convention,
        usage.total_input,
        usage.uncached,
        usage.cache_read,
        usage.cache_write,
        usage.output,
    )


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_becomes_the_same_record(name: str) -> None:
    raw, expected = SHAPES[name]
    assert read(Usage.from_response(raw)) == expected


@pytest.mark.parametrize("name", SHAPES)
def test_a_whole_response_is_read_like_its_usage(name: str) -> None:
    raw, expected = SHAPES[name]
    key = "usageMetadata" if name == "gemini" else "usage"
    assert read(Usage.from_response({"id": "r", key: raw})) == expected


@pytest.mark.parametrize("name", SHAPES)
def test_the_raw_record_is_kept(name: str) -> None:
    raw, _ = SHAPES[name]
    assert Usage.from_response(raw).raw == raw


def test_lifetimes_of_writes_are_kept_apart() -> None:
    openai = Usage.from_response(SHAPES["openai responses"][0])
    assert (openai.cache_write_30m, openai.cache_write_12h, openai.cache_write_5m) == (600, 200, None)
    anthropic = Usage.from_response(SHAPES["anthropic"][0])
    assert (anthropic.cache_write_5m, anthropic.cache_write_1h) == (100, 400)
    assert Usage.from_response(SHAPES["bedrock"][0]).cache_write_1h == 25


def test_lifetimes_of_writes_in_openais_usage_api_are_kept_apart() -> None:
    usage = Usage.from_response(SHAPES["openai's usage api"][0])
    assert (usage.cache_write_30m, usage.cache_write_12h, usage.cache_write_5m) == (20, 10, None)


def test_llama_cpp_reports_beside_its_usage() -> None:
    timings = {"cache_n": 236, "prompt_n": 1, "predicted_n": 35}
    assert read(Usage.from_response({"timings": timings})) == ("disjoint", 237, 1, 236, 0, 35)
    both = {"usage": {"prompt_tokens": 237, "completion_tokens": 35}, "timings": timings}
    assert read(Usage.from_response(both)) == ("inclusive", 237, 1, 236, 0, 35)


def test_absent_and_zero_differ() -> None:
    zero = Usage.from_response({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 0}})
    absent = Usage.from_response({"prompt_tokens": 10})
    assert (zero.reported, zero.cache_read, zero.hit_rate) == (True, 0, 0.0)
    assert (absent.reported, absent.cache_read, absent.hit_rate) == (False, None, None)
    assert read(Usage.unreported()) == (None,) * 6


def test_figures_that_are_no_counts_are_passed_over() -> None:
    raw = {
        "prompt_tokens": "many",
        "prompt_tokens_details": {"cached_tokens": -1, "cache_write_tokens": True},
    }
    assert read(Usage.from_response(raw)) == (None,) * 6


def test_a_known_convention_settles_what_fits_two_readings() -> None:
    raw = {"prompt_tokens": 9000, "prompt_tokens_details": {"cached_tokens": 4000}}
    assert Usage.from_response(raw).total_input == 9000
    assert read(Usage.from_response(raw, convention="exclusive"))[:4] == ("exclusive", 13000, 9000, 4000)


def test_figures_that_contradict_a_known_convention_or_their_own_sum_are_not_reported() -> None:
    raw = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4000}}
    for usage in (
        Usage.from_response(raw, convention="inclusive"),
        Usage.from_response({**raw, "completion_tokens": 5, "total_tokens": 99}),
    ):
        assert not usage.reported
        assert (usage.total_input, usage.cache_read, usage.convention) == (10, None, None)


def test_what_a_prompt_cannot_hold_is_not_believed() -> None:
    raw = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99_999}, "completion_tokens": 5}
    usage = Usage.from_response(raw)

    assert usage.within(100_009) == usage
    bounded = usage.within(500)
    assert not bounded.reported
    assert (bounded.total_input, bounded.cache_read, bounded.output) == (10, None, 5)
    assert Usage.from_response({"prompt_tokens": 900}).within(500).total_input is None


def test_objects_of_provider_sdks_are_read() -> None:
    openai = pytest.importorskip("openai.types")
    usage = openai.CompletionUsage.model_validate(SHAPES["openai chat"][0])
    assert read(Usage.from_response(usage)) == SHAPES["openai chat"][1]
    plain = SimpleNamespace(usage=SimpleNamespace(prompt_tokens=7, completion_tokens=1))
    assert Usage.from_response(plain).total_input == 7
    assert Usage.from_response(object()).total_input is None


# --- streams --------------------------------------------------------------------------------------------

CHAT_USAGE = {"prompt_tokens": 50, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 48}}


def chunk(**fields: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [], **fields}


@pytest.mark.parametrize(
    "events",
    [
        [chunk(usage=None), chunk(usage=CHAT_USAGE)],
        [chunk(choices=[{"index": 0, "delta": {}}], usage=CHAT_USAGE)],
        [chunk(usage=CHAT_USAGE), chunk(usage=None)],
        [chunk(usage={"prompt_tokens": 50}), chunk(usage=CHAT_USAGE)],
        [chunk(usage=CHAT_USAGE), chunk(usage={**CHAT_USAGE, "prompt_tokens_details": None})],
        [f"data: {json.dumps(chunk(usage=CHAT_USAGE))}", "", ": a comment", "data: [DONE]"],
        [b"data: " + json.dumps(chunk(usage=CHAT_USAGE)).encode()],
    ],
)
def test_usage_may_come_on_any_chunk(events: list[Any]) -> None:
    assert read(Usage.from_stream(events)) == read(Usage.from_response(CHAT_USAGE))


def test_a_streamed_message_adds_up_in_parts() -> None:
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 41, "output_tokens": 0}}},
        {"type": "ping"},
        {
            "type": "message_delta",
            "usage": {"cache_read_input_tokens": 3604, "cache_creation_input_tokens": 0, "output_tokens": 20},
        },
    ]
    assert read(Usage.from_stream(events)) == ("disjoint", 3645, 41, 3604, 0, 20)


def test_an_explicit_zero_overwrites_and_a_null_does_not() -> None:
    first = {"usage": {"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 9}}
    last = {"usage": {"input_tokens": None, "cache_read_input_tokens": 0}}
    assert read(Usage.from_stream([first, last]))[1:5] == (14, 5, 0, 9)


def test_a_response_stream_reports_at_its_end() -> None:
    events = [
        {"type": "response.created", "response": {"id": "r", "usage": None}},
        {"type": "response.completed", "response": {"id": "r", "usage": SHAPES["openai responses"][0]}},
    ]
    assert read(Usage.from_stream(events)) == SHAPES["openai responses"][1]


def test_bedrocks_stream_carries_usage_as_metadata() -> None:
    assert read(Usage.from_stream([{"metadata": {"usage": SHAPES["bedrock"][0]}}])) == SHAPES["bedrock"][1]


def test_groqs_stream_carries_usage_in_its_own_field() -> None:
    events = [chunk(), chunk(x_groq={"id": "r", "usage": CHAT_USAGE})]
    assert read(Usage.from_stream(events)) == ("inclusive", 50, 2, 48, 0, 2)


def test_a_parsed_answer_in_a_stream_is_read_without_a_warning() -> None:
    parsed = pytest.importorskip("openai.types.responses.parsed_response")
    streaming = pytest.importorskip("openai.types.responses")
    text = parsed.ParsedResponseOutputText.construct(
        type="output_text", text="{}", annotations=[], parsed=SimpleNamespace()
    )
    message = parsed.ParsedResponseOutputMessage.construct(type="message", content=[text])
    figures = {"input_tokens": 50, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 48}}
    response = parsed.ParsedResponse.construct(id="r", output=[message], usage=figures)
    event = streaming.ResponseCompletedEvent.construct(type="response.completed", response=response)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(Usage.from_stream([event])) == ("inclusive", 50, 2, 48, 0, 2)
        assert read(Usage.from_response(response)) == ("inclusive", 50, 2, 48, 0, 2)


def test_a_stream_without_usage_is_unreported() -> None:
    assert Usage.from_stream([chunk()]) == Usage.unreported()


# --- invariants -------------------------------------------------------------------------------------------

tokens = st.integers(0, 10_000)


@sampled
@given(tokens, st.none() | tokens, st.none() | tokens, st.none() | tokens, st.booleans())
def test_the_parts_add_up(
    prompt: int, read_: int | None, write: int | None, out: int | None, flat: bool
) -> None:
    details = {"cached_tokens": read_, "cache_write_tokens": write}
    names = {"input_tokens": prompt, "cache_read_input_tokens": read_, "cache_creation_input_tokens": write}
    raw: dict[str, Any] = names if flat else {"prompt_tokens": prompt, "prompt_tokens_details": details}
    usage = Usage.from_response({**raw, "output_tokens" if flat else "completion_tokens": out})
    assert usage.output == out
    assert (usage.cache_read is None) == (read_ is None)
    if not usage.reported:
        assert usage.hit_rate is None
        return
    assert usage.uncached is not None
    assert usage.uncached >= 0
    assert usage.uncached + (usage.cache_read or 0) + (usage.cache_write or 0) == usage.total_input
    assert usage.hit_rate is None or 0 <= usage.hit_rate <= 1


@sampled
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["input_tokens", "output_tokens", "cache_read_input_tokens"]), st.none() | tokens
        ),
        max_size=4,
    )
)
def test_streamed_equals_unstreamed(parts: list[dict[str, int | None]]) -> None:
    merged: dict[str, int | None] = {}
    for part in parts:
        merged.update({key: value for key, value in part.items() if value is not None})
    streamed = Usage.from_stream([{"type": "message_delta", "usage": part} for part in parts])
    assert read(streamed)[1:] == read(Usage.from_response({"usage": merged}))[1:]
