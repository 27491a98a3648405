"""A batch runs prefix by prefix, and its results come back in its own order."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache import group_by_prefix
from promptcache.errors import MalformedRequestError


def chat(system: str, question: str, model: str = "m") -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": model, "messages": messages}


def test_equal_prefixes_run_together() -> None:
    requests = [chat(f"system {i % 3}", f"question {i}", f"m{i % 2}") for i in range(12)]
    random.Random(4).shuffle(requests)
    batch = group_by_prefix(requests)
    assert sorted(batch.order) == list(range(12))
    assert [len(group) for group in batch.groups] == [2] * 6
    for group in batch.groups:
        assert len({(one["model"], one["messages"][0]["content"]) for one in group}) == 1
    assert [one for group in batch.groups for one in group] == list(batch.requests)
    assert batch.restore(batch.requests) == requests
    with pytest.raises(ValueError, match=r"zip\(\)"):
        batch.restore([1, 2])


def test_longer_histories_follow_the_shorter_ones_they_continue() -> None:
    short = chat("s", "one")
    longer = {**short, "messages": [*short["messages"], {"role": "assistant", "content": "1"}]}
    longest = {**longer, "messages": [*longer["messages"], {"role": "user", "content": "two"}]}
    other = chat("t", "one")
    assert group_by_prefix([longest, other, short, longer]).requests == (short, longer, longest, other)


def test_requests_without_a_common_prefix_stand_alone() -> None:
    bodies = [{"model": "m", "prompt": text} for text in ("b", "a", "b")]
    assert [len(group) for group in group_by_prefix(bodies).groups] == [1, 1, 1]
    assert group_by_prefix([]).requests == ()


def test_lines_of_a_batch_file() -> None:
    lines = [{"custom_id": str(i), "body": chat(f"s{i % 2}", "q")} for i in range(4)]
    batch = group_by_prefix(lines, body=lambda line: line["body"])
    assert [line["custom_id"] for line in batch.requests] == ["0", "2", "1", "3"]
    assert batch.restore([line["custom_id"] for line in batch.requests]) == ["0", "1", "2", "3"]
    with pytest.raises(MalformedRequestError, match=r"requests\[1\] messages\[0\]"):
        group_by_prefix([chat("s", "q"), {"messages": [3]}])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(0, 3))))
def test_each_prefix_is_computed_once(kinds: list[tuple[str, str, int]]) -> None:
    requests = [chat(system, f"{first} {number}") for system, first, number in kinds]
    batch = group_by_prefix(requests)
    seen: list[str] = []
    for request in batch.requests:
        system = request["messages"][0]["content"]
        if not seen or seen[-1] != system:
            seen.append(system)
    assert len(seen) == len(set(seen)) == len({system for system, _, _ in kinds}) == len(batch.groups)
    assert batch.restore(list(batch.order)) == list(range(len(requests)))
