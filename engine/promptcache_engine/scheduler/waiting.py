"""Who comes next: the sequences whose prompts are not computed, in the order in which they should be.

    priority  ▶  preempted ones and forks of a computed prompt  ▶  fewest missing tokens, with ageing

Few missing tokens first keeps the mean time to the first token low; ageing keeps it bounded for everyone: a
sequence that misses M tokens can only be overtaken by what arrives before the engine has computed M / AGEING
tokens more. Whether there is room is the scheduler's question.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from promptcache_engine.cache import PrefixCache
from promptcache_engine.scheduler.sequence import Sequence

SchedulingPolicy: TypeAlias = Literal["fewest-missing", "fcfs"]

AGEING = 0.25
"""Missing tokens that one token of work done meanwhile makes up for."""

# The cache is asked once for each newcomer and now and then anew; at most this often in one step.
_ASKED_FIRST = 64
_ASKED_AGAIN = 8
_STALE_STEPS = 16

_Rank: TypeAlias = tuple[int, bool, float, int]


class WaitingQueue:
    """Sequences without pages, new ones and preempted ones.

    Args:
        cache: answers how much of a prompt it has.
        policy: ``fewest-missing``, or ``fcfs``: the order of arrival.
    """

    def __init__(self, cache: PrefixCache, policy: SchedulingPolicy) -> None:
        self._cache = cache
        self._policy = policy
        self._sequences: dict[str, Sequence] = {}

    def __len__(self) -> int:
        return len(self._sequences)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(tuple(self._sequences.values()))

    def add(self, sequence: Sequence) -> None:
        """Take a sequence in."""
        self._sequences[sequence.id] = sequence

    def remove(self, sequence: Sequence) -> None:
        """Take a sequence out, if it is there."""
        self._sequences.pop(sequence.id, None)

    def in_order(self, prompts: Iterable[Sequence]) -> list[Sequence]:
        """The running sequences ``prompts``, whose prompts are under way, and those that wait: best first."""
        return sorted((*prompts, *self._sequences.values()), key=self._rank)

    def _rank(self, sequence: Sequence) -> _Rank:
        if sequence.lease is None and _returns(sequence):
            return sequence.priority, False, 0, sequence.arrival
        if self._policy == "fcfs":
            return sequence.priority, True, sequence.arrival, sequence.arrival
        missing = sequence.remaining
        if sequence.lease is None and sequence.missing is not None:
            missing = sequence.missing
        return sequence.priority, True, missing + AGEING * sequence.arrival_work, sequence.arrival

    def ask_cache(self, step: int) -> None:
        """Find out what newcomers miss, and now and then anew; what they will reuse is evicted after what
        nobody waits for."""
        first, again = _ASKED_FIRST, _ASKED_AGAIN
        for sequence in self._sequences.values():
            if not sequence.use_cache or _returns(sequence):
                continue
            if sequence.missing is None and first:
                first -= 1
            elif sequence.missing is not None and again and step - sequence.missing_as_of >= _STALE_STEPS:
                again -= 1
            else:
                continue
            found = self._cache.match(sequence.tokens, sequence.namespace)
            sequence.missing = len(sequence.tokens) - found
            sequence.missing_as_of = step


def _returns(sequence: Sequence) -> bool:
    """Whether its prompt was computed already, by itself or by its parent."""
    parent = sequence.parent
    return sequence.preemptions > 0 or (parent is not None and not parent.awaits_prompt)
