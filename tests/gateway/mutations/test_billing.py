"""The billing block goes where no server knows it, and stays where one does or where it holds more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gateway.mutations.stage import SONNET, Stage

LINE = "x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli; cch=%05x;"
ON = {"drop_billing_header": True}
BODY = (
    b'{ "messages":[{"role":"user","content":"hi"}] , "system" : [ {"type":"text","text":"'
    + (LINE % 7).encode()
    + b'"} ,\n {"type":"text","text":"You help. caf\\u00e9"}],'
    b'"model":"claude-sonnet-4-5","max_tokens":1.0E+0 }'
)


def test_the_block_is_taken_out_and_nothing_else() -> None:
    sent = Stage(ON, kind="anthropic").send(BODY)
    begin, end = BODY.index(b'{"type":"text","text":"x-anth'), BODY.index(b'{"type":"text","text":"You')
    assert sent.body == BODY[:begin] + BODY[end:]
    assert sent.call.payload == sent.json
    assert sent.change("billing_header").paths == ("system[0]",)


def test_it_stays_unless_it_is_asked_for() -> None:
    assert Stage({}, kind="anthropic").send(BODY).body == BODY


def test_it_may_be_all_there_is() -> None:
    body = b'{"model":"m","system":[{"type":"text","text":"X-Anthropic-Billing-Header: a"}],"messages":[]}'
    assert Stage(ON, kind="anthropic").send(body).json["system"] == []


def test_anthropics_own_servers_know_it() -> None:
    sent = Stage(ON, kind="anthropic", url="https://api.anthropic.com").send(BODY)
    assert sent.body == BODY
    assert sent.change("billing_header").skipped == (("system[0]", "Anthropic's own servers know it"),)


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ({"text": LINE % 1 + "\nYou are kind."}, "more text"),
        ({"text": LINE % 1, "cache_control": {"type": "ephemeral"}}, "breakpoint"),
    ],
)
def test_a_block_that_holds_more_stays(block: dict[str, Any], reason: str) -> None:
    body = {"model": SONNET, "system": [{"type": "text", **block}], "messages": []}
    sent = Stage(ON, kind="anthropic").send(body)
    assert sent.json == body
    assert reason in sent.change("billing_header").skipped[0][1]


@pytest.mark.parametrize(
    "system", ["x-anthropic-billing-header: a", [], None, [{"type": "text", "text": 5}], ["x"]]
)
def test_what_is_no_such_block_is_not_touched(system: Any) -> None:
    body = json.dumps({"model": SONNET, "system": system, "messages": []}).encode()
    sent = Stage(ON, kind="anthropic").send(body)
    assert sent.body == body
    assert sent.names == []


def test_what_is_observed_is_what_the_upstream_sees() -> None:
    """Without the block one request is like the other; with it, each would be blamed for it."""
    stage = Stage(ON, kind="anthropic")
    for number in (1, 2):
        sent = stage.send(BODY.replace((LINE % 7).encode(), (LINE % number).encode()))
    match = sent.flight._observation.sight.match
    assert match is not None
    assert match.living is not None
    assert match.living_segments == 2
