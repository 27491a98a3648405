"""Which kernel computes answers: native where it can be, torch in silence where not, an error where asked."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from promptcache_engine import ConfigError, Engine, EngineConfig, SamplingParams, decode_kernel
from promptcache_engine.kernels.native import Library
from promptcache_engine.models.half_products import is_available
from promptcache_engine.models.testing import tiny_model

CPU = torch.device("cpu")
SHAPE = {"hidden_size": 64, "num_heads": 4, "num_kv_heads": 2}


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PROMPTCACHE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_torch_does_the_work(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "promptcache_engine.decode_kernel")
    assert decode_kernel.find(EngineConfig(), CPU) is None
    (line,) = caplog.records
    assert line.levelno == logging.INFO
    assert "compiler" in line.getMessage()
    assert "torch computes the answers" in line.getMessage()


@pytest.mark.usefixtures("no_compiler")
def test_native_by_name_says_why_it_cannot_be() -> None:
    with pytest.raises(ConfigError, match="compiler") as caught:
        decode_kernel.find(EngineConfig(decode_kernel="native"), CPU)
    assert (caught.value.field, caught.value.value) == ("decode_kernel", "native")


@pytest.mark.parametrize("fields", [{"decode_kernel": "torch"}, {"deterministic": True}])
def test_it_is_not_even_compiled(
    fields: dict[str, object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROMPTCACHE_CACHE_DIR", str(tmp_path / "cache"))
    assert decode_kernel.find(EngineConfig(**fields), CPU) is None  # type: ignore[arg-type]
    assert not (tmp_path / "cache").exists()


def test_another_device_has_none() -> None:
    assert decode_kernel.find(EngineConfig(), torch.device("cuda")) is None
    with pytest.raises(ConfigError, match="the device is cuda"):
        decode_kernel.find(EngineConfig(decode_kernel="native"), torch.device("cuda"))


def test_contradictions_are_refused() -> None:
    with pytest.raises(ConfigError, match="one numeric path"):
        EngineConfig(decode_kernel="native", deterministic=True)


def test_a_model_it_does_not_serve(library: Library, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "promptcache_engine.decode_kernel")
    model = tiny_model().model  # heads of 8
    decode_kernel.add(EngineConfig(), model, library)
    assert model.native is None
    assert decode_kernel.name(model) == ("torch, weights in float16" if is_available() else "torch")
    assert "head size, 8" in caplog.text
    with pytest.raises(ConfigError, match="head size, 8"):
        decode_kernel.add(EngineConfig(decode_kernel="native"), model, library)


def test_an_engine_serves_with_it(library: Library) -> None:
    """Alone, in a batch, cold and warm: a greedy answer is one and the same, and the hit is there."""
    loaded = tiny_model(**SHAPE)  # type: ignore[arg-type]
    decode_kernel.add(EngineConfig(decode_kernel="native"), loaded.model, library)
    prompt = list(b"a prompt that is long enough to fill more than one page of the pool")
    config = EngineConfig(kv_cache_tokens=4096, model="tiny")
    with Engine.from_loaded(loaded, config) as engine:
        assert engine.info.decode_kernel.startswith("native, AVX")
        params = SamplingParams(temperature=0, max_tokens=24, ignore_eos=True)
        cold = engine.generate(prompt, params)
        warm = engine.generate([*prompt, *cold.token_ids[:5]], replace(params, max_tokens=19))
    assert cold.cached_tokens == 0
    assert warm.cached_tokens >= len(prompt)
    assert [*cold.token_ids[:5], *warm.token_ids] == list(cold.token_ids)
