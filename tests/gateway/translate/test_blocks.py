"""A message's blocks follow one another, whatever the order in which a chat's pieces come."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.translate.blocks import Blocks
from promptcache_gateway.translate.events import read_events


def told(data: bytes) -> list[dict[str, Any]]:
    """The blocks that events tell of; fails where two are open at once."""
    blocks: list[dict[str, Any]] = []
    is_open = False
    for event in read_events(data):
        kind, at = event["type"], event["index"]
        if kind == "content_block_start":
            assert not is_open
            assert at == len(blocks)
            is_open = True
            blocks.append({**event["content_block"], "said": ""})
        else:
            assert is_open
            assert at == len(blocks) - 1
            if kind == "content_block_stop":
                is_open = False
            else:
                blocks[-1]["said"] += next(
                    event["delta"][name]
                    for name in ("text", "thinking", "partial_json")
                    if name in event["delta"]
                )
    assert not is_open
    return blocks


def test_what_comes_in_order_is_passed_on_at_once() -> None:
    blocks = Blocks()
    assert blocks.text("thinking", "hm")
    assert blocks.text("text", "Well")
    assert blocks.text("text", ".")
    assert blocks.call(0, "c0", "f", "")
    assert blocks.call(0, "", "", '{"a":')
    assert blocks.call(0, "", "", "1}")
    assert blocks.call(1, "c1", "g", '{"b"'), "the first call's arguments are whole"
    assert blocks.call(1, "", "", ":2}")


def test_calls_that_come_mixed_up_wait_for_each_other() -> None:
    blocks = Blocks()
    out = blocks.call(0, "c0", "f", '{"a":')
    assert blocks.call(1, "c1", "g", '{"b":') == b""
    assert blocks.text("text", "Meanwhile") == b""
    out += blocks.call(0, "", "", "1")
    assert blocks.call(1, "", "", "2}") == b""
    out += blocks.call(0, "", "", "}")
    found = told(out + blocks.end())
    assert [block["type"] for block in found] == ["tool_use", "tool_use", "text"]
    assert [block["said"] for block in found] == ['{"a":1}', '{"b":2}', "Meanwhile"]


def test_calls_without_numbers_are_told_apart_by_their_ids() -> None:
    blocks = Blocks()
    out = blocks.call(0, "c0", "f", '{"a":1}') + blocks.call(0, "c1", "f", '{"a":2}')
    found = told(out + blocks.end())
    assert [(block["id"], block["said"]) for block in found] == [("c0", '{"a":1}'), ("c1", '{"a":2}')]


def test_a_call_without_arguments_and_one_that_is_cut_end_with_the_message() -> None:
    blocks = Blocks()
    out = blocks.call(0, "c0", "f", "") + blocks.call(1, "c1", "g", '{"cut')
    assert [block["said"] for block in told(out + blocks.end())] == ["", '{"cut']
    assert told(Blocks().end()) == []


ARGUMENTS = st.dictionaries(st.text(max_size=4), st.one_of(st.text(max_size=6), st.integers()), max_size=3)


@given(st.lists(ARGUMENTS, min_size=1, max_size=4), st.text(max_size=5), st.randoms())
def test_in_any_order_nothing_is_lost_or_mixed(calls: list[dict[str, Any]], text: str, dice: Any) -> None:
    pieces: list[list[tuple[int, str]]] = []
    for number, arguments in enumerate(calls):
        written = json.dumps(arguments)
        cut = dice.randint(0, len(written))
        pieces.append([(number, ""), (number, written[:cut]), (number, written[cut:])])
    pieces.append([(-1, text)])
    blocks, out, named = Blocks(), b"", set()
    while any(pieces):
        number, said = dice.choice([one for one in pieces if one]).pop(0)
        if number < 0:
            out += blocks.text("text", said)
        else:
            first = number not in named
            named.add(number)
            out += blocks.call(number, f"c{number}" if first else "", "f" if first else "", said)
    found = {block.get("id", "text"): block["said"] for block in told(out + blocks.end())}
    assert found == {**{f"c{at}": json.dumps(one) for at, one in enumerate(calls)}, "text": text}
