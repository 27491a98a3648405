"""What is charged for a lost prefix is what that text can have, whatever stands in the newest turn."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pytest

from promptcache.segments import cut_request
from tests.gateway.observe.scenes import Stage, rules_text
from tests.gateway.observe.traffic import Author
from tests.gateway.observe.written_provider import Tokenizer, WrittenProvider
from tests.gateway.observe.written_traffic import characters, letters, numbers, objects, picture, plain

RULES = rules_text(110)
TOKENIZERS = [Tokenizer(), Tokenizer(letters=8), Tokenizer(letters=4, digits=1, wide=2)]


def digests(author: Author, size: int) -> str:
    return "\n".join(hashlib.md5(author.random.randbytes(8)).hexdigest() for _ in range(size // 33))


def request(head: str, turn: Any, **known: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": head}, {"role": "user", "content": turn}]
    return {"model": "gpt-4o", "messages": messages, **known}


def before_the_turn(body: dict[str, Any], tokenizer: Tokenizer) -> int:
    """The tokens that could have been read."""
    return len(tokenizer.cut_segment(cut_request(body)[0]))


@pytest.mark.parametrize("write", [characters, numbers, objects, letters, digests, plain])
@pytest.mark.parametrize("cutting", TOKENIZERS, ids=["usual", "long", "short"])
def test_a_dense_turn_does_not_make_the_instructions_dear(write: Any, cutting: Tokenizer) -> None:
    author, stage = Author(1), Stage(WrittenProvider(cutting))
    for minute in range(3):
        body = request(f"Now: 2026-11-29T21:0{minute}:07Z\n{RULES}", write(author, 12_000))
        diagnosis = stage.send(body).diagnosis
    true = before_the_turn(body, cutting)

    assert (diagnosis.cause, diagnosis.estimated) == ("PC101", True)
    assert true * 0.5 < diagnosis.lost_tokens <= true * 1.1
    assert diagnosis.token_offset <= diagnosis.lost_tokens


@pytest.mark.parametrize(
    ("known", "code"), [({"prompt_cache_key": "a"}, "PC607"), ({"after_s": 4_000.0}, "PC802")]
)
def test_nor_what_is_lost_to_time_or_a_key(known: dict[str, Any], code: str) -> None:
    author, stage = Author(2), Stage(WrittenProvider())
    after_s = known.pop("after_s", 5.0)
    stage.send(request(RULES, numbers(author, 12_000), **(known and {"prompt_cache_key": "b"})))
    body = request(RULES, numbers(author, 12_000), **known)
    diagnosis = stage.send(body, after_s=after_s).diagnosis
    true = before_the_turn(body, Tokenizer())

    assert diagnosis.cause == code
    assert true * 0.7 < diagnosis.lost_tokens <= true * 1.1


def test_nor_a_picture() -> None:
    author, stage = Author(3), Stage(WrittenProvider())
    for minute in range(2):
        turn = [{"type": "text", "text": "Look:"}, picture(author)]
        body = request(f"Now: 2026-11-29T21:0{minute}:07Z\n{RULES}", turn)
        diagnosis = stage.send(body).diagnosis

    assert diagnosis.cause == "PC101"
    assert diagnosis.lost_tokens <= before_the_turn(body, Tokenizer()) * 1.1


def test_dense_instructions_are_not_made_cheap_by_a_plain_turn() -> None:
    author, stage = Author(4), Stage(WrittenProvider())
    table = numbers(author, 9_000)
    for minute in range(2):
        body = request(f"Now: 2026-11-29T21:0{minute}:07Z\n{table}", plain(author, 9_000))
        diagnosis = stage.send(body).diagnosis
    true = before_the_turn(body, Tokenizer())

    assert true * 0.7 < diagnosis.lost_tokens <= true * 1.1


def test_a_short_turn_leaves_little_to_guess() -> None:
    stage, dice = Stage(WrittenProvider()), random.Random(5)
    for minute in range(2):
        body = request(f"Now: 2026-11-29T21:0{minute}:07Z\n{RULES}", f"Order {dice.randrange(99)}?")
        diagnosis = stage.send(body).diagnosis
    true = before_the_turn(body, Tokenizer())

    assert true - 160 < diagnosis.lost_tokens <= true
