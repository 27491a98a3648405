"""What a replica holds, by its own events: the same as the engine itself would say."""

from __future__ import annotations

import contextlib

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.fleet.kv_events import (
    CacheCleared,
    KvEventError,
    PagesRemoved,
    PagesStored,
    read_batch,
)
from promptcache_gateway.fleet.kv_index import KvIndex
from promptcache_gateway.fleet.prefix import Prefix
from tests.gateway.fleet.engines import FakeEngine

PROMPTS = st.lists(st.integers(0, 2), min_size=1, max_size=20)
STEPS = st.lists(st.tuples(PROMPTS, st.sampled_from(["", "a"]), st.integers(0, 9)), min_size=1, max_size=30)


def prompt(tokens: list[int], salt: str = "", model: str = "m") -> Prefix:
    return Prefix(token_ids=tuple(tokens), namespace=salt, model=model, tokens=len(tokens))


def follow(index: KvIndex, engine: FakeEngine) -> None:
    for batch in engine.batches:
        index.apply(read_batch(batch))
    engine.batches.clear()


@given(STEPS, st.sampled_from([1, 3]))
def test_the_index_says_what_the_engine_would_read(
    steps: list[tuple[list[int], str, int]], page_size: int
) -> None:
    engine, index = FakeEngine(pages=6, page_size=page_size), KvIndex()
    index.begin(whole=True)
    for tokens, salt, dice in steps:
        told = index.held(prompt(tokens, salt))
        read = engine.run(tokens, salt)
        assert told is None or told[0] == read
        follow(index, engine)
        if dice == 0:
            engine.clear()
            follow(index, engine)
    assert index.tokens <= 6 * page_size
    assert len(index) == len(engine.pages)


@pytest.mark.parametrize("form", ["map", "array"])
def test_both_forms_of_messages_are_read(form: str) -> None:
    engine, index = FakeEngine(form=form), KvIndex()
    index.begin(whole=True)
    engine.run(range(40))
    follow(index, engine)
    assert index.held(prompt([*range(40), 99])) == (40, 0)
    assert index.held(prompt(list(range(40)))) == (36, 0), "one token at least is computed"
    engine.clear()
    follow(index, engine)
    assert index.held(prompt([*range(40), 99])) == (0, 40), "it was there, and is gone"


def test_eviction_is_told_apart_from_what_was_never_there() -> None:
    engine, index = FakeEngine(pages=4), KvIndex()
    index.begin(whole=True)
    engine.run(range(16))
    engine.run(range(100, 108))
    follow(index, engine)
    assert index.held(prompt(list(range(20)))) == (8, 8)


def test_a_salt_that_events_do_not_tell_is_not_guessed() -> None:
    engine, index = FakeEngine(form="array", salts=False), KvIndex()
    index.begin(whole=True)
    engine.run(range(16), salt="tenant")
    follow(index, engine)
    assert index.held(prompt(list(range(17)))) == (16, 0), "no salt has been seen"
    assert index.held(prompt(list(range(17)), salt="tenant")) is None
    assert index.held(prompt(list(range(17)))) is None, "what lies there may be the tenant's"


def test_adapters_do_not_share() -> None:
    index = KvIndex()
    index.begin(whole=True)
    stored = PagesStored((b"1",), None, (1, 2), 2, lora="sql")
    index.apply([stored])
    assert index.held(prompt([1, 2, 3], model="base")) == (0, 0)
    assert index.held(prompt([1, 2, 3], model="sql")) == (2, 0)


def test_of_several_models_of_which_events_tell_no_adapter_nothing_is_sure() -> None:
    index = KvIndex()
    index.begin(whole=True)
    index.apply([PagesStored((b"1",), None, (1, 2), 2)])
    assert index.held(prompt([1, 2, 3], model="base")) == (2, 0)
    assert index.held(prompt([1, 2, 3], model="base:sql")) is None
    assert index.held(prompt([1, 2, 3], model="base")) is None
    index.apply([PagesStored((b"2",), None, (1, 2), 2, lora="base:sql")])
    assert index.held(prompt([1, 2, 3], model="base")) == index.held(prompt([1, 2, 3], model="base:sql"))


def test_two_pages_of_one_name_make_it_a_guess_until_all_is_cleared() -> None:
    index = KvIndex()
    index.begin(whole=True)
    index.apply([PagesStored((b"1", b"2"), None, (1, 2, 3, 4), 2)])
    index.apply([PagesStored((b"2",), b"1", (3, 4), 2)])
    assert index.held(prompt([1, 2, 3, 4, 5])) is None
    assert index.held(prompt([1, 2, 9])) == (2, 0), "what does not rest on it is sure"
    index.apply([PagesStored((b"3",), None, (7, 8), 2, salt="a")])
    index.apply([PagesStored((b"3",), None, (7, 8), 2, salt="b")])
    assert index.held(prompt([7, 8, 9], salt="a")) is index.held(prompt([7, 8, 9], salt="b")) is None
    index.apply([CacheCleared(), PagesStored((b"1", b"2"), None, (1, 2, 3, 4), 2)])
    assert index.held(prompt([1, 2, 3, 4, 5])) == (4, 0)


