"""What the cache tells the outside, and that a mirror built from it is right."""

import hashlib
import struct

from promptcache_engine.cache import CacheCleared, PagesRemoved, PagesStored, PrefixCache
from promptcache_engine.cache.namespaces import namespace_seed
from tests.engine.cache.kit import admitted, both, hit, ran


@both
def test_f3_events_mirror_the_store(partial: bool) -> None:
    cache = PrefixCache(16, 4, partial_pages=partial)
    ran(cache, range(9))
    (first,) = cache.events()
    assert isinstance(first, PagesStored)
    assert (len(first.keys), first.parent, first.tokens) == (2, None, tuple(range(8)))
    ran(cache, [*range(4), *range(50, 58)])
    (second,) = cache.events()
    assert isinstance(second, PagesStored)
    assert (len(second.keys), second.parent) == (2, first.keys[0])
    assert cache.reset()
    assert cache.events() == [CacheCleared()]
    assert cache.events() == []


def test_a_key_is_sha256_over_the_key_before_and_the_packed_tokens() -> None:
    cache = PrefixCache(8, 4)
    ran(cache, [1, 2, 3, 4, 5, 6, 7, 8])
    (event,) = cache.events()
    one = hashlib.sha256(namespace_seed("") + struct.pack("<4i", 1, 2, 3, 4)).digest()
    two = hashlib.sha256(one + struct.pack("<4i", 5, 6, 7, 8)).digest()
    assert event.keys == (one, two)


def test_the_wire_form_is_vllms() -> None:
    cache = PrefixCache(2, 4)
    ran(cache, range(4))
    ran(cache, range(10, 18))
    events = cache.events()
    key = events[0].keys[0]
    assert events[0].wire() == ["BlockStored", [key], None, [0, 1, 2, 3], 4, None]
    assert events[1].wire() == ["BlockRemoved", [key]]
    assert CacheCleared().wire() == ["AllBlocksCleared"]


def test_removed_comes_with_the_last_copy_only() -> None:
    cache = PrefixCache(16, 4, share_on_admission=False)
    a, b = admitted(cache, range(9)), admitted(cache, range(9))
    cache.publish(a, 9)
    cache.publish(b, 9)
    cache.finish(a)
    cache.finish(b)
    assert [event.kind for event in cache.events()] == ["stored"]
    cache.evict()
    assert [event.kind for event in cache.events()] == ["removed"]


def test_nothing_is_told_twice_on_a_hit() -> None:
    cache = PrefixCache(16, 4)
    ran(cache, range(9))
    cache.events()
    ran(cache, range(9))
    assert cache.events() == []


def test_a_page_split_off_keeps_its_key() -> None:
    cache = PrefixCache(16, 4)
    ran(cache, range(12))
    (stored,) = cache.events()
    hit(cache, [*range(6), 9, 9, 9])
    cache.evict(1)
    (removed,) = [event for event in cache.events() if event.keys[0] in stored.keys]
    assert isinstance(removed, PagesRemoved)
    assert removed.keys == (stored.keys[2],)


def test_a_reader_who_comes_late_is_told_everything_anew() -> None:
    cache = PrefixCache(64, 4, event_limit=6)
    for first in range(4):
        ran(cache, [first, *range(11)])
    ran(cache, [0, *range(7), 99, 98, 97, 96])
    events = cache.events()
    assert events[0] == CacheCleared()
    told = {key for event in events[1:] for key in event.keys}
    assert len(told) == 13
    seen: set[bytes] = set()
    for event in events[1:]:
        assert isinstance(event, PagesStored)
        assert event.parent is None or event.parent in seen
        seen.update(event.keys)
    cache.evict(1)
    (event,) = cache.events()
    assert event.kind == "removed"
    assert set(event.keys) <= told


def test_events_can_be_off() -> None:
    cache = PrefixCache(64, 4, event_limit=0)
    ran(cache, range(12))
    assert cache.events() == []
    cache.reset()
    assert cache.events() == []
