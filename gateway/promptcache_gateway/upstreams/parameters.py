"""What the built-in engine does with each parameter of OpenAI's API.

A parameter is supported, or it cannot change the output and is ignored, or it would change the
output and is refused by name: an answer is never quietly another one than was asked for.
Null means absent everywhere, as it does at OpenAI.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import ApiError, invalid_request
from promptcache_gateway.upstreams.output_shape import OutputShape, read_output_shape
from promptcache_gateway.upstreams.parameter_values import (
    biases,
    flag,
    integer,
    mapping,
    number,
    stop_strings,
    text,
    token_ids,
    unsupported,
    wrong,
)
from promptcache_gateway.upstreams.tools import NO_TOOLS, ToolUse, read_tools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Call

COMPLETIONS_DEFAULT_MAX_TOKENS = 16
MAX_CHOICES = 128
MAX_TOP_LOGPROBS = 20

_SUPPORTED = frozenset(
    {
        *("model", "stream", "stream_options", "n", "seed", "stop", "max_tokens", "max_completion_tokens"),
        *("temperature", "top_p", "top_k", "min_p", "logit_bias", "logprobs", "ignore_eos", "min_tokens"),
        *("frequency_penalty", "presence_penalty", "repetition_penalty", "stop_token_ids"),
        *("response_format", "structured_outputs"),
        *("guided_json", "guided_regex", "guided_choice", "guided_grammar"),
        *("cache_salt", "priority", "return_token_ids"),
    }
)
# Where only one of the two APIs has them.
_CHAT_ONLY = frozenset(
    {
        *("top_logprobs", "tools", "tool_choice", "parallel_tool_calls", "chat_template_kwargs"),
        "prompt_token_ids",
    }
)
_COMPLETIONS_ONLY = frozenset({"echo"})
# They say who asks, where to keep the answer, or how to route it: never what the answer is.
_IGNORED: dict[str, type] = {
    "user": str,
    "safety_identifier": str,
    "metadata": dict,
    "store": bool,
    "service_tier": str,
    "prompt_cache_key": str,
    "prompt_cache_options": dict,
    "prompt_cache_retention": str,
    "prediction": dict,
}
_EXPECTED = {str: "a string", dict: "an object", bool: "true or false"}
# Parameters the engine does not have, with the values that mean "as if it were not there".
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "best_of": (1,),
    "length_penalty": (1,),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"],),
    "audio": (),
    "reasoning_effort": ("none",),
    "verbosity": ("medium",),
    "web_search_options": (),
    "suffix": ("",),
    "chat_template": (),
    "add_generation_prompt": (True,),
    "continue_final_message": (False,),
    # One API's parameters at the other, where they mean nothing.
    "echo": (False,),
    "top_logprobs": (0,),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "chat_template_kwargs": ({},),
    "prompt_token_ids": ([],),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """A request's parameters as the engine takes them.

    Attributes:
        sampling: how tokens are chosen and where the answer ends: the names and values of the engine's own.
        max_tokens: tokens of answer at most; None: up to the context's end.
        wants_exactly: the caller named ``max_tokens``, so that the context must hold that many.
        include_usage: a streaming caller wants the usage chunk.
        cache_salt: separates this caller's cached prefixes from others'.
        choices: answers wanted; the prompt is computed once for all.
        priority: lower ones are computed first, as in vLLM.
        shape: what the answer's text must be; None: anything.
        tools: what the model may call.
        return_token_ids: the caller wants the token ids of prompt and answer.
        echo: the caller wants the prompt's text before the answer's.
        template_kwargs: further names for the chat template.
        known_prompt: token ids with which an earlier answer left this conversation.
    """

    sampling: dict[str, Any]
    max_tokens: int | None = None
    wants_exactly: bool = False
    include_usage: bool = False
    cache_salt: str = ""
    choices: int = 1
    priority: int = 0
    shape: OutputShape | None = None
    tools: ToolUse = NO_TOOLS
    return_token_ids: bool = False
    echo: bool = False
    template_kwargs: dict[str, Any] = field(default_factory=dict)
    known_prompt: tuple[int, ...] = ()


def namespace(tenant: str, salt: str) -> str:
    """Whose prefixes may be reused: a salt separates within a tenant and never joins two tenants."""
    return f"{tenant}\x1f{salt}" if salt or tenant != "default" else ""


def prompt_field(call: Call) -> str:
    """Where a call's prompt stands in its body."""
    return "prompt" if call.dialect == "openai.completions" else "messages"


def parameters_of(call: Call) -> Parameters:
    """``read_parameters`` of a call, with the limit its API sets."""
    where = prompt_field(call)
    default_max = COMPLETIONS_DEFAULT_MAX_TOKENS if where == "prompt" else None
    return read_parameters(call.payload, prompt_field=where, default_max=default_max)


