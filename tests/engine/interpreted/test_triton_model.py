"""Whole models on Triton's kernels, interpreted, through the engine's core beside the same models on torch.

Small pages, small steps: prompts are cut, one-row sequences share steps with chunks, pages are found again,
copied in part and, in windowed layers, freed. Pools begin full of NaN.
"""

import pytest
import torch

from promptcache_engine import ConfigError, Engine, EngineConfig, SamplingParams, attention_backend
from promptcache_engine.kernels import triton as kernels
from promptcache_engine.kernels.triton import tiles
from promptcache_engine.models import LoadedModel
from promptcache_engine.models.testing import tiny_model
from promptcache_engine.models.triton_operations import TritonOperations
from tests.engine.scenario import Request, cold, run

FAMILIES = {
    "llama": (),
    "qwen3": (),
    "gemma2": (7, None),  # soft caps, too
    "gemma3": (7, None),
}
SHARED = list(range(40, 57))
SHARED_PAGES = 16
"""What is found again at least; without windows the page in part, too."""


def model(family: str, *, triton: bool, deterministic: bool = False) -> LoadedModel:
    return tiny_model(
        family=family,
        layer_windows=FAMILIES[family],
        num_heads=2 if deterministic else 4,
        num_kv_heads=1 if deterministic else 2,
        deterministic=deterministic,
        operations=TritonOperations() if triton else None,
    )


def requests(answers: int) -> list[Request]:
    """The second shares 17 tokens, so a page in part, with the first, and runs beside it."""
    return [Request([*SHARED, 1, 2], answers, at_step=0), Request([*SHARED, 9], 2, at_step=2)]


@pytest.mark.parametrize("family", FAMILIES)
def test_its_logits_are_torchs(family: str) -> None:
    config = EngineConfig(page_size=4, kv_cache_tokens=160, max_batch_tokens=16, max_running=2)
    torchs, tritons = requests(3), requests(3)
    run(model(family, triton=False), torchs, config=config)
    cache = run(model(family, triton=True), tritons, config=config)
    assert cache.stats.hits >= SHARED_PAGES
    for expected, found in zip(torchs, tritons, strict=True):
        assert found.token_ids == expected.token_ids
        assert found.logits.keys() == expected.logits.keys()
        for place, logits in found.logits.items():
            torch.testing.assert_close(logits, expected.logits[place], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kv_dtype", ["fp8", "int8"])
def test_pages_in_eight_bits(kv_dtype: str) -> None:
    """Written, copied in part and read by the kernels as torch writes, copies and reads them."""
    config = EngineConfig(
        page_size=4, kv_cache_tokens=160, max_batch_tokens=16, max_running=2, kv_dtype=kv_dtype
    )
    found = []
    for operations in (None, TritonOperations()):
        loaded = tiny_model(num_heads=2, num_kv_heads=1, operations=operations)
        found.append(requests(3))
        assert run(loaded, found[-1], config=config).stats.hits > SHARED_PAGES
    for expected, tried in zip(*found, strict=True):
        assert tried.token_ids == expected.token_ids
        for place, logits in tried.logits.items():
            torch.testing.assert_close(logits, expected.logits[place], rtol=2e-2, atol=2e-2)


@pytest.mark.usefixtures("even_products")
@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_deterministic_bits_depend_on_the_sequence_alone(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warm, in a batch and in chunks whose keys are divided, as cold, alone and in one piece."""
    torch.set_num_threads(1)
    monkeypatch.setattr(tiles, "SPLIT", 16)
    monkeypatch.setattr(tiles, "LONG", 0)
    loaded = model(family, triton=True, deterministic=True)
    config = EngineConfig(page_size=4, kv_cache_tokens=160, max_batch_tokens=11, max_running=2)
    made = requests(2)
    cache = run(loaded, made, config=config)
    assert cache.stats.hits >= SHARED_PAGES
    monkeypatch.setattr(tiles, "LONG", 1 << 30)
    for request in made:
        alone = cold(loaded, request)
        assert request.token_ids == alone.token_ids
        assert request.logits.keys() == alone.logits.keys()
        assert all(torch.equal(logits, alone.logits[place]) for place, logits in request.logits.items())


def test_an_engine_serves_with_it() -> None:
    """Settings, pool, probe, worker: a hit, and the answer of the same engine on torch."""
    params = SamplingParams(temperature=0, max_tokens=2, ignore_eos=True)
    answers = []
    for triton in (False, True):
        config = EngineConfig(kv_cache_tokens=64, page_size=4, max_context=32, device="cpu")
        with Engine.from_loaded(model("llama", triton=triton), config) as engine:
            if triton:
                assert (engine.info.attention_backend, engine.info.kv_dtype) == ("triton", "float32")
            results = [engine.generate(SHARED, params) for _ in range(2)]
        answers.append([result.token_ids for result in results])
        assert [result.cached_tokens for result in results] == [0, len(SHARED) - 1]
    assert answers[0] == answers[1]


def test_copies_read_before_they_write() -> None:
    pool = torch.arange(24.0).view(2, 4, 3)
    src, dst = torch.tensor([0, 1, 2]), torch.tensor([1, 2, 3])
    expected = pool.clone()
    expected[:, dst] = pool[:, src]
    TritonOperations().copy_slots(pool, src, dst)
    assert torch.equal(pool, expected)


def test_the_trial_before_a_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, named = torch.device("cpu"), EngineConfig(attention_backend="triton")
    assert attention_backend.find(named, cpu).name == "triton"
    monkeypatch.setattr(kernels, "silu_mul", lambda gate_up: gate_up[:, :32])
    with pytest.raises(ConfigError, match="computed something else on cpu than torch"):
        attention_backend.find(named, cpu)
