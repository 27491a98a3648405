"""Texts that differ in several places: each place is found, in every script, and values are told apart."""

from __future__ import annotations

import hashlib
import json
import random
import textwrap
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache import canonical_json
from promptcache.divergence import compare_requests
from promptcache.divergence.change import Change
from promptcache.divergence.json_text import json_finding
from promptcache.divergence.pieces import gaps_between, in_order, pieces_of
from promptcache.divergence.text import volatile_findings

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = st.text(alphabet='ab ,.;\n中。"{[', max_size=80)
_WORDS = ("order", "refund", "invoice", "always", "never", "customer", "check", "answer", "ship")


def prose(size: int, seed: int) -> str:
    dice = random.Random(seed)
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        parts.append(f"{' '.join(dice.choices(_WORDS, k=9)).capitalize()} {dice.randrange(10**6)}. ")
    return "".join(parts)


def digest(number: int) -> str:
    return hashlib.md5(str(number).encode()).hexdigest()


def codes(before: str, after: str) -> dict[str, int]:
    """Each cause with the characters of the later text that stand before it."""
    found = volatile_findings(Change.between(before, after))
    return {one.code: one.offset or 0 for one in found}


@given(TEXTS, TEXTS)
def test_outside_its_gaps_two_texts_are_equal(old: str, new: str) -> None:
    assert "".join(pieces_of(old)) == old
    gaps = gaps_between(old, new)
    i = j = 0
    for gap in gaps:
        assert old[i : gap.old_start] == new[j : gap.new_start]
        assert gap.old_start <= gap.old_end
        assert gap.new_start <= gap.new_end
        i, j = gap.old_end, gap.new_end
    assert old[i:] == new[j:]
    assert bool(gaps) == (old != new)


@given(st.lists(st.integers(0, 5), max_size=20), st.lists(st.integers(0, 5), max_size=20))
def test_pairs_ascend_and_are_equal(old: list[int], new: list[int]) -> None:
    pairs = in_order(old, new)
    assert all(old[i] == new[j] for i, j in pairs)
    assert pairs == sorted(pairs)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)


def test_values_far_apart_in_one_line_are_all_found() -> None:
    rows = json.dumps([{"id": number, "name": prose(20, number)} for number in range(250)])
    texts = [
        f"Current time: 2026-11-29 21:2{n}:00. Catalogue: {rows} Session {digest(n)}. "
        f"User: {name} {prose(900, 4)}"
        for n, name in enumerate(("Alice Jones", "Bob Smith"))
    ]
    found = codes(*texts)
    assert list(found) == ["PC101", "PC102", "PC104"]
    assert found["PC102"] == texts[1].index(digest(1)) + len("c")
    assert found["PC104"] == texts[1].index("Bob")


def test_values_far_apart_in_chinese_are_all_found() -> None:
    signs = [f"第{number}条规则说要先核对订单再回答客户的问题" for number in range(90)]
    texts = [
        f"当前时间\uff1a2026-11-29 21:2{n}:00。{'。'.join(signs[:60])}。"
        f"会话编号\uff1a{digest(n)}。{'。'.join(signs[60:])}"
        for n in range(2)
    ]
    found = codes(*texts)
    assert list(found) == ["PC101", "PC102"]
    assert found["PC102"] == texts[1].index(digest(1)) + len("c")  # both begin with it


def test_white_space_beside_a_value_is_a_cause_of_its_own() -> None:
    rules = prose(3_000, 1)
    half = rules.index(". ", 1_500) + 2
    before = f"Time: 2026-11-29T21:00:07Z\n{rules[:half]}\n\n{rules[half:]}"
    after = f"Time: 2026-11-29T21:01:07Z\n{rules[:half]}\n\n {rules[half:]}"
    assert list(codes(before, after)) == ["PC101", "PC206"]
    assert list(codes(before, after.replace("\n\n ", "\n\n"))) == ["PC101"]


def test_columns_that_are_padded_to_a_value_did_not_drift() -> None:
    def table(name: str) -> str:
        width = max(len(name), 8)
        rows = [("name", name), ("plan", "gold"), ("region", "north"), ("seats", "twelve and a half")]
        return "Time: 2026-11-29T21:00:07Z\n" + "\n".join(
            f"| {a:<8} | {b:<{width}} | {prose(60, 3)}" for a, b in rows
        )

    before, after = table("Al"), table("Bartholomew Fitzgerald").replace("21:00", "21:05")
    assert "PC206" not in codes(before, after)


