"""Random lives of a cache against a naive model: what a page really holds, and what could have been reused.

The oracle keeps every sequence that ended as a plain list. Where no page was ever evicted, a hit must be
exactly the longest common prefix; where pages are short, never more. The fake runner's slots prove at every
step that no page was handed to somebody else while a sequence still read it.

Some thousands of operations run with the tests. The long run of a million:
``PROMPTCACHE_OPERATIONS=1000000 python -m pytest tests/engine/cache/test_oracle.py``.
"""

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from promptcache_engine.cache import POLICIES, Hints, Lease, PrefixCache
from tests.engine.cache.kit import FakeRunner, stored_keys

TOKENS = st.lists(st.integers(0, 1), min_size=1, max_size=14)
IMAGES = st.sampled_from([(), (), ("red",), ("blue",)])
SPACES = st.sampled_from(["", "", "tenant"])
HINTS = st.builds(
    Hints,
    turn=st.sampled_from([None, 1, 3]),
    after_tool_call=st.booleans(),
    priority=st.integers(0, 2),
    keep_seconds=st.sampled_from([0.0, 0.0, 5.0]),
)
PLENTY = 2_000
STEPS = 40
OPERATIONS = int(os.environ.get("PROMPTCACHE_OPERATIONS", "4800"))


def common(left: list[Any], right: list[Any]) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))


