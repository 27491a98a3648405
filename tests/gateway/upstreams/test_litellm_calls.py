"""What goes over to LiteLLM and how its failures are said, without LiteLLM."""

from __future__ import annotations

import importlib.util
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.cli import main
from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.litellm_calls import completion, failure, parameters

HI: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "See http://a/b"}]}


def test_what_passes() -> None:
    asked = parameters({**HI, "temperature": 0, "metadata": {"a": "b"}, "store": True, "x": None})
    assert asked == {"messages": HI["messages"], "temperature": 0}
    streamed = parameters({**HI, "stream": True, "stream_options": {"include_usage": False}})
    assert streamed["stream_options"] == {"include_usage": True}


@given(name=st.text(min_size=1).filter(lambda name: name not in parameters_known()))
def test_no_other_field_passes(name: str) -> None:
    with pytest.raises(ApiError) as caught:
        parameters({**HI, name: "x"})
    assert (caught.value.status, caught.value.param) == (400, name[:80])


def parameters_known() -> set[str]:
    from promptcache_gateway.upstreams import litellm_calls

    return {*litellm_calls._PASSED, *litellm_calls._LEFT}


@pytest.mark.parametrize(
    "name", ["api_base", "base_url", "api_key", "model_list", "custom_llm_provider", "fallbacks"]
)
def test_what_leads_elsewhere_is_no_field(name: str) -> None:
    assert name not in parameters_known()


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
        {"type": "image_url", "image_url": "HTTP://a/b.png"},
        {"type": "file", "file": {"file_id": "gs://a/b"}},
        {"type": "x", "deep": [{"er": ["s3://a"]}]},
        {"type": "text", "text": "", "image_url": {"url": "http://a"}},
    ],
)
def test_addresses_in_messages(part: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as caught:
        parameters({"model": "m", "messages": [{"role": "user", "content": [part]}]})
    assert caught.value.param == "messages[0].content[0]"


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ({"role": "user", "content": "x", "images": ["http://a"]}, "messages[0]"),
        ({"role": "user", "content": {"url": "http://a"}}, "messages[0].content"),
        ("http://a", "messages[0]"),
    ],
)
def test_messages_that_are_none(message: object, param: str) -> None:
    with pytest.raises(ApiError) as caught:
        parameters({"model": "m", "messages": [message]})
    assert caught.value.param == param


def test_what_was_called_with_may_be_an_address() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"u": "http://a"}'}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "http://a"}]},
    ]
    assert parameters({"model": "m", "messages": messages})["messages"] == messages


def test_images_as_data_and_text_pass() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "text", "text": "http://a/b"},
    ]
    messages = [{"role": "user", "content": parts}]
    assert parameters({"model": "m", "messages": messages})["messages"] == messages


class RateLimitError(Exception):
    status_code = 429
    message = "slow down\nTraceback (most recent call last): secret"


class InternalServerError(Exception):
    status_code = 500
    message = "secret"


class Timeout(Exception):
    status_code = 408


def from_cause(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RateLimitError(), 429, "upstream_429"),
        (InternalServerError(), 500, "upstream_500"),
        (Timeout(), 504, "upstream_timeout"),
        (from_cause(InternalServerError(), ConnectionRefusedError()), 502, "upstream_unreachable"),
        (from_cause(InternalServerError(), TimeoutError()), 504, "upstream_timeout"),
        (ValueError("secret"), 502, "upstream_unreachable"),
    ],
)
def test_failures(error: Exception, status: int, code: str) -> None:
    said = failure(error, "far")
    assert (said.status, said.code) == (status, code)
    assert "secret" not in said.message


EMPTY = httpx.Response(429)


def having(error: Exception, **attributes: object) -> Exception:
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (having(RateLimitError(), response=httpx.Response(429, headers={"Retry-After": "7"})), 7),
        (having(RateLimitError(), response=EMPTY, litellm_response_headers={"retry-after": "8"}), 8),
        (from_cause(RateLimitError(), having(ValueError(), headers={"retry-after": "9"})), 9),
        (having(RateLimitError(), headers={"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}), None),
        (having(RateLimitError(), headers="retry-after"), None),
    ],
)
def test_the_wait_that_a_provider_asks_for(error: Exception, seconds: int | None) -> None:
    """Wherever a version of LiteLLM keeps it."""
    assert failure(error, "far").retry_after == seconds


def test_answers() -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    answer = completion({"choices": [{"index": 0, "message": {"role": "assistant"}}], "usage": nothing})
    assert answer == {
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None},
                "finish_reason": None,
                "logprobs": None,
            }
        ]
    }


def test_check_says_what_is_missing(tmp_path, monkeypatch, capsys) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "litellm" else found(name, *more)
    )
    file = tmp_path / "promptcache.toml"
    file.write_text('[upstreams.far]\nkind = "litellm"\nprovider = "bedrock"\n')
    assert main(["--config", str(file), "--check"]) == 2
    assert "pip install 'promptcache[litellm]'" in capsys.readouterr().err