def test_sets_in_rows_and_rows_are_told_apart() -> None:
    rows = [{"id": number, "tags": ["alpha", "beta", "gamma"], "name": f"n{number}"} for number in range(60)]
    other = [dict(row) for row in rows]
    other[45] = {**other[45], "tags": ["gamma", "alpha", "beta"]}
    later = [*rows[:30], *reversed(rows[30:])]
    files = [{"files": ["src/a.py", "src/b.py"]}, {"files": ["src/b.py", "src/a.py"]}]

    def code(one: object, two: object) -> str | None:
        texts = [f"Rows: {json.dumps(value)}. Then." for value in (one, two)]
        found = json_finding(Change.between(*texts))
        return None if found is None else found.code

    assert code(rows, other) == "PC202"
    assert code(rows, later) == "PC204"
    assert code(*files) == "PC203"
    assert code(rows, [{**row, "id": -1} for row in rows]) is None


def _result(content: object) -> dict[str, object]:
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Find the order, please, and its invoice."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "find", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}]},
            {"role": "assistant", "content": "It was found."},
            {"role": "user", "content": "Thanks, and the other one?"},
        ],
    }


def test_a_result_that_is_wrapped_otherwise_is_a_shape_and_none_at_anthropic() -> None:
    found = prose(600, 2)
    flipped = compare_requests(_result(found), _result([{"type": "text", "text": found}]))
    assert (flipped.cause, flipped.severity) == ("PC206", "info")
    assert flipped.details["shape"] == "string to list"
    edited = compare_requests(_result(found), _result([{"type": "text", "text": found + "More."}]))
    assert edited.details.get("shape") is None


def _talk(*texts: str) -> dict[str, object]:
    roles = ("user", "assistant")
    said = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return {"model": "m", "messages": [{"role": "system", "content": prose(400, 9)}, *said]}


def test_a_history_that_was_trimmed_and_edited_behind_that() -> None:
    said = [prose(200, 50 + number) for number in range(9)]
    edited = said[2:]
    edited[3] = edited[3][:80] + " [seen] " + edited[3][80:]
    found = compare_requests(_talk(*said), _talk(*edited, "Good.", "And now?"))
    assert found.causes == ("PC501", "PC502")
    assert found.places["PC502"][0] == 4


def _thinking(text: str) -> list[dict[str, object]]:
    return [{"type": "thinking", "thinking": prose(300, len(text)), "signature": "c2ln"}]


def _says(text: str) -> list[dict[str, object]]:
    return [{"type": "text", "text": text}]