class CacheLife(RuleBasedStateMachine):
    """Admit, compute, append, publish, end, evict and reset in any order."""

    @initialize(
        num_pages=st.sampled_from([2, 5, 9, 16, PLENTY]),
        page_size=st.integers(1, 5),
        partial=st.booleans(),
        on_admission=st.booleans(),
        remember=st.sampled_from([None, 0, 9]),
        policy=st.sampled_from(sorted(POLICIES)),
    )
    def start(
        self,
        num_pages: int,
        page_size: int,
        partial: bool,
        on_admission: bool,
        remember: int | None,
        policy: str,
    ) -> None:
        self.now = 0.0
        self.cache = PrefixCache(
            num_pages,
            page_size,
            policy=policy,
            clock=lambda: self.now,
            partial_pages=partial,
            share_on_admission=on_admission,
            remember_tokens=remember,
        )
        self.partial, self.on_admission = partial, on_admission
        self.runner = FakeRunner(self.cache)
        self.running: list[Lease] = []
        self.stored: list[tuple[str, list[Any]]] = []  # what must be found while there are pages
        self.possible: list[tuple[str, list[Any]]] = []  # what may be found beyond that
        self.mirror: set[bytes] = set()
        self.evicted = False

    @rule(tokens=TOKENS, image=IMAGES, space=SPACES, hints=HINTS)
    def admit(self, tokens: list[int], image: tuple[str, ...], space: str, hints: Hints) -> None:
        self.now += 1.0
        extra = [(0, 1, key) for key in image]
        marks: list[Any] = [(tokens[0], *image), *tokens[1:]]
        least, most = self._found(self._must(), space, marks), self._found(self._may(), space, marks)
        before = self.cache.stats
        lease = self.cache.admit(tokens, space, extra, hints=hints)
        if lease is None:
            after = self.cache.stats
            assert (after.free, after.cached, after.queries) == (before.free, before.cached, before.queries)
            assert self.cache.num_pages < PLENTY
            return
        assert lease.hit <= most
        if self.cache.num_pages == PLENTY and not self.evicted:
            assert lease.hit >= least
            assert lease.reason.evicted == 0
        assert lease.hit + lease.reason.evicted + lease.reason.isolated + lease.reason.granularity < len(
            tokens
        )
        self.running.append(lease)
        self.runner.start(lease, space, marks)
        if self.on_admission:
            self.runner.compute(lease, len(tokens))

    @precondition(lambda self: self.running)
    @rule(pick=st.integers(0), tokens=st.lists(st.integers(0, 1), min_size=1, max_size=4))
    def append(self, pick: int, tokens: list[int]) -> None:
        lease = self._pick(pick)
        length = lease.length
        if self.on_admission:
            self.runner.compute(lease, length)
        if self.cache.append(lease, tokens):
            self.runner.history[lease][1].extend(tokens)
            assert lease.length == length + len(tokens)
        else:
            assert lease.length == length

    @precondition(lambda self: self.running and not self.on_admission)
    @rule(pick=st.integers(0), share=st.floats(0, 1))
    def compute(self, pick: int, share: float) -> None:
        lease = self._pick(pick)
        computed = max(round(share * lease.length), self.runner.computed[lease])
        self.runner.compute(lease, computed)
        self.cache.publish(lease, computed)

    @precondition(lambda self: self.running)
    @rule(pick=st.integers(0))
    def fork(self, pick: int) -> None:
        lease = self._pick(pick)
        self.runner.copy(lease)
        computed = self.runner.computed[lease]
        if not computed or computed // self.cache.page_size < lease.published:
            return
        before = self.cache.stats
        fork = self.cache.fork(lease, computed)
        after = self.cache.stats
        assert (before.queries, before.hits) == (after.queries, after.hits)
        if fork is None:
            assert before.free == after.free == before.cached == 0
            return
        assert (fork.hit, fork.length) == (computed, computed)
        space, marks = self.runner.history[lease]
        self.running.append(fork)
        self.runner.start(fork, space, marks[:computed])
        self.runner.copy(fork)

    @precondition(lambda self: self.running)
    @rule(pick=st.integers(0), share=st.floats(0, 1))
    def finish(self, pick: int, share: float) -> None:
        lease = self._pick(pick, take=True)
        space, marks = self.runner.history[lease]
        self.possible.append((space, marks[: lease.published * self.cache.page_size]))
        self.runner.copy(lease)
        computed = self.runner.computed[lease]
        if share < 0.5:  # some tokens were never fed
            computed = round(2 * share * computed)
        self.cache.finish(lease, computed=computed)
        self.stored.append((space, marks[:computed]))
        self.runner.end(lease)

    @precondition(lambda self: self.running)
    @rule(pick=st.integers(0))
    def abort(self, pick: int) -> None:
        lease = self._pick(pick, take=True)
        space, marks = self.runner.history[lease]
        self.possible.append((space, marks[: lease.published * self.cache.page_size]))
        self.cache.abort(lease)
        self.runner.end(lease)

    @rule(pages=st.one_of(st.none(), st.integers(0, 4)))
    def evict(self, pages: int | None) -> None:
        before = self.cache.stats
        gone = self.cache.evict(pages)
        assert gone == (before.cached if pages is None else min(pages, before.cached))
        assert self.cache.stats.free == before.free + gone
        self.evicted |= gone > 0

    @rule(tokens=TOKENS, space=SPACES, touch=st.booleans())
    def look(self, tokens: list[int], space: str, touch: bool) -> None:
        marks: list[Any] = [(tokens[0],), *tokens[1:]]
        found = self.cache.match(tokens, space, touch=touch)
        assert found <= self._found(self._may(), space, marks, room=0)
        if self.cache.num_pages == PLENTY and not self.evicted:
            assert found >= self._found(self._must(), space, marks, room=0)

    @rule()
    def reset(self) -> None:
        assert self.cache.reset() is not bool(self.running)
        if not self.running:
            self.stored, self.possible, self.evicted = [], [], False

    @rule()
    def mirror_events(self) -> None:
        for event in self.cache.events():
            if event.kind == "cleared":
                self.mirror.clear()
            elif event.kind == "stored":
                assert self.mirror.isdisjoint(event.keys)
                assert event.parent is None or event.parent in self.mirror
                self.mirror.update(event.keys)
            else:
                assert self.mirror.issuperset(event.keys)
                self.mirror.difference_update(event.keys)
        assert self.mirror == stored_keys(self.cache)

    @invariant()
    def everything_holds(self) -> None:
        if not hasattr(self, "cache"):
            return
        self.cache.check()
        stats = self.cache.stats
        assert stats.free + stats.cached + stats.held == self.cache.num_pages
        for lease in self.running:
            self.runner.verify(lease)
            for page in lease.pages:
                assert self.cache.refs(page) == sum(page in held for held in self._held())
        assert stats.held == len({page for held in self._held() for page in held})

    def teardown(self) -> None:
        if not hasattr(self, "cache"):
            return
        for lease in self.running:
            self.runner.copy(lease)
            self.cache.finish(lease, computed=self.runner.computed[lease])
        self.cache.evict()
        self.cache.check()
        assert self.cache.stats.free == self.cache.num_pages

    def _pick(self, pick: int, take: bool = False) -> Lease:
        index = pick % len(self.running)
        return self.running.pop(index) if take else self.running[index]

    def _held(self) -> list[list[int]]:
        """The pages each running sequence holds, and those it has yet to copy from."""
        sources = [[copy.src for copy in lease.copies] for lease in self.runner.uncopied]
        return [lease.pages for lease in self.running] + sources

    def _shared_now(self) -> list[tuple[str, list[Any]]]:
        size = self.cache.page_size
        return [
            (space, marks[: lease.published * size])
            for lease in self.running
            for space, marks in [self.runner.history[lease]]
        ]

    def _must(self) -> list[tuple[str, list[Any]]]:
        return self.stored + self._shared_now()

    def _may(self) -> list[tuple[str, list[Any]]]:
        return self._must() + self.possible

    def _found(self, known: list[tuple[str, list[Any]]], space: str, marks: list[Any], room: int = 1) -> int:
        best = max((common(old, marks) for name, old in known if name == space), default=0)
        best = min(best, len(marks) - room)
        if self.partial:
            return best
        size = self.cache.page_size
        whole = max((common(old, marks) // size * size for name, old in known if name == space), default=0)
        return min(whole, (len(marks) - room) // size * size)


CacheLife.TestCase.settings = settings(
    max_examples=max(1, OPERATIONS // STEPS),
    stateful_step_count=STEPS,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestCacheLife = CacheLife.TestCase
