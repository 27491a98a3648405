"""An order that is another one each time is a shuffle; a choice, or a change made once, is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.reading import PromptReader
from promptcache_gateway.observe.shuffles import are_shuffled
from tests.gateway.observe.scenes import Stage, chat, rules_text

if TYPE_CHECKING:
    from promptcache_gateway.observe.prompt import Prompt

RULES = rules_text(90)
READER = PromptReader(Masker())


def shown(order: str, question: str = "And now?", **more: Any) -> Prompt:
    """A request with an example for each letter."""
    talk = [f"{role} of the example {letter}" for letter in order for role in ("ticket", "class")]
    return READER.read(chat("Be kind.", *talk, question, **more))


def judged(*orders: str) -> bool:
    """The last one against those before it, newest first."""
    *earlier, last = [shown(order, f"Question {number}?") for number, order in enumerate(orders)]
    return are_shuffled(last, earlier[-1], reversed(earlier))


def test_the_same_examples_in_ever_other_orders_are_shuffled() -> None:
    assert judged("abc", "bca", "acb", "cab")


def test_two_or_three_requests_prove_nothing() -> None:
    assert not judged("abc", "bca")
    assert not judged("abc", "bca", "acb")


def test_a_new_order_that_stays_was_made_once() -> None:
    assert not judged("abc", "abc", "abc", "abc", "bca")


def test_where_other_examples_come_too_they_are_chosen() -> None:
    assert not judged("abd", "abc", "bca", "acb", "cab")


def test_requests_without_any_of_them_say_nothing() -> None:
    assert judged("xyz", "abc", "bca", "acb", "cab")


def test_the_same_order_and_few_examples_are_no_shuffle() -> None:
    assert not judged("abc", "bca", "acb", "acb")
    assert not judged("ab", "ba", "ab", "ba")


def test_messages_that_are_no_pairs_are_documents() -> None:
    def found(order: str) -> Prompt:
        texts = [{"role": "user", "content": f"Document {letter} of the archive"} for letter in order]
        return READER.read({"model": "m", "messages": [*texts, {"role": "user", "content": "And?"}]})

    orders = [found(order) for order in ("abcdef", "bcdefa", "fedcba", "cabfed")]
    assert not are_shuffled(orders[-1], orders[-2], reversed(orders[:-1]))


def lines(order: str, of: str = "Q: what of {0}?\nA: class {0}") -> str:
    """Instructions with an example for each letter."""
    shown = "\n".join(of.format(letter) for letter in order)
    return f"You sort tickets.\n\nExamples:\n{shown}\n\n{RULES}"


def causes_of(*texts: str) -> list[str | None]:
    stage = Stage()
    return [
        stage.send(chat(text, f"What of number {number}?")).diagnosis.cause
        for number, text in enumerate(texts)
    ]


def test_examples_within_the_instructions_are_shuffled_too() -> None:
    orders = ("abcd", "bcda", "dacb", "cabd", "bdca")
    assert causes_of(*map(lines, orders))[3:] == ["PC103", "PC103"]


def test_lines_that_are_no_examples_may_come_from_any_collection() -> None:
    orders = ("abcd", "bcda", "dacb", "cabd", "bdca")
    assert causes_of(*(lines(order, "- the rule {0}") for order in orders))[3:] == ["PC204", "PC204"]


def test_examples_that_others_take_the_place_of_are_chosen() -> None:
    orders = ("abcd", "abce", "bcda", "dacb", "cabd")
    assert "PC103" not in causes_of(*map(lines, orders))