def _calls(text: str, separators: tuple[str, str] | None = None) -> dict[str, object]:
    arguments = json.dumps({"a": text, "b": 1}, separators=separators)
    call = {"id": text[:9], "type": "function", "function": {"name": "f", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


# What an answer was, and what the same one came back as.
_REPLAYED = {
    "thinking blocks": (
        lambda text: [{"role": "assistant", "content": _thinking(text) + _says(text)}],
        lambda text: [{"role": "assistant", "content": _says(text)}],
        "PC505",
    ),
    "two blocks and another form": (
        lambda text: [{"role": "assistant", "content": _thinking(text) * 2 + _says(text)}],
        lambda text: [{"role": "assistant", "content": text}],
        "PC505",
    ),
    "a reasoning field": (
        lambda text: [{"role": "assistant", "content": text, "reasoning_content": prose(300, len(text))}],
        lambda text: [{"role": "assistant", "content": text}],
        "PC505",
    ),
    "think tags": (
        lambda text: [{"role": "assistant", "content": f"<think>{prose(900, 3)}</think>\n{text}"}],
        lambda text: [{"role": "assistant", "content": text}],
        "PC505",
    ),
    "a seal": (
        lambda text: [{"role": "assistant", "content": _thinking(text) + _says(text)}],
        lambda text: [
            {"role": "assistant", "content": [_thinking(text)[0] | {"signature": ""}, *_says(text)]}
        ],
        "PC505",
    ),
    "arguments": (lambda text: [_calls(text)], lambda text: [_calls(text, (",", ":"))], "PC507"),
    "one part": (
        lambda text: [{"role": "assistant", "content": text}],
        lambda text: [{"role": "assistant", "content": [*_says(text[:70]), *_says(text[70:])]}],
        "PC206",
    ),
}


@pytest.mark.parametrize("answers", [1, 2, 4])
@pytest.mark.parametrize("form", _REPLAYED)
def test_what_befell_every_answer_alike_has_one_cause(form: str, answers: int) -> None:
    was, became, code = _REPLAYED[form]

    def talk(say: Callable[[str], list[dict[str, object]]]) -> list[dict[str, object]]:
        said = [{"role": "system", "content": prose(400, 9)}]
        for number in range(answers):
            said += [{"role": "user", "content": prose(90, 10 + number)}, *say(prose(150, 30 + number))]
        return [*said, {"role": "user", "content": "And now?"}]

    newest = [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "More?"}]
    found = compare_requests(
        {"model": "m", "messages": talk(was)}, {"model": "m", "messages": [*talk(became), *newest]}
    )
    assert found.causes == (code,)


def test_an_answer_dropped_with_its_thought_is_dropped_and_those_that_stayed_lost_theirs() -> None:
    def answer(number: int, thought: bool) -> dict[str, object]:
        text = prose(150, 30 + number)
        return {"role": "assistant", "content": (_thinking(text) if thought else []) + _says(text)}

    said = [
        message
        for number in range(6)
        for message in ({"role": "user", "content": prose(90, 10 + number)}, answer(number, True))
    ]
    edited = [{**said[0], "content": "Other words, please: " + prose(90, 10)}, said[1], said[2], *said[5:]]
    found = compare_requests({"messages": said}, {"messages": [*edited, said[0]]})
    assert "PC505" not in found.causes
    stripped = [*edited[:-1], answer(5, False)]
    found = compare_requests({"messages": said}, {"messages": [*stripped, said[0]]})
    assert found.causes[-1] == "PC505"


def test_a_pair_dropped_near_the_front_behind_an_edit() -> None:
    said = [prose(200, 80 + number) for number in range(9)]
    edited = [said[0].replace("order", "purchase", 1), said[1], *said[4:]]
    found = compare_requests(_talk(*said), _talk(*edited, "Good.", "And now?"))
    assert found.causes == ("PC502", "PC501")
    assert found.places["PC501"][0] == 3


def test_what_is_only_appended_or_asked_anew_has_no_further_causes() -> None:
    said = [prose(200, 20 + number) for number in range(7)]
    assert compare_requests(_talk(*said), _talk(*said, "Yes.", "And?")).append_only
    other = compare_requests(_talk(*said), _talk(*said[:-1], prose(200, 99)))
    assert set(other.causes) <= {"PC502"}
    assert other.severity == "info"


def test_the_same_system_text_in_another_place_is_no_error() -> None:
    """Once a message, once two blocks of the field: found by chance, and never an exception."""
    first = {"messages": [{"role": "system", "content": "a"}]}
    second = {"system": [{"type": "text", "text": "a"}] * 2, "messages": []}
    assert compare_requests(first, second).causes == ("PC404",)
    assert canonical_json(first) != canonical_json(second)


def test_lines_that_are_wrapped_around_a_value_did_not_drift() -> None:
    rules = prose(900, 5)

    def wrapped(name: str, clock: str) -> str:
        return (
            f"Time: {clock}\n"
            + textwrap.fill(f"You help {name} with orders. {rules}", 80)
            + f"\n\n{prose(400, 6)}"
        )

    before = wrapped("Al", "2026-11-29T21:00:07Z")
    after = wrapped("Bartholomew Fitzgerald-Montgomery", "2026-11-29T21:01:07Z")
    assert before.count("\n") != after.count("\n") or before.split("\n")[1] != after.split("\n")[1]
    found = codes(before, after)
    assert "PC101" in found
    assert "PC206" not in found


@pytest.mark.parametrize(
    ("heading", "code"),
    [("## Retrieved documents", "PC402"), ("# Sources", "PC402"), ("## How to treat sources", "PC401")],
)
def test_documents_behind_a_heading_are_retrieved(heading: str, code: str) -> None:
    def body(seed: int) -> dict[str, object]:
        system = f"{heading}\n{prose(1_500, seed)}\n\n# Rules\n{prose(2_500, 1)}"
        return {
            "model": "m",
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": "Hi?"}],
        }

    found = compare_requests(body(70), body(71)).causes
    assert (code in found) is True
    assert ("PC402" in found) is (code == "PC402")


def cited(*seeds: int, word: str = "") -> str:
    passages = (f"[{number}] {prose(400, seed)}" for number, seed in enumerate(seeds, 1))
    return "Answer from these:\n" + "\n".join(passages).replace("always", word or "always", 1)


def asked(*texts: str) -> dict[str, object]:
    systems = [{"role": "system", "content": text} for text in texts]
    return {"model": "m", "messages": [*systems, {"role": "user", "content": "Hi?"}]}


def test_other_passages_under_the_numbers_that_answers_cite_are_retrieved() -> None:
    rules = f"\n\n# Rules\n{prose(2_500, 1)}"
    first, other = (asked(cited(*seeds) + rules) for seeds in ((70, 71, 72), (70, 73, 71)))
    assert compare_requests(first, other).causes == ("PC402", "PC401")
    edited = asked(cited(70, 71, 72, word="mostly") + rules)
    assert "PC402" not in compare_requests(first, edited).causes


def test_static_texts_stand_behind_others_in_texts_of_their_own_too() -> None:
    rules = prose(2_500, 1)
    first, other = (asked(prose(900, seed), prose(700, seed + 1), rules) for seed in (70, 80))
    found = compare_requests(first, other)
    assert found.causes == ("PC403", "PC401")
    assert found.details["stranded_chars"] >= len(rules)
