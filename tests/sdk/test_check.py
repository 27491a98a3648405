"""Pre-flight: what a provider refuses, what it silently does not cache, and what would change."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache.cache_keys import cache_key
from promptcache.check import check_request
from promptcache.errors import MalformedRequestError
from tests.sdk.bodies import RULES, TOOLS, anthropic, chat, text


def marked(value: str, ttl: str | None = None) -> dict[str, Any]:
    mark = {"type": "ephemeral"} | ({"ttl": ttl} if ttl else {})
    return {"type": "text", "text": value, "cache_control": mark}


def test_a_plain_request_has_nothing_to_report() -> None:
    report = check_request(chat(RULES, "hi"))
    assert (report.valid, report.cause, report.breakpoints) == (True, None, 0)


def test_four_breakpoints_pass_and_five_are_refused() -> None:
    assert check_request(anthropic([marked(f"{n}") for n in range(4)], "hi")).valid
    report = check_request(anthropic([marked(f"{n}") for n in range(5)], "hi"))
    assert (report.valid, report.cause, report.breakpoints) == (False, "PC603", 5)
    assert report.findings[0].path == "system[4]"


def test_breakpoints_are_counted_wherever_they_have_a_meaning() -> None:
    result = {"type": "tool_result", "content": [marked("x")], "cache_control": {"type": "ephemeral"}}
    body = anthropic(
        [marked("s")], {"role": "user", "content": [result]}, cache_control={"type": "ephemeral"}
    )
    schema = {"properties": {"cache_control": {"type": "object"}}}
    body["tools"] = [{"name": "t", "input_schema": schema, "cache_control": {"type": "ephemeral"}}]
    assert check_request(body).breakpoints == 5


@pytest.mark.parametrize(
    ("ttls", "valid"),
    [
        (["1h", "5m"], True),
        (["5m", "1h"], False),
        ([None, "1h"], False),
        (["1h", None, "5m"], True),
        (["2d"], False),
    ],
)
def test_longer_lifetimes_come_first(ttls: list[str | None], valid: bool) -> None:
    report = check_request(anthropic([marked("s", ttl) for ttl in ttls], "hi"))
    assert report.valid is valid
    assert report.cause == (None if valid else "PC603")


def test_a_prefix_surely_below_the_minimum_is_told() -> None:
    body = {**anthropic([marked("Be kind.")], "hi"), "model": "claude-opus-4-5"}
    report = check_request(body)
    assert (report.valid, report.cause) == (True, "PC604")
    assert check_request({**body, "model": "m"}).cause is None
    assert check_request({**body, "system": [marked("x " * 9000)]}).cause is None


def test_a_provider_that_needs_breakpoints_gets_a_warning_without() -> None:
    body = {**anthropic("long " * 5000, "hi"), "model": "claude-opus-5"}
    assert check_request(body).cause == "PC602"
    assert check_request({**body, "system": "short"}).cause is None


def test_explicit_mode_without_a_breakpoint_turns_caching_off() -> None:
    body = chat(RULES, "hi", prompt_cache_options={"mode": "explicit"})
    assert check_request(body).cause == "PC602"


def test_a_clock_before_the_breakpoint_is_told_with_the_breakpoint() -> None:
    body = anthropic([marked("Time: 2031-03-04T10:00:11Z\n" + RULES)], "hi")
    report = check_request(body)
    assert report.valid
    assert report.causes[:2] == ("PC601", "PC101")
    unmarked = check_request(anthropic([text("Time: 2031-03-04T10:00:11Z\n" + RULES)], "hi"))
    assert unmarked.causes == ("PC101",)
    assert check_request(anthropic([marked(RULES)], "now 2031-03-04T10:00:11Z")).cause is None


def test_a_clock_in_a_tool_is_told() -> None:
    tool = {**TOOLS[0], "description": "Now is 2031-03-04T10:00:11Z"}
    assert check_request(chat(RULES, "hi", tools=[tool])).cause == "PC101"


def test_the_report_is_json() -> None:
    report = check_request(anthropic([marked("5"), text("x"), marked("1", "1h")], "hi")).to_dict()
    assert (report["valid"], report["cause"], report["breakpoints"]) == (False, "PC603", 2)
    assert report["findings"][0] == {
        "code": "PC603",
        "path": "system[2]",
        "message": "a 1h breakpoint stands behind the 5m one at system[0].",
        "severity": "error",
    }


def test_a_malformed_request_is_refused_with_its_place() -> None:
    with pytest.raises(MalformedRequestError):
        check_request({"messages": 5})


KEY_FAULTS = [
    "req-8f3a2b1c9d",
    "123e4567-e89b-12d3-a456-426614174000",
    "support:ann@acme.org",
    "support:1764400000",
    "1764400000123",
]


@pytest.mark.parametrize("key", KEY_FAULTS)
@pytest.mark.parametrize("name", ["prompt_cache_key", "cache_salt"])
def test_a_key_that_divides_equal_prefixes_is_told(name: str, key: str) -> None:
    report = check_request(chat(RULES, "hi", **{name: key}))
    assert (report.valid, report.causes, report.findings[0].path) == (True, ("PC607",), name)


@pytest.mark.parametrize("key", ["support-v2", "tenant-7:support", cache_key("support"), "2027", 5])
def test_a_key_of_a_template_is_well(key: object) -> None:
    assert check_request(chat(RULES, "hi", prompt_cache_key=key)).causes == ()


def test_much_history_behind_the_last_mark_is_told() -> None:
    turns = ["question " * 900, "answer " * 900, "question " * 900, "answer " * 900, "and now?"]
    body = {**anthropic([marked(RULES * 4)], *turns), "model": "claude-opus-5"}
    report = check_request(body)
    assert (report.causes, report.findings[0].path) == (("PC602",), "messages[3]")
    assert check_request({**body, "cache_control": {"type": "ephemeral"}}).causes == ()
    assert check_request({**body, "model": "m"}).causes == ()
    short = {**anthropic([marked(RULES * 4)], "hi", "hello", "and now?"), "model": "claude-opus-5"}
    assert check_request(short).causes == ()


@pytest.mark.parametrize(("results", "causes"), [(18, ()), (19, ("PC605",)), (30, ("PC605",))])
def test_a_turn_that_jumps_over_the_last_entry_is_told(results: int, causes: tuple[str, ...]) -> None:
    blocks: list[Any] = [
        {"type": "tool_result", "tool_use_id": f"{n}", "content": "x"} for n in range(results)
    ]
    blocks[-1]["cache_control"] = {"type": "ephemeral"}
    calls = [{"type": "tool_use", "id": "0", "name": "t", "input": {}}]
    body = anthropic(
        [marked(RULES * 4)],
        "hi",
        {"role": "assistant", "content": calls},
        {"role": "user", "content": blocks},
        model="claude-opus-5",
    )
    assert check_request(body).causes == causes
    assert check_request({**body, "model": "m"}).causes == ()
    if results == 30:
        blocks[10]["cache_control"] = {"type": "ephemeral"}
        assert check_request(body).causes == ()


def claude(block: dict[str, Any], role: str = "user") -> dict[str, Any]:
    turns = ["hi", {"role": role, "content": [block]}, "go"]
    return {**anthropic("long " * 900, *turns), "model": "claude-opus-5"}


def gpt(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return chat("long " * 900, {"role": "user", "content": [*parts]}, **{"model": "gpt-5.6", **fields})


def explicit(**fields: str) -> dict[str, Any]:
    return {**text("x"), "prompt_cache_breakpoint": {"mode": "explicit", **fields}}


ASSISTANT = {"role": "assistant", "content": [explicit()]}
INVALID = [
    claude(marked("x", "30m")),
    claude({**text("x"), "cache_control": {"type": "permanent"}}),
    claude({**text("x"), "cache_control": {}}),
    claude(marked("")),
    claude({"type": "thinking", "thinking": "x", "signature": "s", "cache_control": {"type": "ephemeral"}}),
    gpt(*[explicit()] * 4),
    gpt(*[explicit()] * 5, prompt_cache_options={"mode": "explicit"}),
    gpt(explicit(), model="gpt-5.1"),
    gpt(explicit(), model="claude-opus-5"),
    gpt(explicit(ttl="5m")),
    gpt(explicit(), prompt_cache_options={"ttl": "12h"}),
    gpt({**text("x"), "prompt_cache_breakpoint": {"mode": "implicit"}}),
    chat("long " * 900, "hi", ASSISTANT, "go", model="gpt-5.6"),
]


@pytest.mark.parametrize("body", INVALID)
def test_what_a_provider_refuses_is_invalid(body: dict[str, Any]) -> None:
    report = check_request(body)
    assert (report.valid, report.cause) == (False, "PC603")


@pytest.mark.parametrize("body", INVALID)
def test_nothing_is_assumed_of_a_model_that_is_not_known(body: dict[str, Any]) -> None:
    report = check_request({**body, "model": "my-own"})
    assert report.valid is (report.breakpoints <= 4)


VALID = [
    claude(marked("x", "1h")),
    gpt(*[explicit()] * 3),
    gpt(*[explicit()] * 4, prompt_cache_options={"mode": "explicit"}),
    gpt(explicit(ttl="12h")),
    gpt(explicit(), prompt_cache_options={"ttl": "30m"}),
    {
        "model": "gpt-5.6",
        "input": [{"role": "user", "content": [explicit()]}],
        "prompt_cache_options": {"ttl": "12h"},
    },
]


@pytest.mark.parametrize("body", VALID)
def test_what_a_provider_takes_is_valid(body: dict[str, Any]) -> None:
    assert check_request(body).valid
