"""What a translation leaves out is named."""

from __future__ import annotations

import json
from typing import Any

from tests.gateway.mutations.stage import Stage


def results(*failed: Any) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": f"t{at}", "name": "f", "input": {}} for at in range(len(failed))]
    told = [
        {"type": "tool_result", "tool_use_id": f"t{at}", "content": "no such order", "is_error": error}
        for at, error in enumerate(failed)
    ]
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": told},
    ]
    return {"model": "m", "max_tokens": 5, "messages": turns}


def test_a_tools_failure_that_is_dropped_is_named_by_its_place() -> None:
    sent = Stage().send(results(False, True, True))
    assert sent.names == ["translation"]
    assert [path for path, _ in sent.change("translation").skipped] == [
        "messages[2].content[1].is_error",
        "messages[2].content[2].is_error",
    ]
    assert "dropped" in sent.change("translation").skipped[0][1]


def test_nothing_is_named_where_nothing_is_dropped() -> None:
    assert Stage().send(results(False, False)).change("translation").skipped == ()
    assert Stage(kind="anthropic").send(results(True)).names == []


def test_there_are_never_more_than_twenty_and_odd_shapes_are_passed_over() -> None:
    assert len(Stage().send(results(*[True] * 30)).change("translation").skipped) == 20
    for odd in (None, "x", [None, {"content": [3, {"type": "tool_result"}]}]):
        body = json.dumps({"model": "m", "max_tokens": 5, "messages": odd}).encode()
        assert Stage().send(body).change("translation").skipped == ()