def test_a_page_with_two_copies_is_held_until_both_are_gone() -> None:
    index = KvIndex()
    index.begin(whole=True)
    for medium in ("GPU", "CPU"):
        index.apply([PagesStored((b"1",), None, (1, 2), 2, copy=(medium, 0))])
    index.apply([PagesRemoved((b"1",), ("GPU", 0))])
    assert index.held(prompt([1, 2, 3])) == (2, 0)
    index.apply([PagesRemoved((b"1", b"unknown"), ("CPU", 0))])
    assert index.held(prompt([1, 2, 3])) == (0, 2)


def test_what_follows_an_unknown_page_makes_it_a_guess() -> None:
    index = KvIndex()
    index.begin(whole=True)
    index.apply([PagesStored((b"2",), b"missed", (3, 4), 2)])
    assert (index.whole, index.orphans) == (False, 1)
    assert index.held(prompt([1, 2, 3, 4, 5])) is None
    index.apply([CacheCleared()])
    assert index.whole


def test_layers_with_pages_of_two_sizes_make_it_a_guess() -> None:
    index = KvIndex()
    index.begin(whole=True)
    index.apply([PagesStored((b"1",), None, (1, 2), 2), PagesStored((b"2",), None, (1, 2, 3, 4), 4)])
    assert index.held(prompt([1, 2, 3, 4, 5])) is None


def test_where_tokens_are_not_known_nothing_is_said() -> None:
    index = KvIndex()
    index.begin(whole=True)
    assert index.held(Prefix(keys=(1, 2), tokens=256.0)) is None


@pytest.mark.parametrize(
    "key", [["s"], [["cache_salt", "s"]], [["lora", "sql", "/path"], ["cache_salt", "s"]], ["sql", "s"]]
)
def test_salts_are_read_in_every_form(key: list[object]) -> None:
    event = {
        "type": "BlockStored",
        "block_hashes": [1, 2],
        "parent_block_hash": None,
        "token_ids": [1, 2, 3, 4],
        "block_size": 2,
        "lora_id": None,
        "medium": "GPU",
        "lora_name": "sql",
        "extra_keys": [key, None],
    }
    (stored,) = read_batch(msgpack.packb({"ts": 1.0, "events": [event]}))
    assert isinstance(stored, PagesStored)
    assert (stored.lora, stored.salt, stored.extra) == ("sql", "s", ())


def test_pictures_stay_in_the_page_they_belong_to() -> None:
    fields = [[1, 2], None, [7, 7, 8, 8], 2, None, "GPU", None, [None, [["mm", "hash", 1]]]]
    (stored,) = read_batch(msgpack.packb([1.0, [["BlockStored", *fields]]]))
    assert isinstance(stored, PagesStored)
    assert (stored.salt, stored.extra[0], stored.extra[1] != "") == ("", "", True)


def test_a_page_of_which_copies_are_left_in_place_is_not_removed() -> None:
    event = {"type": "BlockRemoved", "block_hashes": [1, 2], "medium": "GPU", "remaining_copy_counts": [1, 0]}
    assert read_batch(msgpack.packb([1.0, [event]])) == (PagesRemoved((2,), ("GPU", 0)),)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        msgpack.packb(7),
        msgpack.packb([1.0]),
        msgpack.packb([1.0, [["BlockStored"]]]),
        msgpack.packb([1.0, [["BlockStored", ["x"], None, [1, 2], 2]]]),
        msgpack.packb([1.0, [["BlockStored", [1], None, [1, 2, 3], 2]]]),
        msgpack.packb({"ts": 1.0, "events": [{"block_hashes": []}]}),
    ],
)
def test_what_is_no_batch_is_one_error(payload: bytes) -> None:
    with pytest.raises(KvEventError):
        read_batch(payload)


def test_events_of_a_later_kind_are_passed_over() -> None:
    payload = msgpack.packb([1.0, [["BlockMoved", 1], ["AllBlocksCleared"]], 3, "more"])
    assert read_batch(payload) == (CacheCleared(),)


@given(st.binary(max_size=60))
def test_no_bytes_do_any_harm(payload: bytes) -> None:
    with contextlib.suppress(KvEventError):
        read_batch(payload)
