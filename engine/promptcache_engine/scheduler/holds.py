"""Whom to hold back: a request whose missing prefix another sequence is computing right now.

Of eight equal cold prompts that arrive together one is computed; seven start when its pages are stored. Forks
wait for their parent's prompt in the same way. A hold never outlives its leader's prompt.
"""

from collections.abc import Iterable

from promptcache_engine.cache import PrefixCache
from promptcache_engine.scheduler.sequence import Sequence

# Below this many tokens computing them twice costs less than waiting.
MIN_SHARED_TOKENS = 32


class Holds:
    """Remembers which waiting sequence shares how much with which leader.

    Args:
        cache: answers what is stored already.
    """

    def __init__(self, cache: PrefixCache) -> None:
        self._cache = cache

    def held(self, sequence: Sequence, running: Iterable[Sequence]) -> bool:
        """Whether waiting for a running sequence saves ``sequence`` work.

        It does while a leader of its namespace computes shared tokens that are not stored yet, and the cache
        does not have them from elsewhere; and while the prompt of a fork's parent is not computed.
        """
        if sequence.parent is not None and sequence.parent.awaits_prompt:
            return True
        if not sequence.use_cache:
            return False
        if sequence.leader is not None and self._unstored(sequence, sequence.leader):
            return True
        sequence.leader = None
        leader = max(running, key=lambda other: self._unstored(sequence, other), default=None)
        missing = 0 if leader is None else self._unstored(sequence, leader)
        if missing < MIN_SHARED_TOKENS:
            return False
        found = self._cache.match(sequence.tokens, sequence.namespace, touch=False)
        if missing - found < MIN_SHARED_TOKENS:
            return False
        sequence.leader = leader
        return True

    def _unstored(self, sequence: Sequence, leader: Sequence) -> int:
        """Tokens of whole pages at the front of both, if ``leader`` will have stored them soon; else 0."""
        ended = leader.lease is None or leader.decoding
        if ended or not leader.use_cache or leader.namespace != sequence.namespace:
            return 0
        shared = sequence.shared_with.get(leader.id)
        if shared is None:
            shared = min(_common_prefix(sequence.tokens, leader.tokens), len(sequence.tokens) - 1)
            shared -= shared % self._cache.page_size
            sequence.shared_with[leader.id] = shared
        return shared if shared > leader.stored else 0


def _common_prefix(first: list[int], second: list[int]) -> int:
    """Length of the longest common prefix, by halving what is still in question."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
