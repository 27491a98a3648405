"""SGLang's events as its versions write them: what they tell is read, what they do not is not guessed."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.fleet.kv_events import KvEventError, PagesStored, read_batch
from promptcache_gateway.fleet.kv_index import KvIndex
from promptcache_gateway.fleet.prefix import Prefix
from tests.gateway.fleet.engines import publisher
from tests.gateway.fleet.sglang_engine import Form, SglangEngine
from tests.gateway.fleet.test_kv_stream import following, until

FORMS: tuple[Form, ...] = ("untold", "array", "map")
PROMPTS = st.lists(st.integers(0, 2), min_size=1, max_size=20)
STEPS = st.lists(
    st.tuples(PROMPTS, st.sampled_from(["", "a", "b"]), st.integers(0, 9)), min_size=1, max_size=30
)


def prompt(tokens: list[int], salt: str = "") -> Prefix:
    return Prefix(token_ids=tuple(tokens), namespace=salt, model="m", tokens=len(tokens))


def follow(index: KvIndex, engine: SglangEngine) -> None:
    for batch in engine.batches:
        index.apply(read_batch(batch))
    engine.batches.clear()


@given(STEPS, st.sampled_from([1, 3]), st.sampled_from(FORMS))
def test_the_index_says_what_the_engine_would_read_or_nothing(
    steps: list[tuple[list[int], str, int]], page_size: int, form: Form
) -> None:
    engine, index = SglangEngine(6, page_size, form), KvIndex()
    engine.begin()
    follow(index, engine)
    for tokens, salt, dice in steps:
        told = index.held(prompt(tokens, salt))
        read = engine.run(tokens, salt)
        assert told is None or told[0] == read
        follow(index, engine)
        if dice == 0:
            engine.clear()
            follow(index, engine)
    assert form == "untold" or (index.whole and len(index) == engine.size)


@pytest.mark.parametrize("form", FORMS)
def test_without_salts_everything_is_known(form: Form) -> None:
    engine, index = SglangEngine(form=form), KvIndex()
    engine.begin()
    engine.run(range(40))
    engine.run([*range(24), *range(100, 116)])  # the node is split, and nothing is told of that
    follow(index, engine)
    assert index.held(prompt([*range(40), 99])) == (40, 0)
    assert index.held(prompt([*range(24), *range(100, 116), 99])) == (40, 0)


@pytest.mark.parametrize("form", ["array", "map"])
def test_a_salt_in_the_events_keeps_tenants_apart(form: Form) -> None:
    engine, index = SglangEngine(form=form), KvIndex()
    engine.begin()
    engine.run(range(16), "a")
    engine.run(range(16, 20), "a")
    engine.run(range(32), "b")
    engine.run(range(8))
    follow(index, engine)
    tokens = list(range(33))
    assert [index.held(prompt(tokens, salt)) for salt in ("a", "b", "c", "")] == [
        (16, 0),
        (32, 0),
        (0, 0),
        (8, 0),
    ]


def test_names_that_two_salts_share_are_not_counted_on() -> None:
    engine, index = SglangEngine(form="untold"), KvIndex()
    engine.begin()
    engine.run(range(16))
    follow(index, engine)
    assert index.held(prompt(list(range(17)))) == (16, 0)
    engine.run(range(16), "a")  # asked at another door, so that only the repeated names can tell
    follow(index, engine)
    assert index.held(prompt(list(range(17)))) is None
    assert index.held(prompt([*range(100, 117)])) == (0, 0)


def test_messages_as_they_are_on_the_wire() -> None:
    """By hand, from how SGLang declares them: arrays that begin with a tag, and maps with ``type``."""
    plain = ["BlockStored", [-7, 8], None, [1, 2, 3, 4], 2, None, "GPU"]
    without_memory = plain[:6]
    salted = [*plain, {"cache_salt": "t"}]
    mapped = {
        "type": "BlockStored",
        "block_hashes": [-7, 8],
        "parent_block_hash": 5,
        "token_ids": [1, 2, 3, 4],
        "block_size": 2,
        "lora_id": None,
        "medium": "CPU_PINNED",
        "cache_salt": "t",
        "session_id": "s",
    }
    batch = [0.5, [plain, without_memory, salted, mapped, ["BlockRemoved", [8], "GPU"]], 0]
    first, second, third, fourth, _ = read_batch(msgpack.packb(batch))
    assert first == second == PagesStored((-7, 8), None, (1, 2, 3, 4), 2, copy=("GPU", 0))
    assert third == PagesStored((-7, 8), None, (1, 2, 3, 4), 2, salt="t", copy=("GPU", 0))
    assert fourth == PagesStored((-7, 8), 5, (1, 2, 3, 4), 2, salt="t", copy=("CPU_PINNED", 0))


@pytest.mark.parametrize("rest", [["swa"], ["mamba", {"cache_salt": "t"}]])
def test_layers_that_are_told_apart_are_estimated(rest: list[object]) -> None:
    event = ["BlockStored", [1], None, [1, 2], 2, None, "GPU", *rest]
    (stored,) = read_batch(msgpack.packb([0.5, [event]]))
    index = KvIndex()
    index.begin(whole=True)
    index.apply([stored])
    assert not index.whole


def test_pages_of_pairs_of_tokens_are_none_of_ours() -> None:
    """Speculative decoding with EAGLE names pages by pairs of tokens."""
    event = ["BlockStored", [1], None, [[1, 2], [2, 3]], 2, None, "GPU"]
    with pytest.raises(KvEventError):
        read_batch(msgpack.packb([0.5, [event]]))


async def test_its_stream_is_followed_and_asked_again() -> None:
    engine = SglangEngine(page_size=4)
    engine.begin()
    engine.run(range(40), "t")
    async with publisher() as pub:
        await pub.send(*engine.batches)
        async with following(pub) as stream:
            await until(lambda: stream.replayed == 2)
            assert stream._index.held(prompt(list(range(41)), "t")) == (40, 0)
            assert stream._index.held(prompt(list(range(41)), "u")) == (0, 0)
            assert stream.view()["whole"]
