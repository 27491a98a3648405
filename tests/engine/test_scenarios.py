"""Whatever happens to the cache, the pages and the batch: greedy answers are those of a cold engine.

Random prompts that share prefixes, at random moments, with cancellations, evictions and preemptions in a tiny
pool. The core is stepped without its thread, so a failing scenario is found again.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptcache_engine import Admitted, EngineConfig, Failed, Finished
from promptcache_engine.models import LoadedModel
from tests.engine.scenario import MAX_LENGTH, Request, cold_answer, run

PREFIXES = [list(b"system: be brief. "), list(b"system: be kind and never hurry. "), []]


@st.composite
def requests(draw: st.DrawFn) -> list[Request]:
    made: list[Request] = []
    for _ in range(draw(st.integers(1, 6))):
        prefix = draw(st.sampled_from(PREFIXES + [each.prompt for each in made]))
        cut = draw(st.integers(0, len(prefix))) if draw(st.booleans()) else len(prefix)
        rest = draw(st.lists(st.integers(0, 3), min_size=1, max_size=10))
        prompt = [*prefix[:cut], *rest][: MAX_LENGTH - 1]
        made.append(
            Request(
                prompt=prompt,
                answer_tokens=min(draw(st.integers(0, 9)), MAX_LENGTH - len(prompt)),
                at_step=draw(st.integers(0, 20)),
                cancel_after=draw(st.none() | st.none() | st.integers(0, 6)),
                namespace=draw(st.sampled_from(["", "", "", "other"])),
                use_cache=draw(st.sampled_from([True, True, True, False])),
            )
        )
    return made


@pytest.mark.parametrize("page_size", [1, 4, 16])
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
