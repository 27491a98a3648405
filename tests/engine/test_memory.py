"""How large the pool is: what was asked for, else four contexts or half the free memory."""

import pytest
import torch

from promptcache_engine import ConfigError, EngineConfig
from promptcache_engine.memory import available_bytes, needed_window_pages, pool_pages, window_pages
from promptcache_engine.models import ModelConfig


def pages(available: int | None = 10**9, context: int = 1000, **fields: object) -> int:
    config = EngineConfig(**{"page_size": 16, **fields})
    return pool_pages(config, context_length=context, model=model(), slot_bytes=50, available=available)


def model(*windows: int | None) -> ModelConfig:
    """100 bytes a token and layer."""
    sizes = {"num_heads": 1, "num_kv_heads": 1, "head_dim": 50, "hidden_size": 50, "intermediate_size": 50}
    return ModelConfig(
        architecture="any",
        num_layers=len(windows) or 1,
        vocab_size=8,
        context_length=100_000,
        layer_windows=windows,
        **sizes,
    )


def test_tokens_asked_for_are_rounded_up_to_pages() -> None:
    assert pages(kv_cache_tokens=160) == 10
    assert pages(kv_cache_tokens=161) == 11
    assert pages(kv_cache_tokens=1) == 1


def test_four_contexts_where_memory_allows() -> None:
    assert pages() == 250
    assert pages(context=1001) == 251
    assert pages(available=None) == 250


def test_half_of_what_is_free_where_it_does_not() -> None:
    assert pages(available=100 * 1600) == 50
    assert pages(available=100 * 32) == 1


def test_more_than_is_free_is_refused() -> None:
    with pytest.raises(ConfigError, match="About 1600 tokens fit") as caught:
        pages(available=100 * 1600, kv_cache_tokens=1601)
    assert caught.value.field == "kv_cache_tokens"
    assert pages(available=100 * 1600, kv_cache_tokens=1600) == 100


def test_a_page_larger_than_memory_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        pages(available=100 * 31)
    assert caught.value.field == "page_size"


def test_layers_with_a_window_get_what_they_need_and_a_share() -> None:
    config = EngineConfig(page_size=16, max_running=4, max_batch_tokens=64)
    assert needed_window_pages(config, 160) == 4 * (10 + 4) + 4
    assert window_pages(config, context_length=10_000, windows=(160,), num_pages=100) == (60,)
    assert window_pages(config, context_length=10_000, windows=(160, 320), num_pages=1_000) == (250, 250)
    assert window_pages(config, context_length=10_000, windows=(160,), num_pages=60) == ()
    assert window_pages(config, context_length=160, windows=(160,), num_pages=1_000) == ()
    assert window_pages(config, context_length=10_000, windows=(), num_pages=1_000) == ()


def test_windows_make_room_for_more_tokens() -> None:
    config = EngineConfig(page_size=16, max_running=4, max_batch_tokens=64)
    size = 2 * 100 * 16 * 1_000  # half of it is a thousand pages of one layer

    def fitting(*windows: int | None) -> int:
        return pool_pages(config, context_length=10**6, model=model(*windows), slot_bytes=50, available=size)

    assert fitting(None, None, None, None) == 250
    assert fitting(None, 160, 160, 160) == 571  # 571 + 3 * 142 pages of a layer
    assert fitting(160, 160, 160, 160) == 1_000


def test_this_machine_says_what_is_free() -> None:
    found = available_bytes(torch.device("cpu"))
    assert found is not None
    assert 2**20 < found < 2**50
