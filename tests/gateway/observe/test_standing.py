"""What stands in both texts behind their first difference: in order, in passages, behind a value."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.observe.standing import standing
from tests.gateway.observe.scenes import rules_text

RULES = rules_text(60)
PARAGRAPH = RULES.replace("\n", " ")
CHARACTERS = "".join(chr(0x4E00 + (n * 7919) % 20_000) for n in range(3_000))
LETTERS = [f"{chr(97 + n % 26)}{n * 7919}" for n in range(400)]


@pytest.mark.parametrize("text", [RULES, PARAGRAPH, CHARACTERS, ",".join(LETTERS)])
def test_text_behind_a_value_stands_whatever_ends_it(text: str) -> None:
    found = standing(f"For Ann.\n{text}\nSigned: Ann", f"For Robert.\n{text}\nSigned: Robert")
    assert found.of_value
    assert found.chars == pytest.approx(len(text), abs=60)
    assert found.until == pytest.approx(len("For Robert.\n") + len(text), abs=60)


def test_what_differs_at_the_end_alone_leaves_nothing_behind() -> None:
    assert standing(f"{RULES}\nFor Ann.", f"{RULES}\nFor Robert.") == standing("", "")


def test_a_text_that_grew_or_was_cut_lost_nothing() -> None:
    assert not standing(RULES, f"{RULES}\nMore.").of_value
    assert not standing(f"{RULES}\nMore.", RULES).of_value


def test_a_list_whose_oldest_line_is_gone_is_no_value_in_front_of_it() -> None:
    lines = rules_text(120).split("\n")
    one, other = "\n".join(lines[:100]), "\n".join([*lines[:70], *lines[71:101]])
    found = standing(one, other)
    assert found.chars > 1_024
    assert not found.of_value


def test_a_list_that_moved_up_is_none_where_its_lines_begin_alike() -> None:
    lines = [f"- When they write from Leeds, answer case {n}, and mention {n * 7}." for n in range(80)]
    one, other = "\n".join([RULES, *lines[:60]]), "\n".join([RULES, *lines[1:61]])
    found = standing(one, other)
    assert found.chars > 1_024
    assert not found.of_value


def test_the_same_passages_in_another_order_are_not_all_standing() -> None:
    parts = [rules_text(8, name) for name in ("red", "blue", "green", "grey")]
    front = rules_text(60)
    one, other = "\n".join([front, *parts]), "\n".join([front, *reversed(parts)])
    assert standing(one, other).chars <= max(map(len, parts))


def test_records_with_the_same_keys_do_not_stand() -> None:
    def rows(seed: int) -> str:
        return "".join(f'{{"id": {n * seed}, "kind": "order", "state": "{n % seed}"}},' for n in range(90))

    assert not standing(f"{RULES}\n{rows(7)}", f"{RULES}\n{rows(11)}").of_value


@settings(max_examples=60)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_any_texts(one: str, other: str, end: str, another: str) -> None:
    before, after = f"{one}{RULES}{end}", f"{other}{RULES}{another}"
    found = standing(before, after)
    assert 0 <= found.chars <= found.until <= len(after)
    if found.of_value:
        assert after != before
