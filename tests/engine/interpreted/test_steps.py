"""Steps over tables that stay on the device, interpreted: replayed, padded, and without a look from the host.

There are no graphs on a CPU. What stands in for one runs the recorded work again, which reads nothing but the
buffers: as a graph, it cannot know what changed elsewhere. Pools begin full of NaN, so that a padded row that
read or wrote a page would show.
"""

from functools import partial
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from promptcache_engine import Engine, EngineConfig, SamplingParams
from promptcache_engine.device.draw import DeviceDraw
from promptcache_engine.device.graphs import Work
from promptcache_engine.device.runner import DeviceRunner
from promptcache_engine.device.steps import DeviceSteps
from promptcache_engine.kernels.triton import sample_tokens
from promptcache_engine.models import DecoderModel, KVPool, LoadedModel
from promptcache_engine.models.paged_step import Share, decode_step, mixed_step
from promptcache_engine.runner import ModelRunner
from tests.engine.interpreted.test_triton_model import SHARED_PAGES, model, requests
from tests.engine.scenario import cold, run

CONFIG = EngineConfig(page_size=4, kv_cache_tokens=160, max_batch_tokens=16, max_running=2)


class Replays:
    """Records by remembering; counts what is replayed."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, work: Work) -> Work:
        def again() -> None:
            self.count += 1
            work()

        return again


def make_runner(
    replays: Replays | None, seats: int, model: DecoderModel, pool: KVPool, **settings: Any
) -> ModelRunner:
    steps = DeviceSteps(
        model,
        pool,
        page_size=settings["page_size"],
        max_length=settings["max_length"],
        max_running=seats,
    )
    if replays is not None:
        steps.record(replays)
    return DeviceRunner(model, pool, steps=steps, **settings)


@pytest.mark.parametrize(("family", "replays"), [("llama", None), ("gemma3", Replays())])
def test_its_logits_are_torchs_launched_or_replayed(family: str, replays: Replays | None) -> None:
    torchs, tritons = requests(3), requests(3)
    run(model(family, triton=False), torchs, config=CONFIG)
    make = partial(make_runner, replays, CONFIG.max_running)
    cache = run(model(family, triton=True), tritons, config=CONFIG, make_runner=make)
    assert cache.stats.hits >= SHARED_PAGES
    for expected, found in zip(torchs, tritons, strict=True):
        assert found.token_ids == expected.token_ids
        assert found.logits.keys() == expected.logits.keys()
        for place, logits in found.logits.items():
            torch.testing.assert_close(logits, expected.logits[place], rtol=1e-4, atol=1e-4)
    assert replays is None or replays.count


@pytest.mark.usefixtures("even_products")
def test_replayed_steps_have_the_bits_of_a_sequence_alone() -> None:
    """Graphs are of 1, 2, 4 and 5 sequences here, steps of 1 to 3."""
    torch.set_num_threads(1)
    loaded = model("llama", triton=True, deterministic=True)
    config = EngineConfig(page_size=4, kv_cache_tokens=160, max_batch_tokens=11, max_running=5)
    made = [*requests(2), *requests(2)[:1]]
    made[2].prompt[-1] = 77
    replays = Replays()
    run(loaded, made, config=config, make_runner=partial(make_runner, replays, 5))
    assert replays.count
    for request in made:
        alone = cold(loaded, request)
        assert request.token_ids == alone.token_ids
        assert all(torch.equal(logits, alone.logits[place]) for place, logits in request.logits.items())


def filled(loaded: LoadedModel) -> tuple[DeviceSteps, KVPool]:
    """Steps whose two seats hold contexts of 5 and 3 tokens, on the pages 1, 2 and 4 of a pool of NaN."""
    pool = KVPool(loaded.config, 24, torch.float32, "cpu")
    pool.k.fill_(float("nan"))
    pool.v.fill_(float("nan"))
    steps = DeviceSteps(loaded.model, pool, page_size=4, max_length=16, max_running=4)
    steps.tables.note(0, 0, 0, [1, 2])
    steps.tables.note(0, 1, 0, [4])
    steps.compute([Share(0, [7, 8, 9, 1, 2], 0, samples=True), Share(1, [5, 6, 7], 0, samples=True)])
    return steps, pool


@pytest.mark.usefixtures("even_products")
def test_what_pads_a_step_touches_no_page_and_no_bit_of_the_others() -> None:
    torch.set_num_threads(1)
    loaded = model("llama", triton=True, deterministic=True)
    steps, pool = filled(loaded)
    before = pool.k.clone()
    inputs = torch.tensor([[3, 4, 0, 0], [5, 3, 0, 0], [0, 1, 0, 0], [6, 4, 0, 0]], dtype=torch.int32)
    padded = decode_step(inputs, steps.tables.tables, 4, 16)
    logits = loaded.model.forward_paged(padded, pool)[:2].clone()
    changed = (pool.k.nan_to_num(nan=-1) != before.nan_to_num(nan=-1)).any(-1).any(0).nonzero().flatten()
    assert changed.tolist() == [9, 19]
    shares = [Share(0, [3], 5, samples=True), Share(1, [4], 3, samples=True)]
    plain = loaded.model.forward_paged(mixed_step(shares, steps.tables.tables, 4), pool)
    assert torch.equal(logits, plain)


class Watched(TorchDispatchMode):
    """Refuses what makes the host wait for a device: reading a value, or sizes that depend on values."""

    WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "is_nonzero", "repeat_interleave")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name().partition("::")[2].partition(".")[0]
        assert name not in self.WAITS, f"the host waits for {name}"
        masks = [each for each in (args[1] if name in {"index", "index_put_"} else ()) if each is not None]
        assert all(mask.dtype != torch.bool for mask in masks), "the host waits for a mask's count"
        return func(*args, **(kwargs or {}))


def test_the_host_does_not_wait_within_a_step() -> None:
    """Nor do draws make it, but for the one copy of what was drawn."""
    steps, _ = filled(model("llama", triton=True))
    replays = Replays()
    params = [SamplingParams(temperature=0.7, top_k=9, logprobs=2), SamplingParams(temperature=0)]
    with Watched():
        logits = steps.compute([Share(0, [3], 5, samples=True), Share(1, [4, 5], 3, samples=True)])
        DeviceDraw(sample_tokens)(logits, logits, params, [1, 2])
        steps.record(replays)
        steps.compute([Share(0, [3], 6, samples=True), Share(1, [4], 5, samples=True)])
    assert replays.count == 1


def test_an_engine_serves_with_it() -> None:
    """Settings, runner, draws on the device: seeded answers and log-probabilities are the host's."""
    asked = [
        SamplingParams(temperature=0.9, top_k=40, seed=5, max_tokens=3, ignore_eos=True, logprobs=2),
        SamplingParams(temperature=1.2, seed=6, max_tokens=3, ignore_eos=True, frequency_penalty=0.5),
    ]
    answers = []
    for triton in (False, True):
        config = EngineConfig(
            kv_cache_tokens=64, page_size=4, max_context=32, device="cpu", kv_dtype="float32"
        )
        with Engine.from_loaded(model("llama", triton=triton), config) as engine:
            answers.append([engine.generate([40, 41, 42, 43, 44], params) for params in asked])
            assert engine.info.warm_up is None
    for host, device in zip(*answers, strict=True):
        assert host.token_ids == device.token_ids
        for one, other in zip(host.logprobs, device.logprobs, strict=True):
            assert one.token_id == other.token_id
            assert one.logprob == pytest.approx(other.logprob, abs=1e-4)


def test_a_warm_up_computes_a_step_of_each_kind() -> None:
    loaded = model("gemma3", triton=True)
    pool = KVPool(loaded.config, 48, torch.float32, "cpu", window_slots=[32])
    steps = DeviceSteps(loaded.model, pool, page_size=4, max_length=8, max_running=2)
    drawn = []
    report = steps.warm_up(6, lambda *rows: drawn.append([each.shape for each in rows]))
    assert report.compile_seconds > 0
    assert drawn == [[(2, loaded.config.vocab_size)] * 2]
