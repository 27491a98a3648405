"""What a caller may send to hold up a comparison: each of these took from seconds to minutes once."""

from typing import Any

import pytest

from promptcache.divergence import compare_requests
from promptcache.divergence.alignment import alignable, first_step
from promptcache.segments import Segment, cut_request

LONG = 200_000


def chat(system: str, *turns: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}]
    messages += [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(turns)]
    return {"model": "gpt-4o", "messages": messages}


@pytest.mark.parametrize("blank", ["\n", "\t", " ", "\r\n", "\u3000", "- ", "#", ", "])
def test_a_long_run_of_one_thing_is_read_once(blank: str) -> None:
    before = (blank * LONG)[:LONG]
    after = before[: LONG // 2] + "X" + before[LONG // 2 + 1 :]
    found = compare_requests(chat(before, "hello"), chat(after, "hello"))
    assert found.path == "messages[0]"
    assert found.char_offset == LONG // 2


def test_thousands_of_equal_lines_behind_a_clock() -> None:
    clock = "The current time is 2026-11-29T12:%d:00Z.\n"
    before, after = clock % 30 + "x\n" * 9000, clock % 31 + "x\ny\n" * 4500
    found = compare_requests(chat(before, "hello"), chat(after, "hello"))
    assert found.causes == ("PC101",)


def test_hundreds_of_equal_messages() -> None:
    before, after = ["x"] * 598, ["x" if i % 3 else "y" for i in range(598)]
    found = compare_requests(chat("Rules.", "hello", "so", *before), chat("Rules.", "hello", "no", *after))
    assert found.causes == ("PC502",)


def segments(*turns: str) -> tuple[Segment, ...]:
    return cut_request(chat("Rules.", *turns))


def test_what_is_too_alike_is_aligned_by_its_beginning() -> None:
    assert alignable(range(600), range(600))
    assert not alignable(["x"] * 600, ["x"] * 600)
    many = ["x"] * 598
    step = first_step(segments("new", *many)[-599:], segments("newer", "one more", *many)[-600:])
    assert (step.kind, step.removed) == ("replaced", 1)
    assert step.kept > 0
