"""Keys are computed for readers only, and are the same whenever they are read."""

import random

import pytest

from promptcache_engine.cache import PrefixCache, names
from tests.engine.cache.kit import admitted, ran, stored_keys


class CountingHash:
    """Stands in for SHA-256 and counts."""

    def __init__(self) -> None:
        self.calls = 0
        self._real = names.hashlib.sha256

    def sha256(self, data: bytes) -> object:
        self.calls += 1
        return self._real(data)


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> CountingHash:
    counting = CountingHash()
    monkeypatch.setattr(names, "hashlib", counting)
    return counting


def test_nothing_is_hashed_until_a_key_is_read(hashing: CountingHash) -> None:
    cache = PrefixCache(64, 4)
    ran(cache, range(40))
    (event,) = cache.events()
    assert hashing.calls == 0
    assert len(event.keys) == 10
    assert hashing.calls == 10


def test_a_shared_prefix_is_hashed_once(hashing: CountingHash) -> None:
    cache = PrefixCache(64, 4)
    for last in range(5):
        ran(cache, [*range(40), *[100 + last] * 4])
        for event in cache.events():
            assert event.keys
    assert hashing.calls == 10 + 5


def test_an_event_can_be_read_after_its_pages_are_gone() -> None:
    cache = PrefixCache(4, 4)
    ran(cache, range(16))
    ran(cache, [0, 1, 2, 3, *range(50, 58)])
    stored, *rest = cache.events()
    cache.reset()
    removed = [key for event in rest if event.kind == "removed" for key in event.keys]
    assert set(removed) <= set(stored.keys)
    assert len(stored.keys) == 4


@pytest.mark.parametrize("seed", range(6))
def test_late_reading_gives_the_keys_early_reading_gives(seed: int) -> None:
    late, early = PrefixCache(12, 2), PrefixCache(12, 2)
    choose = random.Random(seed)
    unread = []
    read = []
    for _ in range(60):
        tokens = [choose.randint(0, 2) for _ in range(choose.randint(1, 14))]
        for cache in (late, early):
            lease = cache.admit(tokens)
            assert lease is not None
            cache.finish(lease)
        unread += late.events()
        read += [(event.kind, getattr(event, "parent", None), event.keys) for event in early.events()]
    assert [(event.kind, getattr(event, "parent", None), event.keys) for event in unread] == read
    assert stored_keys(late) == stored_keys(early)


def test_thousands_of_unhashed_turns_need_no_recursion() -> None:
    cache = PrefixCache(4_000, 1)
    for turn in range(1, 1_500):
        assert cache.admit(range(turn)) is not None
    events = cache.events()
    assert len(events[-1].keys) == 1


def test_keys_of_images_do_not_wait_for_what_may_be_forgotten() -> None:
    cache = PrefixCache(8, 4)
    lease = admitted(cache, range(8), extra_keys=[(0, 4, "image")])
    cache.abort(lease)
    stored = cache.events()[0]
    cache._store.codec.keep_only(())
    assert len(set(stored.keys)) == 2
