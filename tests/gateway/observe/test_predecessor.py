"""The right earlier request is compared with; an edited history is known, however short its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gateway.observe.scenes import Stage, chat, engine_provider, rules_text
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from promptcache_gateway.observe import Diagnosis

RULES = rules_text()
SHORT = (
    "What did we sell last month?",
    "About 4,100 units.",
    "And in Norway?",
    "Some 310 units.",
    "And Chile?",
    "Just 12 units.",
    "And Peru?",
)


def conversation(seed: int) -> list[str]:
    author = Author(seed)
    return [text for _ in range(3) for text in (author.question(), author.answer())] + [author.question()]


def play(*talks: list[str] | tuple[str, ...]) -> list[Diagnosis]:
    stage = Stage(engine_provider())
    return [stage.send(chat(RULES, *talk)).diagnosis for talk in talks]


def edited(talk: list[str], index: int, *, word: bool) -> list[str]:
    changed = list(talk)
    first, _, rest = talk[index].partition(" ")
    changed[index] = f"{first} zebra {rest}" if word else talk[index] + "\n"
    return changed


@pytest.mark.parametrize("seed", range(6))
def test_the_longest_prefix_counts_before_the_newest_holder_of_the_messages(seed: int) -> None:
    talk = conversation(seed)
    for word, code in ((True, "PC502"), (False, "PC206")):
        _, trimmed, later = play(talk, talk[2:], edited(talk, 1, word=word))

        assert (trimmed.cause, trimmed.path) == ("PC501", "messages[1]")
        assert (later.cause, later.path) == (code, "messages[2]")
        assert later.compared_with == "pcr_000000000000000000000000"
        assert later.lost_tokens is not None
        assert later.lost_tokens > 60


@pytest.mark.parametrize("seed", range(6))
def test_a_trim_is_compared_with_the_conversation_and_not_with_its_rewritten_copy(seed: int) -> None:
    talk = conversation(seed)
    copy = edited(edited(talk, 1, word=True), 2, word=True)

    *_, diagnosis = play(talk, copy, talk[2:])

    assert diagnosis.cause == "PC501"
    assert diagnosis.compared_with == "pcr_000000000000000000000000"
    assert diagnosis.before is not None
    assert talk[0].startswith(diagnosis.before.strip("…")[:20])


def test_another_conversation_under_an_edited_system_prompt_does_not_stand_in_for_its_own() -> None:
    talk, other = conversation(1), conversation(2)
    stage = Stage(engine_provider())
    stage.send(chat(RULES, *talk[:5]))
    stage.send(chat("Be brief.\n" + RULES, *other[:3]))

    diagnosis = stage.send(chat("Be brief.\n" + RULES, *talk)).diagnosis

    assert diagnosis.compared_with == "pcr_000000000000000000000000"
    assert diagnosis.path == "messages[0]"


@pytest.mark.parametrize("turns", [5, 7])
def test_a_short_history_with_one_word_edited_is_a_miss(turns: int) -> None:
    _, diagnosis = play(SHORT[:5], ("What did we sell last year?", *SHORT[1:turns]))

    assert diagnosis.hit is False
    assert (diagnosis.cause, diagnosis.path) == ("PC502", "messages[1]")
    assert diagnosis.lost_tokens is not None
    assert diagnosis.lost_tokens > 20


def test_a_prefix_put_before_every_past_user_turn_is_a_miss() -> None:
    stamped = [f"[12:01:09] {text}" if n % 2 == 0 else text for n, text in enumerate(SHORT)]

    _, diagnosis = play(SHORT[:5], stamped)

    assert diagnosis.hit is False
    assert (diagnosis.cause, diagnosis.path, diagnosis.char_offset) == ("PC502", "messages[1]", 0)
    assert diagnosis.lost_tokens is not None
    assert diagnosis.lost_tokens > 20


@pytest.mark.parametrize(
    "other",
    [
        ("Who bought most?", "About 4,100 units.", "In all of May?", "Some 310 units.", "Thanks!"),
        ("Who bought most?", "The northern depot did.", "And in Norway?", "Nobody there.", "And Chile?"),
        ("Hello there!", "What can I do?", "Where is my order?", "Its number?", "It is 12."),
    ],
)
def test_two_short_conversations_under_one_system_prompt_are_two(other: tuple[str, ...]) -> None:
    for first in (
        SHORT[:5],
        ("Good day!", "What can I do?", "Is my parcel lost?", "Its number?", "It is 7."),
    ):
        _, diagnosis = play(first, other)

        assert diagnosis.cause is None
        assert diagnosis.hit is True
