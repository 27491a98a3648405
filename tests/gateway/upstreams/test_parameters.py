"""Each parameter is supported, ignored because it cannot change the output, or refused by name."""

import pytest

from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.parameters import Parameters, read_parameters


def read(**payload: object) -> Parameters:
    return read_parameters(payload, prompt_field="messages", default_max=None)


def nested(levels: int) -> dict[str, object]:
    schema: dict[str, object] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


def read_text(**payload: object) -> Parameters:
    return read_parameters(payload, prompt_field="prompt", default_max=16)


def test_defaults_are_openai_s() -> None:
    assert read() == Parameters(
        sampling={
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "frequency_penalty": 0.0,
            "presence_penalty": 0.0,
            "logit_bias": {},
            "min_tokens": 0,
            "seed": None,
            "max_tokens": None,
            "stop": (),
            "stop_token_ids": (),
            "ignore_eos": False,
            "logprobs": None,
        }
    )


def test_supported_parameters_arrive() -> None:
    parameters = read(
        temperature=0,
        top_p=0.5,
        top_k=7,
        min_p=0.1,
        repetition_penalty=1.1,
        frequency_penalty=-2,
        presence_penalty=2,
        logit_bias={"42": 5, "7": -100},
        min_tokens=3,
        seed=-3,
        max_completion_tokens=9,
        max_tokens=5,
        stop=["a", "b"],
        stop_token_ids=[4],
        logprobs=True,
        top_logprobs=20,
        stream=True,
        stream_options={"include_usage": True},
        cache_salt="s",
        return_token_ids=True,
        prompt_token_ids=[1, 2],
        chat_template_kwargs={"enable_thinking": False},
    )
    assert parameters.sampling == {
        "temperature": 0.0,
        "top_p": 0.5,
        "top_k": 7,
        "min_p": 0.1,
        "repetition_penalty": 1.1,
        "frequency_penalty": -2.0,
        "presence_penalty": 2.0,
        "logit_bias": {42: 5.0, 7: -100.0},
        "min_tokens": 3,
        "seed": -3,
        "max_tokens": 9,
        "stop": ("a", "b"),
        "stop_token_ids": (4,),
        "ignore_eos": False,
        "logprobs": 20,
    }
    assert (parameters.max_tokens, parameters.wants_exactly) == (9, True)
    assert (parameters.include_usage, parameters.cache_salt) == (True, "s")
    assert (parameters.return_token_ids, parameters.known_prompt) == (True, (1, 2))
    assert parameters.template_kwargs == {"enable_thinking": False}


def test_the_older_api_has_its_own() -> None:
    parameters = read_text(logprobs=3, echo=False, max_tokens=None)
    assert (parameters.sampling["logprobs"], parameters.max_tokens) == (3, 16)
    assert read_text(logprobs=0).sampling["logprobs"] == 0
    assert read_text(logprobs=False).sampling["logprobs"] is None
    assert read_text(echo=True).echo
    for name, value in (("echo", True), ("top_logprobs", 2), ("tools", [{}]), ("prompt_token_ids", [1])):
        other = read if name == "echo" else read_text
        with pytest.raises(ApiError) as caught:
            other(**{name: value})
        assert (caught.value.param, caught.value.code) == (name, "unsupported_parameter")


@pytest.mark.parametrize(
    ("payload", "param"),
    [
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"min_tokens": 9, "max_tokens": 5}, "min_tokens"),
        ({"guided_regex": "a+", "response_format": {"type": "json_object"}}, "guided_regex"),
        (
            {"guided_regex": "a+", "tools": [{"type": "function", "function": {"name": "f"}}]},
            "guided_regex",
        ),
        ({"structured_outputs": {"regex": "a", "choice": ["b"]}}, "structured_outputs"),
    ],
)
def test_what_does_not_go_together_is_refused(payload: dict[str, object], param: str) -> None:
    with pytest.raises(ApiError) as caught:
        read(**payload)
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize(
    "harmless",
    [
        {"user": "u"},
        {"metadata": {"promptcache_template": "t"}},
        {"store": True},
        {"service_tier": "flex"},
        {"prompt_cache_key": "k"},
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
        ("logprobs", 1, "logprobs"),
        ("top_logprobs", 21, "top_logprobs"),
        ("min_p", 1.01, "min_p"),
        ("frequency_penalty", 2.5, "frequency_penalty"),
        ("presence_penalty", -2.01, "presence_penalty"),
        ("repetition_penalty", 0, "repetition_penalty"),
        ("logit_bias", {"a": 1}, "logit_bias"),
        ("logit_bias", {"7": 101}, "logit_bias.7"),
        ("logit_bias", [7], "logit_bias"),
        ("stop_token_ids", [-1], "stop_token_ids"),
        ("min_tokens", -1, "min_tokens"),
        ("return_token_ids", "yes", "return_token_ids"),
        ("response_format", "json", "response_format"),
        ("response_format", {"type": "xml"}, "response_format.type"),
        ("response_format", {"type": "json_schema"}, "response_format.json_schema"),
        ("response_format", {"type": "json_schema", "json_schema": {}}, "response_format.json_schema.schema"),
        (
            "response_format",
            {"type": "json_schema", "json_schema": {"schema": {}, "strict": 1}},
            "response_format.json_schema.strict",
        ),
        ("guided_json", nested(121), "guided_json"),
        ("structured_outputs", {"structural_tag": "x"}, "structured_outputs.structural_tag"),
        ("guided_choice", [], "guided_choice"),
        ("guided_choice", ["a", ""], "guided_choice"),
        ("guided_json", "{}", "guided_json"),
        ("tools", {}, "tools"),
        ("tools", [5], "tools[0]"),
        ("tools", [{"type": "web_search"}], "tools[0].type"),
        ("tools", [{"type": "function"}], "tools[0].function"),
        ("tools", [{"type": "function", "function": {"name": "a b"}}], "tools[0].function.name"),
        (
            "tools",
            [{"type": "function", "function": {"name": "a", "parameters": "x"}}],
            "tools[0].function.parameters",
        ),
        (
            "tools",
            [{"type": "function", "function": {"name": "a", "parameters": {"type": "string"}}}],
            "tools[0].function.parameters.type",
        ),
        ("tools", [{"type": "function", "function": {"name": "a"}}] * 2, "tools[1].function.name"),
        ("tool_choice", "required", "tool_choice"),
        ("tool_choice", "maybe", "tool_choice"),
        (
            "tool_choice",
            {"type": "function", "function": {"name": "a"}},
            "tool_choice.function.name",
        ),
        ("tool_choice", {"type": "allowed_tools"}, "tool_choice.allowed_tools"),
        (
            "tool_choice",
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
            "tool_choice.allowed_tools",
        ),
        (
            "tool_choice",
            {"type": "allowed_tools", "allowed_tools": {"mode": "none", "tools": [{}]}},
            "tool_choice.allowed_tools.mode",
        ),
        (
            "tool_choice",
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "none of them"}}],
                },
            },
            "tool_choice.allowed_tools.tools[0]",
        ),
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
    assert 0 < read(top_p=0).sampling["top_p"] < 1e-6


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
    assert read(seed=2**63 - 1).sampling["seed"] == 2**63 - 1
