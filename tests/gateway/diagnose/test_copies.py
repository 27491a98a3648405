"""A request counts once, however often and in however many files a log holds it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.diagnose import main
from promptcache_gateway.diagnose.copies import Copies
from promptcache_gateway.diagnose.formats import LogReader
from tests.gateway.diagnose.test_formats import (
    OPENAI,
    TALK,
    Entry,
    claude,
    codex,
    codex_count,
    counts,
    generation,
)

if TYPE_CHECKING:
    from pathlib import Path

    from promptcache_gateway.diagnose.exchange import LoggedExchange

WHEN = 1_795_953_600.25
OWN = {"request": {"model": "gpt-4o", "messages": TALK}, "usage": OPENAI, "time": WHEN}
LITELLM = {"id": "c1", "call_type": "acompletion", "model": "gpt-4o", "messages": TALK, "startTime": WHEN}
GENERATION = generation(1)


def once(*entries: Entry) -> list[LoggedExchange]:
    """The requests of a log without those that are copies."""
    reader, copies = LogReader(), Copies()
    found = [exchange for entry in entries for exchange in reader.read(entry)]
    return [one for one in found if one.known_by is None or not copies.is_one(one.known_by)]


@pytest.mark.parametrize(
    "entry",
    [
        {**OWN, "id": "r1"},
        {**OWN, "id": 1},
        {**OWN, "response": {"id": "chatcmpl-1"}},
        LITELLM,
        {"standard_logging_object": LITELLM},
        {**LITELLM, "messages": {}, "metadata": json.dumps({"usage_object": OPENAI})},
        GENERATION,
        {"id": "x", "time": WHEN, **OPENAI},
    ],
)
def test_a_line_that_comes_twice_is_one_request(entry: Entry) -> None:
    assert len(once(entry, entry)) == 1


def test_an_observation_by_itself_and_in_its_trace_is_one_request() -> None:
    assert len(once(GENERATION, {"id": "t1", "observations": [GENERATION]})) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (OWN, OWN),  # nothing says that it was not sent twice
        ({**OWN, "id": "r1"}, {**OWN, "id": "r1", "time": WHEN + 1}),  # a label, not an id
        ({**OWN, "id": "r1"}, {**OWN, "id": "r2"}),
        (LITELLM, {**LITELLM, "id": "c2"}),
    ],
)
def test_what_may_have_been_sent_twice_is_two_requests(one: Entry, other: Entry) -> None:
    assert len(once(one, other)) == 2


def test_only_so_many_are_remembered() -> None:
    copies = Copies(most=2)
    assert [copies.is_one(name) for name in ("a", "b", "a", "c", "a", "d", "e", "a")] == [
        *(False, False, True, False, True, False, False),
        False,
    ]


def session(name: str, *, new: str = "", turns: int = 2) -> list[Entry]:
    """A transcript; ``new`` is put before the names of its lines, not of its answers."""
    lines, parent = [], None
    for turn in range(turns):
        for kind in ("user", "assistant"):
            message: Entry = {"role": kind, "content": f"{kind} {turn}"}
            if kind == "assistant":
                message |= {"id": f"m{turn}", "model": "claude-opus-4-6", "usage": {"input_tokens": 9}}
            uuid = f"{new}{kind}{turn}"
            lines.append(
                {**claude(kind, message, 2 * turn), "uuid": uuid, "parentUuid": parent, "sessionId": name}
            )
            parent = uuid
    return lines


@pytest.mark.parametrize("new", ["", "n-"])
def test_a_session_that_is_resumed_in_another_file_goes_on(new: str) -> None:
    first, copied = session("s1"), session("s2", new=new)
    more = session("s2", new=new, turns=3)[-2:]
    found = once(*first, *copied, *more)
    assert [len(one.body["messages"]) for one in found] == [1, 3, 5]
    assert {one.tenant for one in found} == {"session s1"}


def test_results_between_the_lines_of_an_answer_end_it_not() -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 2_000}
    answer = {"id": "m1", "model": "claude-opus-4-6", "usage": usage}
    calls = [{"type": "tool_use", "id": name, "name": "ls", "input": {}} for name in ("a", "b")]
    results = [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("a", "b")]
    found = once(
        claude("user", {"content": "look"}, 1),
        claude("assistant", {**answer, "content": calls[:1]}, 2),
        claude("user", {"content": results[:1]}, 3),
        claude("assistant", {**answer, "content": calls[1:]}, 4),
        claude("user", {"content": results[1:]}, 5),
        claude("assistant", {**answer, "id": "m2", "content": "seen"}, 6),
    )
    assert [counts(one) for one in found] == [(2_003, 0, 2_000)] * 2
    assert found[1].body["messages"][1]["content"] == calls


def test_lines_of_no_session_are_notes_beside_them() -> None:
    notes = [
        {"type": "summary", "summary": "Fix it", "leafUuid": "u"},
        {"type": "file-history-snapshot", "messageId": "u", "snapshot": {}, "isSnapshotUpdate": False},
    ]
    assert once(*notes) == []


def rollout(name: str, calls: int, **meta: object) -> list[Entry]:
    lines = [codex("session_meta", {"id": name, "instructions": "x", **meta})]
    for number in range(calls):
        second = 10 * number + 10
        asked = {"type": "message", "role": "user", "content": f"question {number}"}
        said = {"type": "message", "role": "assistant", "content": f"answer {number}"}
        lines += [codex("response_item", asked, second), codex("response_item", said, second + 2)]
        count = codex_count(2_000 + number, 1_024)
        count["payload"]["info"]["total_token_usage"] = {
            "input_tokens": sum(2_000 + one for one in range(number + 1)),
            "cached_input_tokens": 1_024 * (number + 1),
        }
        lines += [{**count, "timestamp": said_at(second + 3)}] * 2
    return lines


def said_at(second: int, minute: int = 0) -> str:
    return f"2026-11-29T12:{minute:02}:{second:02}Z"


def test_a_fork_repeats_what_was_said_and_counts_only_its_own_calls() -> None:
    parent = rollout("a", 2)
    copied = [{**line, "timestamp": said_at(0, minute=5)} for line in parent]
    meta = codex("session_meta", {"id": "b", "forked_from_id": "a"})
    own = [{**line, "timestamp": said_at(30, minute=5)} for line in rollout("b", 3)[-4:]]
    forked = [{**meta, "timestamp": said_at(0, minute=5)}, *copied, *own]

    found = once(*parent, *forked)
    assert [counts(one)[0] for one in found] == [2_000, 2_001, 2_002]
    assert [len(one.body["input"]) for one in found] == [1, 3, 5]
    assert {one.tenant for one in found} == {"session a"}
    assert [counts(one)[0] for one in once(*forked)] == [2_002]
    assert len(once(*parent, *parent)) == 2


def test_sums_alone_say_what_each_call_counted() -> None:
    lines = rollout("a", 3)
    for line in lines:
        (line["payload"].get("info") or {}).pop("last_token_usage", None)
    assert [counts(one) for one in once(*lines)] == [(2_000, 1_024, 0), (2_001, 1_024, 0), (2_002, 1_024, 0)]


def test_copies_are_told_and_cost_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    lines = [json.dumps({**OWN, "id": f"r{number}", "time": WHEN + number}) for number in range(4)]
    log.write_text("\n".join(lines * 2))
    main([str(log), "--output-format", "json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["copies"] == 4
    assert (told["total"]["requests"], told["total"]["cached_tokens"]) == (4, 4 * 1_536)
    main([str(log), "--html", str(tmp_path / "page.html")])
    assert "4 requests stood in the log again" in capsys.readouterr().out
    assert "4 requests stand in the log again" in (tmp_path / "page.html").read_text()
