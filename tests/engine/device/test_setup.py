"""First steps that fail: torch computes, with the reason where it can be read, or the start is refused."""

import pytest
import torch

from promptcache_engine import ConfigError, Engine, EngineConfig, SamplingParams
from promptcache_engine.device import setup
from promptcache_engine.info import WarmUp
from promptcache_engine.models.testing import tiny_model
from promptcache_engine.models.torch_operations import TorchOperations
from promptcache_engine.setup import make_pool

pytest.importorskip("triton", reason="Triton is not installed")

PROMPT, GREEDY = list(range(5, 25)), SamplingParams(temperature=0, max_tokens=6)


class Claimed(TorchOperations):
    """Torch's operations by the name of Triton's, which no GPU is needed for."""

    name = "triton"


def sized(**options: object) -> EngineConfig:
    return EngineConfig(kv_cache_tokens=64, max_context=32, **options)  # type: ignore[arg-type]


def failing(error: Exception) -> setup.FirstSteps:
    def begin(*_: object) -> WarmUp | None:
        raise error

    return begin


def test_torch_computes_what_triton_cannot(caplog: pytest.LogCaptureFixture) -> None:
    loaded, config = tiny_model(operations=Claimed()), sized()
    pool, info = make_pool(config, loaded)
    assert (info.attention_backend, info.attention_fallback) == ("triton", "")
    error = RuntimeError("Failed to find C compiler.\nPlease specify via CC")
    device, info = setup.prepare(config, loaded, pool, info, begin=failing(error))
    assert device is None
    assert info.attention_backend == loaded.model.operations.name == "torch"
    assert "(RuntimeError: Failed to find C compiler. Please specify via CC)" in info.attention_fallback
    assert "install gcc" in info.attention_fallback
    assert [each.getMessage() for each in caplog.records] == [
        f"{info.attention_fallback}; torch computes on cpu"
    ]
    pool.k[:, 0] = 1.5
    pool.copy_slots(torch.tensor([0]), torch.tensor([3]))
    assert (pool.k[:, 3] == 1.5).all()

    with Engine.from_loaded(loaded, config) as engine, Engine.from_loaded(tiny_model(), config) as plain:
        assert engine.info.attention_fallback == info.attention_fallback
        assert engine.generate(PROMPT, GREEDY).token_ids == plain.generate(PROMPT, GREEDY).token_ids


@pytest.mark.parametrize(
    ("options", "error", "field", "said"),
    [
        ({"attention_backend": "triton"}, RuntimeError("ptxas died"), "attention_backend", "ptxas died"),
        ({}, torch.OutOfMemoryError("2 GiB"), "kv_cache_tokens", "holds no step beside them"),
    ],
    ids=["by name", "memory"],
)
def test_the_start_is_refused(options: dict[str, str], error: Exception, field: str, said: str) -> None:
    loaded, config = tiny_model(operations=Claimed()), sized(**options)
    pool, info = make_pool(config, loaded)
    with pytest.raises(ConfigError, match=said) as caught:
        setup.prepare(config, loaded, pool, info, begin=failing(error))
    assert caught.value.field == field
    assert loaded.model.operations.name == "triton", "nothing was changed"


def test_what_was_done_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "promptcache_engine.device.setup")
    loaded, config = tiny_model(operations=Claimed()), sized()
    pool, info = make_pool(config, loaded)
    done = WarmUp(
        compile_seconds=2.0,
        kernels=(("attend", 2), ("merge", 1)),
        graphs=3,
        graph_batches=(1, 2),
        graph_contexts=(32,),
    )
    device, noted = setup.prepare(config, loaded, pool, info, begin=lambda *_: done)
    assert device is not None
    assert noted.warm_up == done
    assert noted.for_health()["warm_up"]["kernels"] == done.kernels  # type: ignore[index]
    assert "kernels ready in 2.0 s, 3 programs (attend 2, merge 1); 3 decode graphs" in caplog.text
