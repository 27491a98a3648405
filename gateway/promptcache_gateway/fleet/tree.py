"""What one cache probably holds: a radix tree of prefixes, folded into a table of chained keys.

A chained key stands for a whole path from the root, so that the set of keys is the tree: a key is a node, and
the path to it are the keys before it. Every use renews a path from its end to its root; the least recently
used key is then always a leaf, and forgetting it leaves no orphan. It is a guess: what the cache itself
evicted is not known here, unless somebody says so (`forget`, `resize`, `clear`).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from promptcache_gateway.fleet.prefix import Key

MAX_KEYS = 16_384
"""Keys a tree holds at most: two million tokens of English, about two megabytes."""

_FOREVER = float("-inf")
_MAX_NEWS = 4096


class PrefixTree:
    """Prefixes with the times of their last use, the least recently used forgotten first.

    Args:
        max_keys: keys it may hold.
    """

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self._limit = self._max_keys = max(1, max_keys)
        self._used: OrderedDict[Key, float] = OrderedDict()
        self._news: OrderedDict[Key, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._used)

    def match(self, keys: Sequence[Key], not_before: float = _FOREVER) -> int:
        """How many leading keys are held and were used since ``not_before``."""
        low, high = 0, len(keys)
        used = self._used
        while low < high:  # every path is whole, and nothing on it is older than its end
            middle = (low + high) // 2
            if used.get(keys[middle], _FOREVER) >= not_before and keys[middle] in used:
                low = middle + 1
            else:
                high = middle
        return low

    def insert(self, keys: Sequence[Key], now: float) -> None:
        """Note that the cache will hold this prefix."""
        used = self._used
        for key in reversed(keys[: self._limit]):
            used[key] = now
            used.move_to_end(key)
        self._trim()
        self._tell(keys, now)

    def forget(self, keys: Iterable[Key]) -> None:
        """Note that the cache does not hold these, and so nothing that goes through them.

        ``keys`` must end where the tree's paths end: the rest of a path from some key on.
        """
        for key in keys:
            self._used.pop(key, None)
            self._news.pop(key, None)

    def clear(self) -> None:
        """Note that the cache is empty."""
        self._used.clear()
        self._news.clear()

    def resize(self, max_keys: int) -> None:
        """Hold no more than the cache is known to; never more than was allowed at first."""
        self._limit = max(1, min(max_keys, self._max_keys))
        self._trim()

    def news(self) -> list[tuple[Key, float]]:
        """What was used since it was last asked, in order: what another process needs to know as much.

        Bounded: of many uses the latest are told.
        """
        told = list(self._news.items())
        self._news.clear()
        return told

    def learn(self, told: Iterable[tuple[Key, float]]) -> None:
        """Take what another process told of the same cache."""
        used = self._used
        for key, at in told:
            if used.get(key, _FOREVER) <= at:
                used[key] = at
                used.move_to_end(key)
        self._trim()

    def _trim(self) -> None:
        while len(self._used) > self._limit:
            self._used.popitem(last=False)

    def _tell(self, keys: Sequence[Key], now: float) -> None:
        for key in reversed(keys):
            self._news[key] = now
            self._news.move_to_end(key)
        while len(self._news) > _MAX_NEWS:
            self._news.popitem(last=False)
