"""What each step computes, and who holds pages for it.

    waiting ──admit──▶ running: prompt in chunks ──▶ one token a step ──▶ released
       ▲                                     │
       └───────── preempted, youngest first ─┘

Sequences that decode come first in every step, so that they never stall behind a long prompt; the rest of the
token budget goes to prompts in the order of arrival. What the cache keeps and evicts is the cache's decision.
"""

from collections import deque
from collections.abc import Iterable

from promptcache_engine.cache import PrefixCache
from promptcache_engine.info import EngineStats
from promptcache_engine.scheduler.holds import Holds
from promptcache_engine.scheduler.plan import Chunk, StepPlan
from promptcache_engine.scheduler.sequence import Sequence


class Scheduler:
    """The order of work over one pool of pages. For one thread.

    Args:
        cache: owns the pages; it must not share on admission, since prompts are computed in chunks.
        max_batch_tokens: tokens a step computes at most; at least ``max_running``.
        max_running: sequences that hold pages at a time.
    """

    def __init__(self, cache: PrefixCache, *, max_batch_tokens: int, max_running: int) -> None:
        self._cache = cache
        self._max_batch_tokens = max_batch_tokens
        self._max_running = max_running
        self._running: list[Sequence] = []  # in order of arrival
        self._waiting: deque[Sequence] = deque()  # preempted ones first, then in order of arrival
        self._holds = Holds(cache)
        self._arrivals = 0
        self._preemptions = 0
        self._held_back = 0

    def add(self, sequence: Sequence) -> None:
        """Queue a new sequence."""
        sequence.arrival = self._arrivals
        self._arrivals += 1
        self._waiting.append(sequence)

    def drop_cancelled(self) -> list[Sequence]:
        """Return the sequences whose cancellation was asked for; the caller ends and releases them."""
        return [sequence for sequence in (*self._running, *self._waiting) if sequence.cancelled]

    def plan(self) -> StepPlan:
        """Decide the next step; takes pages for it, preempting or admitting sequences."""
        self._held_back = 0
        preemptions = self._preemptions
        chunks, rejected = self._plan_decodes()
        budget = self._max_batch_tokens - len(chunks)
        budget = self._plan_prompts(chunks, budget)
        admitted: list[Sequence] = []
        if preemptions == self._preemptions:  # else the newcomers would take the pages just given up
            admitted = self._admit(chunks, budget, rejected)
        return StepPlan(tuple(chunks), tuple(admitted), tuple(rejected))

    def copied(self, admitted: Iterable[Sequence]) -> None:
        """Note that the copies the admitted sequences' leases asked for are made."""
        for sequence in admitted:
            if sequence.lease is not None:
                self._cache.copied(sequence.lease)

    def advance(self, chunk: Chunk) -> None:
        """Note that a chunk is computed; what belongs to the prompt can be reused by others at once."""
        sequence = chunk.sequence
        sequence.computed = chunk.end
        stored = sequence.computed - sequence.computed % self._cache.page_size
        if sequence.use_cache and chunk.start < sequence.prompt_tokens and stored > sequence.stored:
            assert sequence.lease is not None
            self._cache.publish(sequence.lease, sequence.computed)
            sequence.stored = stored

    def extend(self, sequence: Sequence, token: int) -> None:
        """Append the token that was sampled."""
        sequence.tokens.append(token)

    def release(self, sequence: Sequence, *, keep: bool) -> None:
        """Take a sequence out, wherever it is; ``keep`` leaves what it computed in the cache."""
        if sequence.lease is None:
            if sequence in self._waiting:
                self._waiting.remove(sequence)
            return
        self._running.remove(sequence)
        self._give_back(sequence, keep=keep)

    def reset_cache(self) -> bool:
        """Forget all cached prefixes; False, and nothing changes, while a sequence runs."""
        return self._cache.reset()

    def _plan_decodes(self) -> tuple[list[Chunk], list[Sequence]]:
        chunks: list[Chunk] = []
        rejected: list[Sequence] = []
        for sequence in tuple(self._running):
            if sequence.lease is None or not sequence.decoding:
                continue
            if self._make_room(sequence, rejected):
                chunks.append(Chunk(sequence, sequence.computed, 1))
        return chunks, rejected

    def _make_room(self, sequence: Sequence, rejected: list[Sequence]) -> bool:
        """Get the slot of the sequence's newest token, at the cost of younger sequences if need be."""
        assert sequence.lease is not None
        lease = sequence.lease
        while not self._cache.append(lease, sequence.tokens[lease.length :]):
            if len(self._running) == 1:
                self.release(sequence, keep=False)
                rejected.append(sequence)
                return False
            youngest = self._running[-1]
            self._preempt(youngest)
            if youngest is sequence:
                return False
        return True

    def _preempt(self, sequence: Sequence) -> None:
        """Take a sequence's pages; it comes back first and recomputes what was evicted by then."""
        self._running.remove(sequence)
        self._give_back(sequence, keep=True)
        sequence.preemptions += 1
        self._preemptions += 1
        self._waiting.appendleft(sequence)

    def _plan_prompts(self, chunks: list[Chunk], budget: int) -> int:
        for sequence in self._running:
            if budget == 0:
                break
            if not sequence.decoding:
                chunks.append(Chunk(sequence, sequence.computed, min(budget, sequence.remaining)))
                budget -= chunks[-1].length
        return budget

    def _admit(self, chunks: list[Chunk], budget: int, rejected: list[Sequence]) -> list[Sequence]:
        """Admit waiting sequences in order; those held back for a leader are passed over, no others."""
        admitted: list[Sequence] = []
        for sequence in tuple(self._waiting):
            if budget == 0 or len(self._running) >= self._max_running:
                break
            if self._holds.held(sequence, self._running):
                self._held_back += 1
                continue
            if not self._take_pages(sequence):
                if self._running:
                    break
                self._waiting.remove(sequence)
                rejected.append(sequence)
                continue
            admitted.append(sequence)
            chunks.append(Chunk(sequence, sequence.computed, min(budget, sequence.remaining)))
            budget -= chunks[-1].length
        return admitted

    def _take_pages(self, sequence: Sequence) -> bool:
        lease = self._cache.admit(
            sequence.tokens,
            sequence.namespace,
            preempted=sequence.preemptions > 0,
            use_cache=sequence.use_cache,
        )
        if lease is None:
            return False
        self._waiting.remove(sequence)
        sequence.lease = lease
        sequence.computed = lease.hit
        sequence.stored = lease.hit - lease.hit % self._cache.page_size
        if sequence.cached_tokens is None:
            sequence.cached_tokens = lease.hit
        sequence.shared_with.clear()
        sequence.leader = None
        self._running.append(sequence)
        self._running.sort(key=lambda running: running.arrival)
        return True

    def _give_back(self, sequence: Sequence, *, keep: bool) -> None:
        lease, sequence.lease = sequence.lease, None
        assert lease is not None
        if keep and sequence.use_cache:
            self._cache.finish(lease, computed=sequence.computed)
        else:
            self._cache.abort(lease)
        sequence.computed = sequence.stored = 0

    def stats(self, **counters: int) -> EngineStats:
        """The pool and the queues now, with the caller's own counters."""
        cache = self._cache.stats
        return EngineStats(
            page_size=self._cache.page_size,
            pages_total=self._cache.num_pages,
            pages_free=cache.free,
            pages_cached=cache.cached,
            pages_held=cache.held,
            running=len(self._running),
            waiting=len(self._waiting),
            held_back=self._held_back,
            prefix_queries=cache.queries,
            prefix_hits=cache.hits,
            preempted_queries=cache.preempted_queries,
            preempted_hits=cache.preempted_hits,
            evicted_pages=cache.evicted_pages,
            preemptions=self._preemptions,
            **counters,
        )
