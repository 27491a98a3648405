"""Whatever happens to the cache, the pages and the batch: greedy answers are those of a cold engine.

Random prompts that share prefixes, at random moments, with cancellations, evictions and preemptions in a tiny
pool. The core is stepped without its thread, so a failing scenario is found again.
"""

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptcache_engine import (
    Admitted,
    EngineConfig,
    Failed,
    Finished,
    GenerationEvent,
    SamplingParams,
    TokenDelta,
)
from promptcache_engine.cache import PrefixCache
from promptcache_engine.core import EngineCore
from promptcache_engine.detokenizer import TextStream
from promptcache_engine.generation import Generation
from promptcache_engine.models import KVPool, LoadedModel
from promptcache_engine.runner import ModelRunner
from promptcache_engine.sampling import Draws
from promptcache_engine.scheduler import Scheduler, Sequence

MAX_LENGTH = 48


@dataclass
class Request:
    """One request of a scenario and what became of it."""

    prompt: list[int]
    answer_tokens: int
    at_step: int
    cancel_after: int | None = None
    namespace: str = ""
    use_cache: bool = True
    events: list[GenerationEvent] = field(default_factory=list)

    @property
    def token_ids(self) -> list[int]:
        return [token for event in self.events if isinstance(event, TokenDelta) for token in event.token_ids]


def generation(loaded: LoadedModel, request: Request, name: str) -> Generation:
    length = len(request.prompt)
    params = SamplingParams(temperature=0, max_tokens=request.answer_tokens, ignore_eos=True)
    sequence = Sequence(
        id=name,
        tokens=list(request.prompt),
        prompt_tokens=length,
        max_length=min(MAX_LENGTH, length + request.answer_tokens),
        namespace=request.namespace,
        use_cache=request.use_cache,
    )
    text = TextStream(loaded.tokenizer.token_bytes, ())
    return Generation(sequence, params, text, Draws(params), request.events.append)


def run(loaded: LoadedModel, requests: list[Request], *, config: EngineConfig) -> PrefixCache:
    """Step a fresh engine until every request has ended; returns its cache."""
    assert config.kv_cache_tokens is not None
    num_pages = -(-config.kv_cache_tokens // config.page_size)
    cache = PrefixCache(num_pages, config.page_size, share_on_admission=False)
    scheduler = Scheduler(cache, max_batch_tokens=config.max_batch_tokens, max_running=config.max_running)
    pool = KVPool(loaded.config, num_pages * config.page_size, loaded.model.dtype, "cpu")
    pool.k.fill_(float("nan"))  # a slot that is read before it is written shows in every token after it
    pool.v.fill_(float("nan"))
    runner = ModelRunner(loaded.model, pool, page_size=config.page_size, max_length=MAX_LENGTH)
    core = EngineCore(scheduler, runner, eos_token_ids=())
    pending = sorted(enumerate(requests), key=lambda item: item[1].at_step)
    alive: dict[str, tuple[Generation, Request]] = {}
    step = 0
    while pending or core.busy:
        while pending and (pending[0][1].at_step <= step or not core.busy):
            index, request = pending.pop(0)
            alive[str(index)] = (generation(loaded, request, str(index)), request)
            core.add(alive[str(index)][0])
        for submitted, request in alive.values():
            if request.cancel_after is not None and len(request.token_ids) >= request.cancel_after:
                submitted.cancel()
        for receiver, event in core.step():
            receiver.emit(event)
        cache.check()
        step += 1
        assert step < 5000
    return cache


def cold_answer(loaded: LoadedModel, request: Request) -> list[int]:
    config = EngineConfig(kv_cache_tokens=MAX_LENGTH, max_batch_tokens=512)
    alone = Request(request.prompt, request.answer_tokens, 0, use_cache=False)
    run(loaded, [alone], config=config)
    return alone.token_ids


PREFIXES = [list(b"system: be brief. "), list(b"system: be kind and never hurry. "), []]


@st.composite
def requests(draw: st.DrawFn) -> list[Request]:
    made: list[Request] = []
    for _ in range(draw(st.integers(1, 6))):
        prefix = draw(st.sampled_from(PREFIXES + [each.prompt for each in made]))
        cut = draw(st.integers(0, len(prefix))) if draw(st.booleans()) else len(prefix)
        rest = draw(st.lists(st.integers(0, 3), min_size=1, max_size=10))
        made.append(
            Request(
                prompt=[*prefix[:cut], *rest][: MAX_LENGTH - 1],
                answer_tokens=draw(st.integers(0, 9)),
                at_step=draw(st.integers(0, 20)),
                cancel_after=draw(st.none() | st.none() | st.integers(0, 6)),
                namespace=draw(st.sampled_from(["", "", "", "other"])),
                use_cache=draw(st.sampled_from([True, True, True, False])),
            )
        )
    return made


@pytest.mark.parametrize("page_size", [1, 4, 16])
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    made=requests(),
    budget=st.sampled_from([2, 5, 16, 512]),
    spare=st.integers(0, 60),
    running=st.integers(1, 6),
)
def test_answers_do_not_depend_on_cache_batch_or_pool(
    tiny: LoadedModel, page_size: int, made: list[Request], budget: int, spare: int, running: int
) -> None:
    config = EngineConfig(
        page_size=page_size,
        kv_cache_tokens=MAX_LENGTH + spare,
        max_batch_tokens=max(budget, running),
        max_running=running,
    )
    cache = run(tiny, made, config=config)
    for request in made:
        end = request.events[-1]
        assert isinstance(end, Finished), end
        expected = cold_answer(tiny, request)
        if end.finish_reason == "cancelled":
            assert request.token_ids == expected[: len(request.token_ids)]
        else:
            assert request.token_ids == expected
        ends = [event for event in request.events if isinstance(event, Finished | Failed)]
        admissions = [event for event in request.events if isinstance(event, Admitted)]
        assert (len(ends), len(admissions)) == (1, int(end.finish_reason != "cancelled" or bool(admissions)))
        assert request.use_cache or end.cached_tokens == 0
    stats = cache.stats
    assert stats.held == 0
    assert stats.free + stats.cached == cache.num_pages
    cache.evict()
    assert cache.stats.free == cache.num_pages


def test_scenarios_do_hit_evict_and_preempt(tiny: LoadedModel) -> None:
    """The property above would hold for a cache that does nothing; here it does something."""
    config = EngineConfig(page_size=4, kv_cache_tokens=MAX_LENGTH, max_batch_tokens=16, max_running=4)
    made = [Request([*PREFIXES[i % 2][: 6 * i], i, i, i], 12, at_step=0) for i in range(6)]
    cache = run(tiny, made, config=config)
    assert [request.token_ids for request in made] == [cold_answer(tiny, request) for request in made]
    assert cache.stats.hits > 0
    assert cache.stats.evicted_pages > 0
    assert cache.stats.preempted_queries > 0
