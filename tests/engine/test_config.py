"""Configuration checks itself: the error names the field, the value and what to do."""

from typing import Any

import pytest

from promptcache_engine import ConfigError, EngineConfig, EngineError, SamplingParams


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", ""),
        ("dtype", "float8"),
        ("kv_dtype", "int4"),
        ("eviction_policy", "random"),
        ("page_size", 0),
        ("page_size", 2.5),
        ("page_size", True),
        ("kv_cache_tokens", 0),
        ("max_batch_tokens", 0),
        ("max_batch_tokens", 8),
        ("max_running", 0),
        ("max_waiting", 0),
        ("max_context", -1),
        ("threads", 0),
        ("device", ""),
    ],
)
def test_an_engine_refuses_what_it_cannot_do(field: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        EngineConfig(**{field: value})
    assert (caught.value.field, caught.value.value) == (field, value)
    assert field in str(caught.value)
    assert caught.value.remedy in str(caught.value)
    assert isinstance(caught.value, EngineError)


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({}, "bfloat16"),
        ({"dtype": "float16"}, "float16"),
        ({"deterministic": True}, "float32"),
        ({"deterministic": True, "dtype": "bfloat16"}, "bfloat16"),
        ({"kv_dtype": "float32"}, "float32"),
        ({"kv_dtype": "fp8"}, "float8_e4m3fn"),
        ({"kv_dtype": "int8", "deterministic": True}, "int8"),
        ({"kv_dtype": "bfloat16", "deterministic": True}, "bfloat16"),
    ],
)
def test_what_keys_and_values_are_kept_in(fields: dict[str, Any], kept: str) -> None:
    assert EngineConfig(**fields).kept_dtype == kept


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", "hot"),
        ("top_p", 0),
        ("top_p", 1.01),
        ("top_k", -1),
        ("seed", 1.5),
        ("seed", True),
        ("max_tokens", -1),
        ("stop", ("",)),
        ("stop", [1]),
        ("stop", ["a"] * 17),
        ("temperature", 10**400),
        ("top_p", 10**400),
        ("stop_token_ids", 3),
        ("stop_token_ids", "12"),
        ("stop_token_ids", [1.5]),
        ("stop_token_ids", [-1]),
        ("shown_tokens", None),
        ("frequency_penalty", 1e308),
        ("presence_penalty", -1e308),
        ("repetition_penalty", 5e-324),
        ("repetition_penalty", 1e308),
        ("repetition_penalty", 0),
        ("logit_bias", {5: 1e308}),
        ("logit_bias", {5: 10**400}),
        ("logit_bias", {-5: 1.0}),
        ("logit_bias", [5]),
        ("grammar", "root"),
    ],
)
def test_a_request_refuses_what_it_cannot_do(field: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        SamplingParams(**{field: value})
    assert caught.value.field == field


def test_one_stop_string_is_as_good_as_a_list() -> None:
    assert SamplingParams(stop="END").stop == ("END",)
    assert SamplingParams(stop=["END", "\n"]).stop == ("END", "\n")


def test_values_are_frozen() -> None:
    with pytest.raises(AttributeError):
        EngineConfig().page_size = 4  # type: ignore[misc]
