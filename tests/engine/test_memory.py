"""How large the pool is: what was asked for, else four contexts or half the free memory."""

import pytest
import torch

from promptcache_engine import ConfigError, EngineConfig
from promptcache_engine.memory import available_bytes, pool_pages


def pages(available: int | None = 10**9, context: int = 1000, **fields: object) -> int:
    config = EngineConfig(**{"page_size": 16, **fields})
    return pool_pages(config, context_length=context, bytes_per_token=100, available=available)


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


def test_this_machine_says_what_is_free() -> None:
    found = available_bytes(torch.device("cpu"))
    assert found is not None
    assert 2**20 < found < 2**50
