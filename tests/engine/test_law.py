"""The law: warm equals cold. With ``deterministic`` every logit has the bits of a cold run's, whatever was
cached, evicted, batched, preempted or forked, for every page size, chunk size and eviction policy.

That a hit happened is asserted in each run: the law would hold for a cache that does nothing.
"""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptcache_engine import EngineConfig, Finished
from promptcache_engine.cache import POLICIES
from promptcache_engine.models import LoadedModel
from promptcache_engine.models.testing import tiny_model
from tests.engine.scenario import Request, cold, run

PAGE_SIZES = (1, 4, 16, 64, 128, 256)
MAX_LENGTH = 420
PREFIXES = [
    list(b"You are the help desk of a small library that opens at nine and closes at six. " * 4),
    list(b"You are the help desk of a small library that is closed on Sundays, always. Be kind. " * 3),
]


@pytest.fixture(scope="module")
def exact() -> LoadedModel:
    """A tiny model with one numeric path for every token."""
    return tiny_model(seed=1, deterministic=True)


def assert_same_bits(request: Request, alone: Request) -> None:
    assert isinstance(request.events[-1], Finished), request.events[-1]
    assert request.token_ids == alone.token_ids
    assert request.logits.keys() == alone.logits.keys()
    for tokens, logits in request.logits.items():
        assert torch.equal(logits, alone.logits[tokens]), f"after {tokens} tokens"


@st.composite
def scenarios(draw: st.DrawFn) -> list[Request]:
    """Prompts of two families, so that the second of a family always finds something."""
    made: list[Request] = []
    for index in range(draw(st.integers(3, 6))):
        prefix = PREFIXES[index % 2]
        rest = draw(st.lists(st.integers(0, 255), min_size=1, max_size=40))
        made.append(
            Request(
                prompt=[*prefix[: draw(st.integers(80, len(prefix)))], *rest],
                answer_tokens=draw(st.integers(1, 6)),
                at_step=draw(st.integers(0, 12)),
                priority=draw(st.integers(0, 1)),
            )
        )
    fork = made[0]
    made.append(Request(fork.prompt, fork.answer_tokens, fork.at_step, fork_of=fork))
    # Once more at the end, when the pool has had to evict: back from there, too.
    made.append(Request(made[1].prompt, 4, at_step=200))
    return made


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@settings(
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    made=scenarios(),
    budget=st.sampled_from([7, 33, 64, 512]),
    spare=st.integers(0, 600),
    policy=st.sampled_from(["fewest-missing", "fcfs"]),
    preemption=st.sampled_from(["keep", "recompute"]),
    eviction=st.sampled_from(["learned", *sorted(POLICIES)]),
)
def test_every_logit_has_the_bits_of_a_cold_run(
    exact: LoadedModel,
    page_size: int,
    made: list[Request],
    budget: int,
    spare: int,
    policy: str,
    preemption: str,
    eviction: str,
) -> None:
    config = EngineConfig(
        page_size=page_size,
        kv_cache_tokens=MAX_LENGTH + page_size + spare,
        max_batch_tokens=budget,
        max_running=5,
        scheduling_policy=policy,
        preemption=preemption,
        eviction_policy=eviction,
    )
    cache = run(exact, made, config=config, max_length=MAX_LENGTH)
    assert cache.stats.hits + cache.stats.preempted_hits > 0
    for request in made:
        assert_same_bits(request, cold(exact, request, max_length=MAX_LENGTH))


@pytest.mark.parametrize("eviction", ["learned", "lru"])
@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_gone_and_come_back(exact: LoadedModel, page_size: int, eviction: str) -> None:
    """Cold, warm, evicted by another prompt, cold again, warm again: one and the same."""
    room = 256 + page_size % 256
    a, b = PREFIXES[0][:250], PREFIXES[1][:250]
    made = [Request(prompt, 4, at_step=50 * i) for i, prompt in enumerate((a, a, b, b, a, a))]
    config = EngineConfig(
        page_size=page_size, kv_cache_tokens=room, max_batch_tokens=96, eviction_policy=eviction
    )
    cache = run(exact, made, config=config, max_length=256)
    assert cache.stats.evicted_pages > 0
    cached = [request.events[-1].cached_tokens for request in made]
    assert [cached[i] for i in (1, 3, 5)] == [249, 249, 249]
    assert max(cached[i] for i in (0, 2, 4)) < 200
    for request in made:
        assert_same_bits(request, cold(exact, request, max_length=256))


@pytest.mark.parametrize("kv_dtype", ["fp8", "int8"])
@pytest.mark.parametrize("windows", [(), (40, None)], ids=["full", "window"])
def test_keys_and_values_in_eight_bits(kv_dtype: str, windows: tuple[int | None, ...]) -> None:
    """A token's bytes are its own: chunks, neighbours and hits leave them as a cold run writes them."""
    loaded = tiny_model(
        seed=1,
        num_heads=4,
        num_kv_heads=2,
        hidden_size=64,
        family="gemma3" if windows else "llama",
        layer_windows=windows,
        deterministic=True,
    )
    made = [Request(PREFIXES[i % 2][: 200 + i], 4, at_step=9 * i) for i in range(5)]
    config = EngineConfig(
        page_size=16, kv_cache_tokens=MAX_LENGTH, max_batch_tokens=33, max_running=3, kv_dtype=kv_dtype
    )
    cache = run(loaded, made, config=config, max_length=MAX_LENGTH)
    assert cache.stats.hits > 0
    for request in made:
        assert_same_bits(request, cold(loaded, request, max_length=MAX_LENGTH, kv_dtype=kv_dtype))
    whole = cold(loaded, made[0], max_length=MAX_LENGTH)
    assert any(not torch.equal(whole.logits[n], made[0].logits[n]) for n in whole.logits)


def test_without_determinism_the_bits_do_differ(tiny: LoadedModel) -> None:
    """What the tests above look at can be told apart at all."""
    made = [Request(PREFIXES[0], 4, at_step=i * 20) for i in range(2)]
    config = EngineConfig(kv_cache_tokens=1024, max_batch_tokens=33)
    run(tiny, made, config=config, max_length=MAX_LENGTH)
    alone = cold(tiny, made[1], max_length=MAX_LENGTH)
    assert any(not torch.equal(made[1].logits[n], alone.logits[n]) for n in alone.logits)


def test_the_baseline_and_an_opted_out_request_compute_everything(exact: LoadedModel) -> None:
    made = [Request(PREFIXES[0], 4, at_step=i * 20, use_cache=i == 0) for i in range(2)]
    run(exact, made, config=EngineConfig(kv_cache_tokens=1024), max_length=MAX_LENGTH)
    assert [request.events[-1].cached_tokens for request in made] == [0, 0]
    assert_same_bits(made[1], made[0])
