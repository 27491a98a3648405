"""What the built-in engine does with each parameter of OpenAI's API.

A parameter is supported, or it cannot change the output and is ignored, or it would change the
output and is refused by name: an answer is never quietly another one than was asked for.
Null means absent everywhere, as it does at OpenAI.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import ApiError, invalid_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Call

COMPLETIONS_DEFAULT_MAX_TOKENS = 16
MAX_STOP_STRINGS = 4
MAX_CHOICES = 128

_SUPPORTED = frozenset(
    {
        "model",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
        "top_k",
        "seed",
        "max_tokens",
        "max_completion_tokens",
        "stop",
        "ignore_eos",
        "cache_salt",
        "n",
        "priority",
    }
)
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
    "parallel_tool_calls": bool,
}
_EXPECTED = {str: "a string", dict: "an object", bool: "true or false"}
# Parameters the engine does not have, with the values that mean "as if it were not there".
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "best_of": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "repetition_penalty": (1,),
    "length_penalty": (1,),
    "min_p": (0,),
    "min_tokens": (0,),
    "logit_bias": ({},),
    "tools": ([],),
    "functions": ([],),
    "tool_choice": ("none", "auto"),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "reasoning_effort": ("none",),
    "verbosity": ("medium",),
    "web_search_options": (),
    "echo": (False,),
    "suffix": ("",),
    "chat_template": (),
    "chat_template_kwargs": ({},),
    "add_generation_prompt": (True,),
    "continue_final_message": (False,),
}


@dataclass(frozen=True, slots=True)
class Parameters:
    """A request's parameters as the engine takes them.

    Attributes:
        temperature: 0 to 2.
        top_p: above 0, at most 1.
        top_k: 0 keeps every token.
        seed: makes draws repeatable.
        max_tokens: tokens of answer at most; None: up to the context's end.
        wants_exactly: the caller named ``max_tokens``, so that the context must hold that many.
        stop: strings that end the answer.
        ignore_eos: go on after the model's end token.
        include_usage: a streaming caller wants the usage chunk.
        cache_salt: separates this caller's cached prefixes from others'.
        choices: answers wanted; the prompt is computed once for all.
        priority: lower ones are computed first, as in vLLM.
    """

    temperature: float
    top_p: float
    top_k: int
    seed: int | None
    max_tokens: int | None
    wants_exactly: bool
    stop: tuple[str, ...]
    ignore_eos: bool
    include_usage: bool
    cache_salt: str
    choices: int
    priority: int

    def sampling(self) -> dict[str, Any]:
        """Those that say how tokens are chosen and where the answer ends."""
        return {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "stop": self.stop,
            "ignore_eos": self.ignore_eos,
        }


def namespace(tenant: str, salt: str) -> str:
    """Whose prefixes may be reused: a salt separates within a tenant and never joins two tenants."""
    return f"{tenant}\x1f{salt}" if salt or tenant != "default" else ""


def prompt_field(call: Call) -> str:
    """Where a call's prompt stands in its body."""
    return "prompt" if call.dialect == "openai.completions" else "messages"


def parameters_of(call: Call) -> Parameters:
    """``read_parameters`` of a call, with the limit its API sets."""
    field = prompt_field(call)
    default_max = COMPLETIONS_DEFAULT_MAX_TOKENS if field == "prompt" else None
    return read_parameters(call.payload, prompt_field=field, default_max=default_max)


def read_parameters(payload: Mapping[str, Any], *, prompt_field: str, default_max: int | None) -> Parameters:
    """Read every parameter of a request.

    Args:
        payload: the request's body.
        prompt_field: ``messages`` or ``prompt``, which is not a parameter and is left alone.
        default_max: the API's own limit of the answer where the caller set none.

    Raises:
        ApiError: 400 naming the parameter that is unknown, unsupported or wrong.
    """
    for name, value in payload.items():
        if value is not None and name != prompt_field:
            _check_known(name, value)
    max_tokens = _integer(payload, "max_completion_tokens", least=1)
    if max_tokens is None:
        max_tokens = _integer(payload, "max_tokens", least=1)
    return Parameters(
        temperature=_number(payload, "temperature", 0.0, 2.0, default=1.0),
        top_p=_top_p(payload),
        top_k=max(0, _integer(payload, "top_k", least=-1) or 0),
        seed=_integer(payload, "seed", least=-(2**63)),
        max_tokens=default_max if max_tokens is None else max_tokens,
        wants_exactly=max_tokens is not None,
        stop=_stop(payload.get("stop")),
        ignore_eos=_flag(payload, "ignore_eos"),
        include_usage=_include_usage(payload),
        cache_salt=_text(payload, "cache_salt"),
        choices=_integer(payload, "n", least=1, most=MAX_CHOICES) or 1,
        priority=_integer(payload, "priority", least=-(2**31)) or 0,
    )


def _check_known(name: str, value: object) -> None:
    if name in _IGNORED and not isinstance(value, _IGNORED[name]):
        raise _wrong(name, _EXPECTED[_IGNORED[name]])
    if name in _SUPPORTED or name in _IGNORED:
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
            f"The built-in engine does not support {name!r}, which would change the output. Leave it out.",
            param=name,
            code="unsupported_parameter",
        )


def _same(value: object, neutral: object) -> bool:
    """Equal, and not merely because Python takes 0 for false."""
    return value == neutral and isinstance(value, bool) == isinstance(neutral, bool)


def _integer(payload: Mapping[str, Any], name: str, *, least: int, most: int = 2**63 - 1) -> int | None:
    value = payload.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _wrong(name, f"a whole number from {least} to {most}")
    return value


def _number(payload: Mapping[str, Any], name: str, least: float, most: float, *, default: float) -> float:
    value = payload.get(name)
    if value is None:
        return default
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not least <= value <= most:
        raise _wrong(name, f"a number from {least:g} to {most:g}")
    return float(value)


def _top_p(payload: Mapping[str, Any]) -> float:
    """OpenAI takes 0 for "only the likeliest token"; the engine wants a share above 0."""
    return max(_number(payload, "top_p", 0.0, 1.0, default=1.0), 1e-9)


def _flag(payload: Mapping[str, Any], name: str) -> bool:
    value = payload.get(name)
    if value is not None and not isinstance(value, bool):
        raise _wrong(name, "true or false")
    return bool(value)


def _text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong(name, "a string")
    return value or ""


def _stop(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    strings = [value] if isinstance(value, str) else value
    if not isinstance(strings, list) or not all(isinstance(text, str) and text for text in strings):
        raise _wrong("stop", "a string, or a list of strings, none of them empty")
    if len(strings) > MAX_STOP_STRINGS:
        raise _wrong("stop", f"at most {MAX_STOP_STRINGS} strings")
    return tuple(strings)


def _include_usage(payload: Mapping[str, Any]) -> bool:
    options = payload.get("stream_options")
    if options is None:
        return False
    if not isinstance(options, dict):
        raise _wrong("stream_options", "an object")
    if not payload.get("stream"):
        raise invalid_request(
            "'stream_options' is only allowed where 'stream' is true.", "stream_options", "invalid_value"
        )
    wanted = options.get("include_usage")
    if wanted is not None and not isinstance(wanted, bool):
        raise _wrong("stream_options.include_usage", "true or false")
    return bool(wanted)


def _wrong(path: str, expected: str) -> ApiError:
    return invalid_request(f"Invalid value for '{path}': expected {expected}.", path, "invalid_value")
