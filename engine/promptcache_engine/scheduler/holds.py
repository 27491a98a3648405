"""Whom to hold back: a request whose missing prefix another sequence is computing right now.

Of eight equal cold prompts that arrive together one is computed; seven start when it has come to the end of
what they share: whole pages are stored by then, and the part of the page behind them is copied from the
leader's own (``donor``). Where windows rule that out they wait for whole pages. Forks wait for their parent's
prompt in the same way. A hold never outlives its leader's prompt.
"""

from collections.abc import Iterable

from promptcache_engine.cache import Lease, PrefixCache
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

    def donor(self, sequence: Sequence, running: Iterable[Sequence]) -> tuple[Lease, int] | None:
        """The running sequence that has computed most of what ``sequence`` shares with it, and how far it is.

        None where nothing can be copied from any; one whose own copies are not made yet has nothing to give.
        """
        if self._cache.windows or not sequence.use_cache:
            return None
        best: tuple[Lease, int] | None = None
        most = 0
        for other in running:
            if other.lease is None or other.copies or not _may_share(sequence, other):
                continue
            computed = min(other.computed, other.prompt_tokens)
            if computed > most and min(self._shared(sequence, other), computed) > most:
                most = min(self._shared(sequence, other), computed)
                best = other.lease, computed
        return best

    def _unstored(self, sequence: Sequence, leader: Sequence) -> int:
        """Tokens at the front of both, if ``leader`` will have computed them soon for others, too; else 0."""
        ended = leader.lease is None or leader.decoding
        if ended or not _may_share(sequence, leader):
            return 0
        shared, ready = self._shared(sequence, leader), leader.computed
        if self._cache.windows:
            shared, ready = shared - shared % self._cache.page_size, leader.stored
        return shared if shared > ready else 0

    def _shared(self, sequence: Sequence, other: Sequence) -> int:
        """Tokens at the front of both, of which ``sequence`` has at least one more."""
        shared = sequence.shared_with.get(other.id)
        if shared is None:
            shared = min(_common_prefix(sequence.tokens, other.tokens), len(sequence.tokens) - 1)
            sequence.shared_with[other.id] = shared
        return shared


def _may_share(sequence: Sequence, other: Sequence) -> bool:
    return other.use_cache and other.namespace == sequence.namespace


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
