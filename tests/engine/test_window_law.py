"""The law for models with sliding windows whose pages are freed: warm equals cold, to the bit.

The windows' pools are as small as they may be, so that pages go while others still run and prefixes are only
found as far as every window reaches. Sizes and moments are random; that hits and losses to the windows really
happened is asserted over all runs of a seed.
"""

import random

import pytest

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.memory import needed_window_pages
from promptcache_engine.models import LoadedModel
from promptcache_engine.models.testing import tiny_model
from tests.engine.scenario import Request, cold, run
from tests.engine.test_law import PREFIXES, assert_same_bits

MAX_LENGTH = 420


@pytest.fixture(scope="module", params=[(None, 8), (8, 24, None), (16, 16)], ids=str)
def windowed(request: pytest.FixtureRequest) -> LoadedModel:
    windows = request.param
    return tiny_model(
        seed=2, num_layers=len(windows), family="gemma3", layer_windows=windows, deterministic=True
    )


def traffic(choose: random.Random) -> list[Request]:
    made: list[Request] = []
    for index in range(choose.randint(4, 7)):
        prefix = PREFIXES[index % 2]
        rest = [choose.randint(0, 255) for _ in range(choose.randint(1, 40))]
        made.append(
            Request(
                prompt=[*prefix[: choose.randint(80, len(prefix))], *rest],
                answer_tokens=choose.randint(1, 30),
                at_step=choose.randint(0, 30),
                cancel_after=choose.choice([None, None, None, 3]),
                use_cache=choose.random() < 0.9,
                priority=choose.randint(0, 1),
            )
        )
    first = made[0]
    made.append(Request(first.prompt, first.answer_tokens, first.at_step, fork_of=first))
    made.append(Request(made[1].prompt, 4, at_step=200))
    return made


@pytest.mark.parametrize("page_size", [1, 4, 64])
def test_every_logit_has_the_bits_of_a_cold_run(windowed: LoadedModel, page_size: int) -> None:
    hits = 0
    for seed in range(2):
        choose = random.Random(100 * page_size + seed)
        made = traffic(choose)
        config = EngineConfig(
            page_size=page_size,
            kv_cache_tokens=MAX_LENGTH + page_size + choose.randint(0, 900),
            max_batch_tokens=choose.choice([7, 33, 64, 256]),
            max_running=5,
            preemption=choose.choice(["keep", "recompute"]),
        )
        cache = run(windowed, made, config=config, max_length=MAX_LENGTH)
        hits += cache.stats.hits + cache.stats.preempted_hits
        for request in made:
            alone = cold(windowed, request, max_length=MAX_LENGTH)
            if request.cancel_after is None:
                assert_same_bits(request, alone)
            assert all((logits == alone.logits[n]).all() for n, logits in request.logits.items())
    assert hits > 0


def test_what_the_windows_lost_is_reported_and_computed_again() -> None:
    loaded = tiny_model(seed=3, family="gemma3", layer_windows=(None, 8), deterministic=True)
    shared = PREFIXES[0][:100]
    made = [Request([*shared, *range(i, i + 60)], 2, at_step=40 * i) for i in range(3)]
    config = EngineConfig(page_size=4, kv_cache_tokens=2_000, max_batch_tokens=16, max_running=1)
    run(loaded, made, config=config, max_length=MAX_LENGTH)
    first, second, third = (request.events[0].reason for request in made)
    assert (first.shared, first.reused) == (0, 0)
    assert second.shared == 100
    assert second.window == 100 - second.reused > 0
    assert (third.reused, third.window) == (100, 0)
    for request in made:
        assert_same_bits(request, cold(loaded, request, max_length=MAX_LENGTH))


def test_an_engine_tells_the_windows_that_have_pages_of_their_own() -> None:
    config = EngineConfig(
        model="tiny", page_size=4, kv_cache_tokens=2_000, max_running=2, max_batch_tokens=16
    )
    windowed = tiny_model(seed=3, family="gemma3", layer_windows=(None, 8))
    with Engine.from_loaded(windowed, config) as engine:
        ((window, pages),) = engine.info.window_pools
        assert window == 8
        assert needed_window_pages(config, 8) <= pages < engine.info.num_pages
    with Engine.from_loaded(tiny_model(seed=3), config) as engine:
        assert engine.info.window_pools == ()
