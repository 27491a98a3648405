"""A scheduler over a cache that computes by pretending, for tests without a model."""

from itertools import count

from promptcache_engine.cache import PrefixCache
from promptcache_engine.scheduler import Scheduler, SchedulingPolicy, Sequence, StepPlan

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

    def add(self, *sequences: Sequence) -> None:
        for each in sequences:
            self.scheduler.add(each)

    def step(self) -> StepPlan:
        plan = self.scheduler.plan()
        assert sum(chunk.length for chunk in plan.chunks) <= self.budget
        self.computed += sum(chunk.length for chunk in plan.chunks)
        self.scheduler.copied(plan.admitted)
        sampling = [chunk for chunk in plan.chunks if chunk.samples]
        for chunk in plan.chunks:
            self.scheduler.advance(chunk)
        for chunk in sampling:
            self.scheduler.extend(chunk.sequence, 1)
        if self._check:
            self.cache.check()
        return plan

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
