"""Pre-flight: what a provider refuses, what it silently does not cache, and what would change."""

from __future__ import annotations

from typing import Any

import pytest

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
