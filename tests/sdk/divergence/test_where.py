"""Where two requests part: the place, the offset, the lengths, and that appending is never blamed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache.divergence import Divergence, compare_requests, compare_segments
from promptcache.errors import MalformedRequestError
from promptcache.segments import chain_hashes, cut_request
from tests.sdk.bodies import RULES, TOOLS, anthropic, chat, conversations, sampled, text, wild_bodies, words


@sampled
@given(conversations(), words, words)
def test_appending_is_never_blamed(body: dict[str, Any], answer: str, question: str) -> None:
    later = copy.deepcopy(body)
    later["messages"] += [{"role": "assistant", "content": answer}, {"role": "user", "content": question}]
    for body_part in (body, later):
        body_part.setdefault("model", "m")
    found = compare_requests(_unmarked(body), _unmarked(later))
    assert found.append_only
    assert (found.cause, found.path, found.char_offset, found.alarm) == (None, None, None, False)
    assert found.lost_chars == 0


@sampled
@given(conversations(), st.data())
def test_an_edit_is_found_where_it_was_made(body: dict[str, Any], data: st.DataObject) -> None:
    body = _unmarked(body)
    segments = cut_request(body)
    editable = [s for s in segments if s.kind != "tool" and not s.body.startswith("{") and s.body]
    if not editable:
        return
    segment = data.draw(st.sampled_from(editable))
    offset = data.draw(st.integers(0, len(segment.body) - 1))
    changed = segment.body[:offset] + "Ω" + segment.body[offset + 1 :]
    later = _replaced(body, segment.path, changed)
    found = compare_requests(body, later)
    index = segments.index(segment)
    assert not found.append_only
    assert (found.path, found.char_offset, found.same_segments) == (segment.path, offset, index)
    before = sum(len(s.text) for s in segments[:index])
    assert found.shared_chars == before + len(segment.text) - len(segment.body) + offset
    assert found.shared_chars + found.lost_chars == sum(len(s.text) for s in segments)


@sampled
@given(conversations(), conversations())
def test_any_two_requests_compare(first: dict[str, Any], second: dict[str, Any]) -> None:
    found = compare_requests(first, second)
    assert found.causes[:1] == ((found.cause,) if found.cause else ())
    assert found.shared_chars + found.lost_chars == sum(len(s.text) for s in cut_request(first))
    assert (found.remedy is None) == (found.cause is None)
    assert found.append_only or found.severity in {"error", "warning", "info"}
    assert found.alarm == (found.cause is not None and found.severity != "info")


@sampled
@given(wild_bodies, wild_bodies)
def test_any_json_is_compared_or_refused_with_a_place(first: Any, second: Any) -> None:
    refused = None
    try:
        compare_requests(first, second)
    except MalformedRequestError as error:
        refused = error
    assert refused is None or refused.path


@sampled
@given(conversations())
def test_a_request_equals_itself(body: dict[str, Any]) -> None:
    found = compare_requests(body, copy.deepcopy(body))
    assert found.append_only
    assert found.cause is None


def test_an_inserted_segment_has_offset_zero_and_the_later_path() -> None:
    found = compare_requests(chat(RULES, "hi", tools=TOOLS[:2]), chat(RULES, "hi", tools=TOOLS[:3]))
    assert (found.path, found.char_offset, found.same_segments) == ("tools[2]", 0, 2)
    assert found.shared_chars == sum(len(s.text) for s in cut_request(chat("", tools=TOOLS[:2]))[:2])


def test_a_removed_segment_has_offset_zero() -> None:
    found = compare_requests(chat(RULES, "hi", tools=TOOLS[:3]), chat(RULES, "hi", tools=TOOLS[:2]))
    assert (found.path, found.char_offset, found.same_segments) == ("messages[0]", 0, 2)


def test_another_role_shares_nothing_of_the_segment() -> None:
    found = compare_requests(
        chat(RULES, "same text", "a", "b"),
        chat(RULES, {"role": "tool", "content": "same text"}, "a", "b", "c"),
    )
    assert (found.path, found.char_offset) == ("messages[1]", 0)
    assert found.shared_chars == len("system\n" + RULES)


def test_a_shorter_request_parts_at_the_end() -> None:
    found = compare_requests(chat(RULES, "a", "b", "c"), chat(RULES, "a"))
    assert (found.append_only, found.path, found.same_segments) == (False, "messages[2]", 2)
    assert (found.severity, found.alarm) == ("info", False)


def test_a_longer_bare_prompt_only_appends() -> None:
    assert compare_requests({"prompt": "once"}, {"prompt": "once upon"}).append_only
    assert compare_requests({"prompt": [1, 2]}, {"prompt": [1, 2, 3]}).append_only
    assert not compare_requests({"prompt": [1, 2]}, {"prompt": [1, 23]}).append_only
    assert not compare_requests(chat("S", "once"), chat("S", "once upon")).append_only


def test_a_string_of_input_is_a_list_of_one_message() -> None:
    said, answer = {"role": "user", "content": "Who?"}, {"role": "assistant", "content": "She."}
    earlier, later = {"input": "Who?"}, {"input": [said, answer, {"role": "user", "content": "Why?"}]}
    assert compare_requests(earlier, later).append_only
    assert chain_hashes(cut_request(earlier)) == chain_hashes(cut_request(later))[:1]
    other = {"input": [{**said, "content": "Whom?"}, answer]}
    assert not compare_requests(earlier, other).append_only
    assert compare_requests(other, earlier).path == "input"


def test_lengths_are_in_code_points() -> None:
    found = compare_requests(anthropic("😀é" * 10 + "x", "hi"), anthropic("😀é" * 10 + "y", "hi"))
    assert found.char_offset == 20


def test_excerpts_show_both_sides_and_stay_short() -> None:
    found = compare_requests(chat(RULES + "one" + RULES, "hi"), chat(RULES + "two" + RULES, "hi"))
    assert found.before is not None
    assert found.after is not None
    assert "one" in found.before
    assert "two" in found.after
    assert max(len(found.before), len(found.after)) < 100


def test_segments_can_be_compared_without_bodies() -> None:
    first, second = chat(RULES, "hi"), {**chat(RULES, "hi"), "model": "other"}
    assert compare_segments(cut_request(first), cut_request(second)).cause is None
    found = compare_segments(cut_request(first), cut_request(second), earlier_body=first, later_body=second)
    assert found.cause == "PC503"


def test_the_json_has_exactly_the_fields_of_the_command() -> None:
    assert list(Divergence(append_only=True).to_dict()) == [
        "append_only",
        "path",
        "char_offset",
        "cause",
        "causes",
        "severity",
        "alarm",
        "same_segments",
        "shared_chars",
        "lost_chars",
        "before",
        "after",
        "details",
        "remedy",
    ]


def test_a_malformed_request_names_the_place() -> None:
    with pytest.raises(MalformedRequestError) as caught:
        compare_requests(chat("S", "hi"), {"messages": [{"role": 5}]})
    assert caught.value.path == "messages[0].role"


def test_the_newest_turn_is_told_apart() -> None:
    assert compare_requests(chat("S", "a"), chat("S", "b")).in_newest_turn
    assert not compare_requests(chat("S", "a"), chat("T", "a")).in_newest_turn


def _unmarked(body: dict[str, Any]) -> dict[str, Any]:
    """The body without breakpoints, which have causes of their own."""
    body = copy.deepcopy(body)
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            block.pop("cache_control", None)
    return body


def _replaced(body: dict[str, Any], path: str, value: str) -> dict[str, Any]:
    """A copy of ``body`` with the text at ``path`` replaced."""
    body = copy.deepcopy(body)
    place: Any = body
    steps = path.replace("]", "").replace("[", ".").split(".")
    keys = [int(step) if step.isdigit() else step for step in steps]
    for key in keys[:-1]:
        place = place[key]
    target = place[keys[-1]]
    if isinstance(target, str):
        place[keys[-1]] = value
    else:
        target["text" if "text" in target else "content"] = value
    return body


def test_text_blocks_are_replaced_by_the_helper() -> None:
    body = anthropic([text("A")], "hi")
    assert _replaced(body, "system[0]", "B")["system"] == [text("B")]
