"""A scheduler over a cache that computes by pretending, for tests without a model."""

from itertools import count

from promptcache_engine.cache import PrefixCache
from promptcache_engine.scheduler import Chunk, Scheduler, SchedulingPolicy, Sequence, StepPlan

_ids = count()


def sequence(tokens: list[int], *, max_length: int = 10_000, **fields: object) -> Sequence:
    return Sequence(
        id=f"s{next(_ids)}", tokens=list(tokens), prompt_tokens=len(tokens), max_length=max_length, **fields
    )


class Bench:
    """The next token is always 1; what a step computed is noted in ``computed``."""

    def __init__(
        self,
        num_pages: int = 64,
        page_size: int = 4,
        *,
        budget: int = 16,
        running: int = 4,
        policy: SchedulingPolicy = "fewest-missing",
        keep_preempted: bool = True,
        check: bool = True,
    ) -> None:
        self.cache = PrefixCache(num_pages, page_size, share_on_admission=False)
        self.scheduler = Scheduler(
            self.cache,
            max_batch_tokens=budget,
            max_running=running,
            policy=policy,
            keep_preempted=keep_preempted,
        )
        self.budget = budget
        self.computed = 0
        self._check = check
        self._slots: dict[int, int] = {}  # what lies where: a digest of the tokens up to there

    def add(self, *sequences: Sequence) -> None:
        for each in sequences:
            self.scheduler.add(each)

    def step(self) -> StepPlan:
        plan = self.scheduler.plan()
        assert sum(chunk.length for chunk in plan.chunks) <= self.budget
        self.computed += sum(chunk.length for chunk in plan.chunks)
        self._copy(plan)
        self.scheduler.copied(plan.admitted)
        for chunk in plan.chunks if self._check else ():
            self._compute(chunk)
        sampling = [chunk for chunk in plan.chunks if chunk.samples]
        for chunk in plan.chunks:
            self.scheduler.advance(chunk)
        for chunk in sampling:
            self.scheduler.extend(chunk.sequence, 1)
        if self._check:
            self.cache.check()
        return plan

    def _copy(self, plan: StepPlan) -> None:
        """Make the step's copies as a runner may: all at once, none before another."""
        size, before = self.cache.page_size, dict(self._slots)
        for copy in (copy for each in plan.admitted for copy in each.copies):
            for i in range(copy.tokens if self._check else 0):
                self._slots[copy.dst * size + i] = before[copy.src * size + i]

    def _compute(self, chunk: Chunk) -> None:
        """Read what lies before a chunk, which must be its own sequence's, and write the chunk."""
        assert chunk.sequence.lease is not None
        pages, size, digest = chunk.sequence.lease.pages, self.cache.page_size, 0
        for i, token in enumerate(chunk.sequence.tokens[: chunk.end]):
            digest = hash((digest, token))
            slot = pages[i // size] * size + i % size
            if i < chunk.start:
                assert self._slots[slot] == digest
            else:
                self._slots[slot] = digest

    def run(self, *, answer: int = 1) -> None:
        """Step until nothing is left; a sequence ends with ``answer`` tokens of answer."""
        while True:
            stats = self.scheduler.stats()
            if not stats.running and not stats.waiting:
                return
            for chunk in self.step().chunks:
                if chunk.sequence.output_tokens >= answer:
                    self.scheduler.release(chunk.sequence, keep=True)


def work(plan: StepPlan) -> list[tuple[Sequence, int, int]]:
    return [(chunk.sequence, chunk.start, chunk.length) for chunk in plan.chunks]
