"""Automatic breakpoints: on proven prefixes only, the caller's first, four at most, no other byte touched."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.breakpoints import breakpoints_in
from promptcache_gateway.mutations.breakpoints import path_of
from tests.gateway.mutations.stage import LONG, SONNET, Stage, messages

MARK = b'"cache_control":{"type":"ephemeral"}'
ON = {"breakpoints": True}
WEIRD = (
    b'\r\n{ "model" :"claude-sonnet-4-5","z":1.0E+0 ,'
    b'"tools":[ {"name":"a" , "input_schema":{"x":[{}, [1]]}} ],'
    b'"messages":[ {"role":"user","content":[{"type":"text" ,"text":"caf\\u00e9 \\/ ] } , \\" {"}\t]} ],'
    b'"system" : [{"text":"' + LONG.encode() + b'", "type":"text" } ] ,"a":123456789012345678901234567890}\n '
)


def claude(**more: Any) -> Stage:
    return Stage(ON | more, kind="anthropic")


def without_marks(body: bytes) -> bytes:
    return body.replace(b"," + MARK, b"").replace(MARK, b"")


def test_nothing_is_marked_unless_it_is_asked_for() -> None:
    stage = Stage({}, kind="anthropic")
    sent = stage.proved(messages())
    assert sent.json == messages()
    assert sent.names == []


def test_a_prefix_is_marked_once_it_was_seen_twice_and_no_other_byte_changes() -> None:
    stage = claude()
    first, second, third = stage.send(WEIRD), stage.send(WEIRD), stage.send(WEIRD)
    assert first.body == second.body == WEIRD
    assert first.change("breakpoints").paths == ()
    assert "often enough" in first.change("breakpoints").skipped[0][1]

    assert without_marks(third.body) == WEIRD
    assert third.body.count(MARK) == 2
    assert third.change("breakpoints").paths == ("system[0]", "messages[0].content[0]")
    assert b'", "type":"text","cache_control"' in third.body
    assert third.change("breakpoints").skipped[0][0] == "tools[0]"  # too short by itself
    assert "fewer than the 1024" in third.change("breakpoints").skipped[0][1]


def test_tools_that_are_long_enough_are_marked_too() -> None:
    tools = [{"name": "find", "description": LONG, "input_schema": {"type": "object"}}]
    sent = claude().proved(messages(tools=tools))
    assert sent.change("breakpoints").paths == ("tools[0]", "system[0]", "messages[0].content[0]")
    assert sent.json["tools"][0]["cache_control"] == {"type": "ephemeral"}


def test_a_bare_text_becomes_a_list_of_it() -> None:
    body = json.dumps(messages(system=LONG, messages=[{"role": "user", "content": "Hi \u00e9"}])).encode()
    sent = claude().proved(body)
    assert sent.json["system"] == [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}]
    assert sent.json["messages"][0]["content"][0]["text"] == "Hi \u00e9"
    opened, closed = b'[{"type":"text","text":', b"," + MARK + b"}]"
    assert sent.body.replace(opened, b"").replace(closed, b"") == body


def test_a_conversation_is_marked_as_far_as_it_has_been_seen() -> None:
    stage = claude()
    turns: list[dict[str, Any]] = []
    paths = []
    for number in range(4):
        turns.append({"role": "user", "content": f"question number {number} of many"})
        paths.append(stage.send(messages(messages=list(turns))).change("breakpoints").paths)
        turns.append({"role": "assistant", "content": f"the answer to {number}"})
    assert paths == [
        (),
        (),
        ("system[0]", "messages[0]"),
        ("system[0]", "messages[2]"),
    ]


def test_the_callers_marks_come_first_and_there_are_never_more_than_four() -> None:
    def marked(text: str) -> dict[str, Any]:
        return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}

    blocks = [marked("a" * 30), marked("b" * 30), marked("c" * 30)]
    body = messages(messages=[{"role": "user", "content": [*blocks, {"type": "text", "text": "last"}]}])
    sent = claude().proved(body)
    assert sent.change("breakpoints").paths == ("messages[0].content[3]",)
    assert "leave no room" in sent.change("breakpoints").skipped[0][1]
    assert len(breakpoints_in(sent.json)) == 4

    full = copy.deepcopy(body)
    full["cache_control"] = {"type": "ephemeral"}
    sent = claude().proved(full)
    assert sent.json == full
    assert sent.change("breakpoints").paths == ()


def test_what_the_caller_marked_is_left_alone() -> None:
    body = messages(system=[{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}])
    sent = claude().proved(body)
    assert sent.change("breakpoints").paths == ("messages[0].content[0]",)
    assert sent.change("breakpoints").skipped == (("system[0]", "the caller marked it"),)
    nothing = messages(system=[{"type": "text", "text": LONG, "cache_control": None}])
    assert claude().proved(nothing).json["system"] == nothing["system"]


@pytest.mark.parametrize(("ours", "theirs"), [("5m", "1h"), ("1h", "5m")])
def test_lifetimes_stay_in_the_order_the_api_asks_for(ours: str, theirs: str) -> None:
    mark = {"type": "ephemeral", "ttl": theirs}
    front, back = {"type": "text", "text": LONG}, {"type": "text", "text": "ask"}
    body = messages(system=[front], messages=[{"role": "user", "content": [back | {"cache_control": mark}]}])
    if theirs == "5m":
        body["system"] = [front | {"cache_control": mark}]
        body["messages"][0]["content"] = [back]
    sent = claude(breakpoint_ttl=ours).proved(body)
    assert sent.json == body
    reasons = [reason for _, reason in sent.change("breakpoints").skipped]
    assert any(f"beside the caller's {theirs} mark" in reason for reason in reasons)


def test_an_hour_where_it_is_asked_for() -> None:
    sent = claude(breakpoint_ttl="1h").proved(messages())
    assert sent.json["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_instructions_that_change_are_never_marked_nor_what_is_behind_them() -> None:
    stage = claude()
    static, asked = {"type": "text", "text": LONG}, messages()["messages"]
    sent = []
    for minute in (1, 1, 1, 2, 3, 4, 5):
        clock = {"type": "text", "text": f"It is 2026-11-29T10:0{minute}:00Z now."}
        sent.append(stage.send(messages(system=[static, clock], messages=asked)))
    paths = [one.change("breakpoints").paths for one in sent]
    assert paths[2] == ("system[1]", "messages[0].content[0]")  # it has not been seen to change yet
    assert paths[3:] == [("system[0]",)] * 4
    assert sent[-1].change("breakpoints").skipped[0] == (
        "system[1]",
        "its bytes change from request to request",
    )


def test_a_date_that_changes_once_is_marked_again_when_its_new_bytes_have_repeated() -> None:
    stage = claude()
    static, asked = {"type": "text", "text": LONG}, messages()["messages"]
    paths = []
    for day in (28, 28, 28, 29, 29, 29, 30, 30, 30):
        date = {"type": "text", "text": f"Today is 2026-11-{day}."}
        sent = stage.send(messages(system=[static, date], messages=asked))
        paths.append(sent.change("breakpoints").paths)
    whole = ("system[1]", "messages[0].content[0]")
    assert paths[2:] == [whole, ("system[0]",), ("system[0]",), whole, ("system[0]",), ("system[0]",), whole]


def test_a_bare_text_and_a_list_of_it_are_the_same_prompt() -> None:
    stage = claude()
    stage.send(messages(system=LONG, messages=[{"role": "user", "content": "Hi there, you."}]))
    listed = [{"role": "user", "content": [{"type": "text", "text": "Hi there, you."}]}]
    stage.send(messages(messages=listed))
    sent = stage.send(messages(system=LONG, messages=listed))
    assert sent.change("breakpoints").paths == ("system", "messages[0].content[0]")


def test_no_tool_that_is_loaded_later_takes_a_mark() -> None:
    tools = [
        {"name": "find", "description": LONG, "input_schema": {"type": "object"}},
        {"name": "rare", "description": "Rare.", "input_schema": {"type": "object"}, "defer_loading": True},
    ]
    sent = claude().proved(messages(tools=tools))
    assert sent.change("breakpoints").paths == ("tools[0]", "system[0]", "messages[0].content[0]")
    assert sent.json["tools"][1] == tools[1]


@pytest.mark.parametrize(
    ("model", "reason"),
    [("mystery-1", "not known"), ("gpt-4o", "without marks")],
)
def test_a_model_of_which_too_little_is_known_gets_no_marks(model: str, reason: str) -> None:
    sent = claude().proved(messages(model=model))
    assert sent.json == messages(model=model)
    assert reason in sent.change("breakpoints").skipped[0][1]


def test_thoughts_and_empty_texts_take_no_mark() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    turns = [
        {"role": "user", "content": "Where is it, and why?"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Here."}, thought, {"type": "text", "text": ""}],
        },
    ]
    sent = claude().proved(messages(messages=turns))
    assert sent.change("breakpoints").paths == ("system[0]", "messages[1].content[0]")


def test_tenants_and_models_prove_nothing_for_one_another() -> None:
    stage = claude()
    stage.send(messages(), tenant="a")
    stage.send(messages(), tenant="b")
    stage.send(messages(model="claude-opus-4-1"), tenant="c")
    assert stage.send(messages(), tenant="c").change("breakpoints").paths == ()


def test_a_request_that_opted_out_or_is_translated_is_left_alone() -> None:
    sent = claude().proved(messages(), headers=((b"x-promptcache-cache", b"off"),))
    assert "opted out" in sent.change("breakpoints").skipped[0][1]
    across = Stage(ON)  # speaks OpenAI's API
    assert across.proved(messages()).change("breakpoints").skipped[0][1] == "the request is translated"


def test_the_diagnosis_knows_the_marks_that_were_put_in() -> None:
    stage = claude()
    sent = stage.proved(messages())
    prompt = sent.flight._observation.sight.prompt
    assert prompt is not None
    assert [segment.path for segment in prompt.segments if segment.breakpoint] == [
        "system[0]",
        "messages[0].content[0]",
    ]
    entry = sent.flight._observation.sight.entry
    assert entry is not None
    assert entry.prompt is prompt


def test_a_forgotten_tenant_has_to_prove_it_again() -> None:
    stage = claude()
    stage.proved(messages())
    stage.mutator.forget("default")
    assert stage.send(messages()).change("breakpoints").paths == ()


def test_templates_and_upstreams_have_their_own_say() -> None:
    both = {
        "breakpoints": False,
        "upstreams": {"u": {"breakpoints": True}},
        "templates": {"t": {"breakpoints": False}},
    }
    assert Stage(both, kind="anthropic").proved(messages()).change("breakpoints").paths
    named = ((b"x-promptcache-template", b"t"),)
    assert Stage(both, kind="anthropic").proved(messages(), headers=named).names == []


def test_paths() -> None:
    assert path_of("system") == ("system",)
    assert path_of("messages[12].content[0]") == ("messages", 12, "content", 0)


BLOCKS = st.lists(
    st.fixed_dictionaries(
        {"type": st.just("text"), "text": st.text(max_size=20)},
        optional={
            "cache_control": st.sampled_from([{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}])
        },
    ),
    min_size=1,
    max_size=3,
)
CONTENT = st.one_of(st.text(max_size=20), BLOCKS)
BODIES = st.fixed_dictionaries(
    {
        "model": st.just(SONNET),
        "messages": st.lists(
            st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": CONTENT}),
            min_size=1,
            max_size=4,
        ),
    },
    optional={
        "system": st.one_of(
            st.just(LONG), BLOCKS.map(lambda blocks: [{"type": "text", "text": LONG}, *blocks])
        ),
        "tools": st.lists(
            st.fixed_dictionaries({"name": st.text(max_size=5), "description": st.just(LONG)}), max_size=2
        ),
        "cache_control": st.just({"type": "ephemeral"}),
    },
)


def stripped(value: Any) -> Any:
    """A value without marks, bare texts as the lists they stand for."""
    if isinstance(value, dict):
        plain = {key: stripped(item) for key, item in value.items() if key != "cache_control"}
        for key in ("content", "system"):
            if isinstance(plain.get(key), str):
                plain[key] = [{"type": "text", "text": plain[key]}]
        return plain
    return [stripped(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=60)
@given(BODIES, st.sampled_from(["5m", "1h"]))
def test_whatever_is_sent_only_marks_are_added(body: dict[str, Any], ttl: str) -> None:
    sent = claude(breakpoint_ttl=ttl).proved(body)
    assert stripped(sent.json) == stripped(body)
    before, after = breakpoints_in(body), breakpoints_in(sent.json)
    assert len(after) <= max(4, len(before))
    assert {mark.path for mark in before} <= {mark.path for mark in after}
    assert len(after) - len(before) == len(sent.change("breakpoints").paths)
    if not sent.change("breakpoints").paths:
        assert sent.body == json.dumps(body).encode()
