"""What each step computes, and who holds pages for it.

    waiting ──admit──▶ running: prompt in chunks ──▶ one token a step ──▶ released
       ▲                                     │
       └──── preempted: lowest priority, then youngest first ────┘

Sequences that decode come first in every step, so that they never stall behind a long prompt; the rest of the
token budget goes to prompts, running or waiting, in the order of ``waiting``. What the cache keeps and evicts
is the cache's decision.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from promptcache_engine.cache import PrefixCache
from promptcache_engine.cache.tokens import Tokens
from promptcache_engine.info import EngineStats
from promptcache_engine.scheduler.forks import fork_copies
from promptcache_engine.scheduler.holds import Holds
from promptcache_engine.scheduler.plan import Chunk, StepPlan
from promptcache_engine.scheduler.sequence import Sequence
from promptcache_engine.scheduler.waiting import SchedulingPolicy, WaitingQueue

MIN_STEP_WORK = 64
"""Tokens that a step counts for at least where sequences age: one of few tokens takes its time too."""


@dataclass(slots=True)
class _Step:
    """A plan being made."""

    chunks: list[Chunk]
    admitted: list[Sequence]
    rejected: list[Sequence]
    budget: int


class Scheduler:
    """The order of work over one pool of pages. For one thread.

    Args:
        cache: owns the pages; it must not share on admission, since prompts are computed in chunks.
        max_batch_tokens: tokens a step computes at most; at least ``max_running``.
        max_running: sequences that hold pages at a time.
        policy: the order in which prompts are computed.
        keep_preempted: whether a preempted sequence's pages stay in the cache until others need them; else
            they are free at once and the sequence is computed anew.
    """

    def __init__(
        self,
        cache: PrefixCache,
        *,
        max_batch_tokens: int,
        max_running: int,
        policy: SchedulingPolicy = "fewest-missing",
        keep_preempted: bool = True,
    ) -> None:
        self._cache = cache
        self._max_batch_tokens = max_batch_tokens
        self._max_running = max_running
        self._keep_preempted = keep_preempted
        self._running: list[Sequence] = []  # by priority, then in order of arrival
        self._waiting = WaitingQueue(cache, policy)
        self._holds = Holds(cache)
        self._arrivals = 0
        self._steps = 0
        self._work = 0
        self._preemptions = 0
        self._held_back = 0

    def add(self, sequence: Sequence) -> None:
        """Queue a new sequence."""
        sequence.arrival = self._arrivals
        sequence.arrival_work = self._work
        self._arrivals += 1
        self._waiting.add(sequence)

    def drop_cancelled(self) -> list[Sequence]:
        """Return the sequences whose cancellation was asked for; the caller ends and releases them."""
        return [sequence for sequence in self._all() if sequence.cancelled]

    def drop_expired(self, now: float) -> list[Sequence]:
        """Return the sequences whose deadline has passed; the caller ends and releases them."""
        return [each for each in self._all() if each.deadline is not None and each.deadline <= now]

    def plan(self) -> StepPlan:
        """Decide the next step; takes pages for it, preempting or admitting sequences."""
        self._steps += 1
        self._held_back = 0
        step = _Step([], [], [], self._max_batch_tokens)
        self._waiting.ask_cache(self._steps)
        self._make_way()
        preemptions = self._preemptions
        self._plan_decodes(step)
        # After a preemption newcomers would take the pages just given up.
        self._plan_prompts(step, may_admit=preemptions == self._preemptions)
        self._work += max(self._max_batch_tokens - step.budget, MIN_STEP_WORK)
        return StepPlan(tuple(step.chunks), tuple(step.admitted), tuple(step.rejected))

    def copied(self, admitted: Iterable[Sequence]) -> None:
        """Note that the copies the admitted sequences' leases asked for are made."""
        for sequence in admitted:
            if sequence.lease is not None:
                self._cache.copied(sequence.lease)
                sequence.copies.clear()

    def advance(self, chunk: Chunk) -> None:
        """Note that a chunk is computed; what belongs to the prompt can be reused by others at once."""
        sequence = chunk.sequence
        sequence.computed = chunk.end
        stored = sequence.computed - sequence.computed % self._cache.page_size
        if sequence.use_cache and chunk.start < sequence.prompt_tokens and stored > sequence.stored:
            assert sequence.lease is not None
            self._cache.publish(sequence.lease, sequence.computed)
            sequence.stored = stored
        if self._cache.windows and sequence.lease is not None:
            self._cache.windows.slide(sequence.lease, sequence.computed)

    def extend(self, sequence: Sequence, token: int) -> None:
        """Append the token that was sampled."""
        sequence.tokens.append(token)

    def release(self, sequence: Sequence, *, keep: bool) -> None:
        """Take a sequence out for good; ``keep`` leaves what it computed in the cache."""
        if not (keep and sequence.use_cache) or sequence.awaits_prompt:
            self._pass_on(sequence)
        sequence.ended = True
        sequence.parent = sequence.leader = None
        if sequence.lease is None:
            self._waiting.remove(sequence)
            return
        self._running.remove(sequence)
        self._give_back(sequence, keep=keep)

    def reset_cache(self) -> bool:
        """Forget all cached prefixes; False, and nothing changes, while a sequence runs."""
        return self._cache.reset()

    def cached_prefix(self, tokens: Tokens, namespace: str) -> int:
        """How many of ``tokens`` could be reused now; looking is no use of them."""
        return self._cache.match(tokens, namespace, touch=False)

    def _pass_on(self, parent: Sequence) -> None:
        """Let the first fork that still waits compute the prompt for the others."""
        first: Sequence | None = None
        for sequence in self._waiting:
            if sequence.parent is parent:
                sequence.parent = first
                if first is None:
                    first = sequence
                    first.cached_tokens = parent.cached_tokens

    def _all(self) -> tuple[Sequence, ...]:
        return (*self._running, *self._waiting)

    def _make_way(self) -> None:
        """Take the pages of the least urgent sequence for a more urgent one that finds no room."""
        least = self._running[-1] if self._running else None
        if least is None or not len(self._waiting):
            return
        full = len(self._running) >= self._max_running
        for sequence in self._waiting:
            urgent = sequence.priority < least.priority and (full or sequence.refused)
            if urgent and not self._holds.held(sequence, self._running):
                self._preempt(least)
                return

    def _plan_decodes(self, step: _Step) -> None:
        for sequence in tuple(self._running):
            if sequence.lease is None or not sequence.decoding:
                continue
            if self._make_room(sequence, step.rejected):
                self._plan_chunk(step, sequence, 1)

    def _make_room(self, sequence: Sequence, rejected: list[Sequence]) -> bool:
        """Get the slot of the sequence's newest token, at the cost of those who come after it if need be."""
        assert sequence.lease is not None
        lease = sequence.lease
        while not self._cache.append(lease, sequence.tokens[lease.length :]):
            if len(self._running) == 1:
                self.release(sequence, keep=False)
                rejected.append(sequence)
                return False
            last = self._running[-1]
            self._preempt(last)
            if last is sequence:
                return False
        return True

    def _preempt(self, sequence: Sequence) -> None:
        """Take a sequence's pages; it comes back first and recomputes what is not cached by then."""
        self._running.remove(sequence)
        self._give_back(sequence, keep=self._keep_preempted)
        sequence.preemptions += 1
        self._preemptions += 1
        self._waiting.add(sequence)

    def _plan_prompts(self, step: _Step, *, may_admit: bool) -> None:
        """Spend the budget on prompts in order; who finds no pages is not overtaken by others that wait."""
        if step.budget == 0:
            return
        under_way = [each for each in self._running if not each.decoding]
        may_admit = may_admit and len(self._waiting) > 0 and len(self._running) < self._max_running
        order = self._waiting.in_order(under_way) if may_admit or under_way[1:] else under_way
        for sequence in order:
            if step.budget == 0:
                return
            if sequence.lease is None:
                if not may_admit or self._is_held(sequence):
                    continue
                if not self._admit(sequence, step):
                    may_admit = not self._running
                    continue
                may_admit = len(self._running) < self._max_running
            self._plan_chunk(step, sequence, min(step.budget, sequence.remaining))

    def _plan_chunk(self, step: _Step, sequence: Sequence, length: int) -> None:
        assert sequence.lease is not None
        chunk = Chunk(sequence, sequence.computed, length)
        self._cache.windows.reserve(sequence.lease, chunk.end)
        step.chunks.append(chunk)
        step.budget -= length

    def _is_held(self, sequence: Sequence) -> bool:
        held = self._holds.held(sequence, self._running)
        self._held_back += held
        return held

    def _admit(self, sequence: Sequence, step: _Step) -> bool:
        if self._take_pages(sequence):
            step.admitted.append(sequence)
            return True
        if not self._running:  # it would not fit even alone
            self.release(sequence, keep=False)
            step.rejected.append(sequence)
        sequence.refused = True
        return False

    def _take_pages(self, sequence: Sequence) -> bool:
        if sequence.parent is not None:
            sequence.cached_tokens = sequence.parent.cached_tokens
        lease = self._cache.admit(
            sequence.tokens,
            sequence.namespace,
            # What a preempted sequence finds may be its own work, what a fork finds is its parent's: no hit.
            preempted=sequence.preemptions > 0,
            counted=sequence.cached_tokens is None or sequence.preemptions > 0,
            use_cache=sequence.use_cache,
            hints=sequence.hints,
            running=self._holds.donor(sequence, self._running),
        )
        if lease is None:
            return False
        self._waiting.remove(sequence)
        # A window may have left what a fork would copy: it finds its prompt in the cache, or computes it.
        copies = [] if self._cache.windows else fork_copies(sequence, lease, self._cache.page_size)
        sequence.lease = lease
        sequence.copies = copies or list(lease.copies)
        sequence.computed = sequence.prompt_tokens - 1 if copies else lease.hit
        sequence.stored = lease.hit - lease.hit % self._cache.page_size
        if sequence.cached_tokens is None:
            sequence.cached_tokens = lease.hit
        sequence.shared_with.clear()
        sequence.leader = sequence.parent = None
        sequence.refused = False
        self._running.append(sequence)
        self._running.sort(key=lambda running: (running.priority, running.arrival))
        return True

    def _give_back(self, sequence: Sequence, *, keep: bool) -> None:
        lease, sequence.lease = sequence.lease, None
        assert lease is not None
        if keep and sequence.use_cache:
            self._cache.finish(lease, computed=sequence.computed)
        else:
            self._cache.abort(lease)
        sequence.copies.clear()
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