def read_parameters(payload: Mapping[str, Any], *, prompt_field: str, default_max: int | None) -> Parameters:
    """Read every parameter of a request.

    Args:
        payload: the request's body.
        prompt_field: ``messages`` or ``prompt``, which is not a parameter and is left alone.
        default_max: the API's own limit of the answer where the caller set none.

    Raises:
        ApiError: 400 naming the parameter that is unknown, unsupported or wrong.
    """
    chat = prompt_field == "messages"
    known = _SUPPORTED | (_CHAT_ONLY if chat else _COMPLETIONS_ONLY)
    for name, value in payload.items():
        if value is not None and name != prompt_field and name not in known:
            _check_known(name, value)
    asked = integer(payload, "max_completion_tokens", least=1)
    if asked is None:
        asked = integer(payload, "max_tokens", least=1)
    max_tokens = default_max if asked is None else asked
    parameters = Parameters(
        sampling=_sampling(payload, max_tokens, chat=chat),
        max_tokens=max_tokens,
        wants_exactly=asked is not None,
        include_usage=_include_usage(payload),
        cache_salt=text(payload, "cache_salt"),
        choices=integer(payload, "n", least=1, most=MAX_CHOICES) or 1,
        priority=integer(payload, "priority", least=-(2**31)) or 0,
        shape=read_output_shape(payload),
        tools=read_tools(payload) if chat else NO_TOOLS,
        return_token_ids=flag(payload, "return_token_ids"),
        echo=not chat and flag(payload, "echo"),
        template_kwargs=mapping(payload, "chat_template_kwargs") if chat else {},
        known_prompt=token_ids(payload, "prompt_token_ids") if chat else (),
    )
    _check_together(parameters)
    return parameters


def _sampling(payload: Mapping[str, Any], max_tokens: int | None, *, chat: bool) -> dict[str, Any]:
    return {
        "temperature": number(payload, "temperature", 0.0, 2.0, default=1.0),
        # OpenAI takes 0 for "only the likeliest token"; the engine wants a share above 0.
        "top_p": max(number(payload, "top_p", 0.0, 1.0, default=1.0), 1e-9),
        "top_k": max(0, integer(payload, "top_k", least=-1) or 0),
        "min_p": number(payload, "min_p", 0.0, 1.0, default=0.0),
        "repetition_penalty": number(payload, "repetition_penalty", 0.01, 100.0, default=1.0),
        "frequency_penalty": number(payload, "frequency_penalty", -2.0, 2.0, default=0.0),
        "presence_penalty": number(payload, "presence_penalty", -2.0, 2.0, default=0.0),
        "logit_bias": biases(payload),
        "min_tokens": integer(payload, "min_tokens", least=0) or 0,
        "seed": integer(payload, "seed", least=-(2**63)),
        "max_tokens": max_tokens,
        "stop": stop_strings(payload),
        "stop_token_ids": token_ids(payload, "stop_token_ids"),
        "ignore_eos": flag(payload, "ignore_eos"),
        "logprobs": _chat_logprobs(payload) if chat else _text_logprobs(payload),
    }


def _chat_logprobs(payload: Mapping[str, Any]) -> int | None:
    wanted = flag(payload, "logprobs")
    top = integer(payload, "top_logprobs", least=0, most=MAX_TOP_LOGPROBS)
    if top and not wanted:
        raise invalid_request(
            "'top_logprobs' is only allowed where 'logprobs' is true.", "top_logprobs", "invalid_value"
        )
    return (top or 0) if wanted else None


def _text_logprobs(payload: Mapping[str, Any]) -> int | None:
    """The older API wants a number; false, which some clients send, means none."""
    if payload.get("logprobs") is False:
        return None
    return integer(payload, "logprobs", least=0, most=MAX_TOP_LOGPROBS)


def _check_together(parameters: Parameters) -> None:
    if parameters.echo and parameters.sampling["logprobs"] is not None:
        raise unsupported(
            "echo", "has no log-probabilities of the prompt, which 'echo' and 'logprobs' ask for"
        )
    shape = parameters.shape
    if shape is not None and shape.kind != "json_schema" and parameters.tools.may_call:
        raise unsupported(shape.path, "takes JSON shapes only where there are tools the model may call")
    limit, least = parameters.max_tokens, parameters.sampling["min_tokens"]
    if limit is not None and least > limit:
        raise wrong("min_tokens", f"at most max_tokens, which is {limit}")


def _check_known(name: str, value: object) -> None:
    if name in _IGNORED:
        if not isinstance(value, _IGNORED[name]):
            raise wrong(name, _EXPECTED[_IGNORED[name]])
        return
    if name not in _NEUTRAL:
        raise ApiError(
            400,
            f"Unknown parameter: {name[:80]!r}.",
            param=name[:80],
            code="unknown_parameter",
        )
    if not any(_same(value, neutral) for neutral in _NEUTRAL[name]):
        raise ApiError(
            400,
            f"The built-in engine has no {name!r} here, which would change the output: leave it out.",
            param=name,
            code="unsupported_parameter",
        )


def _same(value: object, neutral: object) -> bool:
    """Equal, and not merely because Python takes 0 for false."""
    return value == neutral and isinstance(value, bool) == isinstance(neutral, bool)


def _include_usage(payload: Mapping[str, Any]) -> bool:
    options = mapping(payload, "stream_options")
    if payload.get("stream_options") is None:
        return False
    if not payload.get("stream"):
        raise invalid_request(
            "'stream_options' is only allowed where 'stream' is true.", "stream_options", "invalid_value"
        )
    wanted = options.get("include_usage")
    if wanted is not None and not isinstance(wanted, bool):
        raise wrong("stream_options.include_usage", "true or false")
    return bool(wanted)
