"""Keys of a prompt: a prefix for a prefix, apart by tenant and model, the same in every process."""

from __future__ import annotations

from itertools import pairwise

import orjson
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.fleet.prefix import PIECE_BYTES, chained_keys, read_prefix


def chat(*texts: str, system: str = "You help. " * 200) -> dict[str, object]:
    turns = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": text} for at, text in enumerate(texts)
    ]
    return {"model": "m", "messages": [{"role": "system", "content": system}, *turns]}


@given(st.binary(max_size=6000), st.binary(max_size=3000))
def test_keys_of_a_longer_prompt_begin_with_those_of_the_shorter(head: bytes, tail: bytes) -> None:
    keys = chained_keys(head)
    assert chained_keys(head + tail)[: len(keys)] == keys
    assert len(keys) == len(head) // PIECE_BYTES


@given(st.binary(min_size=2 * PIECE_BYTES, max_size=4000), st.data())
def test_a_key_covers_everything_before_it(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, PIECE_BYTES * (len(data) // PIECE_BYTES) - 1))
    changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    same = [one == other for one, other in zip(chained_keys(data), chained_keys(changed), strict=True)]
    assert same == [index < at // PIECE_BYTES for index in range(len(same))]


def test_a_conversation_grows_from_its_own_beginning() -> None:
    turns = ["Where is my order? " * 40, "It is on its way. " * 40, "When? " * 200]
    grown = [read_prefix(chat(*turns[:end]), tenant="t", model="m") for end in (1, 3)]
    for shorter, longer in pairwise(grown):
        assert longer.keys[: len(shorter.keys)] == shorter.keys
        assert len(longer.keys) > len(shorter.keys) > 3
    assert grown[0].tokens_of(2) == 2 * grown[0].key_tokens
    assert grown[0].tokens_of(99) == grown[0].tokens


def test_tenants_models_and_sessions_are_apart() -> None:
    def keys(**who: str) -> tuple[object, ...]:
        read = read_prefix(chat("hello"), **{"tenant": "a", "model": "m", "session": "s", **who})
        return (*read.keys, read.session)

    assert keys() == keys()
    assert not set(keys()) & set(keys(tenant="b"))
    assert not set(keys()) & set(keys(model="n"))
    assert not set(keys()) & set(keys(namespace="salt"))
    assert keys()[-1] != keys(session="other")[-1]


def test_the_keys_are_the_same_in_every_process() -> None:
    assert chained_keys(b"x" * PIECE_BYTES, b"seed")[0].hex() == "259dc6e7b03e6ad7"


def test_order_and_spaces_of_the_body_do_not_matter() -> None:
    body = chat("hello")
    other = orjson.loads(orjson.dumps(dict(reversed(body.items())), option=orjson.OPT_INDENT_2))
    assert read_prefix(body, tenant="t", model="m").keys == read_prefix(other, tenant="t", model="m").keys


def test_tokens_are_known_where_the_caller_sent_tokens() -> None:
    read = read_prefix({"prompt": list(range(300))}, tenant="t", model="m")
    assert (read.token_ids, read.tokens, len(read.keys)) == (tuple(range(300)), 300.0, 2)
    assert read_prefix({"prompt": "text"}, tenant="t", model="m").token_ids == ()
    assert read_prefix({"prompt": ["one", "two"]}, tenant="t", model="m").token_ids == ()


def test_a_body_of_no_known_shape_has_its_session_only() -> None:
    read = read_prefix({"messages": 7}, tenant="t", model="m", session="s")
    assert (read.keys, read.tokens) == ((), 0)
    assert read.session is not None
