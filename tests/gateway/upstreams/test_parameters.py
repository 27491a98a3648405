"""Each parameter is supported, ignored because it cannot change the output, or refused by name."""

import pytest

from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.parameters import Parameters, read_parameters


def read(**payload: object) -> Parameters:
    return read_parameters(payload, prompt_field="messages", default_max=None)


def test_defaults_are_openai_s() -> None:
    assert read() == Parameters(
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        seed=None,
        max_tokens=None,
        wants_exactly=False,
        stop=(),
        ignore_eos=False,
        include_usage=False,
        cache_salt="",
        choices=1,
        priority=0,
    )


def test_supported_parameters_arrive() -> None:
    parameters = read(
        temperature=0,
        top_p=0.5,
        top_k=7,
        seed=-3,
        max_completion_tokens=9,
        max_tokens=5,
        stop=["a", "b"],
        stream=True,
        stream_options={"include_usage": True},
        cache_salt="s",
    )
    assert (parameters.temperature, parameters.top_p, parameters.top_k) == (0.0, 0.5, 7)
    assert (parameters.seed, parameters.max_tokens, parameters.stop) == (-3, 9, ("a", "b"))
    assert (parameters.include_usage, parameters.cache_salt) == (True, "s")


@pytest.mark.parametrize(
    "harmless",
    [
        {"user": "u"},
        {"metadata": {"promptcache_template": "t"}},
        {"store": True},
        {"service_tier": "flex"},
        {"prompt_cache_key": "k"},
        {"parallel_tool_calls": False},
        {"n": 1},
        {"logprobs": False},
        {"frequency_penalty": 0.0},
        {"presence_penalty": 0},
        {"logit_bias": {}},
        {"tools": []},
        {"tool_choice": "none"},
        {"response_format": {"type": "text"}},
        {"n": None, "tools": None, "logit_bias": None, "stop": None, "seed": None, "nonsense": None},
    ],
)
def test_what_cannot_change_the_output_is_ignored(harmless: dict[str, object]) -> None:
    assert read(**harmless) == read()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("logprobs", True),
        ("logprobs", 0),
        ("top_logprobs", 3),
        ("frequency_penalty", 0.5),
        ("presence_penalty", -1),
        ("logit_bias", {"42": 5}),
        ("tools", [{"type": "function"}]),
        ("tool_choice", "required"),
        ("response_format", {"type": "json_object"}),
        ("reasoning_effort", "high"),
        ("modalities", ["text", "audio"]),
        ("echo", True),
        ("suffix", "x"),
        ("best_of", 3),
    ],
)
def test_what_would_change_the_output_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ApiError) as caught:
        read(**{name: value})
    assert (caught.value.status, caught.value.param, caught.value.code) == (
        400,
        name,
        "unsupported_parameter",
    )
    assert name in str(caught.value)


def test_an_unknown_parameter_is_refused_by_name() -> None:
    with pytest.raises(ApiError) as caught:
        read(temprature=0)
    assert (caught.value.param, caught.value.code) == ("temprature", "unknown_parameter")


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("temperature", "hot", "temperature"),
        ("temperature", 2.1, "temperature"),
        ("temperature", True, "temperature"),
        ("top_p", -0.1, "top_p"),
        ("max_tokens", 0, "max_tokens"),
        ("max_tokens", 1.5, "max_tokens"),
        ("max_completion_tokens", "9", "max_completion_tokens"),
        ("max_tokens", 2**70, "max_tokens"),
        ("seed", "7", "seed"),
        ("stop", ["a"] * 5, "stop"),
        ("stop", [""], "stop"),
        ("stop", "", "stop"),
        ("stop", 3, "stop"),
        ("stream_options", True, "stream_options"),
        ("stream_options", {}, "stream_options"),
        ("metadata", "x", "metadata"),
        ("user", 5, "user"),
        ("safety_identifier", [], "safety_identifier"),
        ("store", "yes", "store"),
        ("service_tier", 1, "service_tier"),
        ("prompt_cache_key", {}, "prompt_cache_key"),
        ("prediction", "text", "prediction"),
        ("parallel_tool_calls", 1, "parallel_tool_calls"),
        ("cache_salt", 1, "cache_salt"),
        ("ignore_eos", "no", "ignore_eos"),
    ],
)
def test_a_wrong_type_or_value_names_its_path(name: str, value: object, path: str) -> None:
    with pytest.raises(ApiError) as caught:
        read(**{name: value})
    assert (caught.value.status, caught.value.param) == (400, path)


def test_top_p_zero_leaves_the_likeliest_token() -> None:
    assert 0 < read(top_p=0).top_p < 1e-6


def test_stream_options_are_read_where_there_is_a_stream() -> None:
    with pytest.raises(ApiError, match=r"stream_options\.include_usage"):
        read(stream=True, stream_options={"include_usage": 1})
    with pytest.raises(ApiError, match="only allowed where 'stream' is true"):
        read(stream_options={"include_usage": True})
    assert read(stream=None, stream_options=None) == read()


def test_a_whole_number_s_both_bounds_are_named() -> None:
    for seed in (-(2**63) - 1, 2**63, 0.5):
        with pytest.raises(ApiError, match="from -9223372036854775808 to 9223372036854775807"):
            read(seed=seed)
    assert read(seed=2**63 - 1).seed == 2**63 - 1
