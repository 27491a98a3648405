"""The shapes in which providers report usage, read into plain counts.

Knows the names of OpenAI (chat, completions, responses), Anthropic, Gemini, Bedrock, DeepSeek, OpenRouter,
Qwen, vLLM, SGLang, llama.cpp, Groq and Together. What the counts mean together is `promptcache.usage`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from promptcache.quick_values import quick

__all__ = ["Counts", "merge", "plain", "read_counts", "usage_of"]

_USAGE_KEYS = ("usage", "usageMetadata", "usage_metadata", "meta_info")
_CARRIERS = ("response", "message", "metadata", "x_groq")  # events of OpenAI, Anthropic, Bedrock, Groq
_OTHER_MODELS = ("advisor_message",)  # iterations billed at another model's price
_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_LARGEST_EXACT = 2**53
_ADMIN = frozenset({"input_uncached_tokens", "input_cache_write_30m_tokens", "input_cache_write_12h_tokens"})
_BEDROCK = frozenset({"inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"})
_TELLING = frozenset(
    {
        *("prompt_tokens", "input_tokens", "inputTokens", "promptTokenCount", "prompt_token_count"),
        *("cache_read_input_tokens", "cacheReadInputTokens", "prompt_cache_hit_tokens"),
        "input_uncached_tokens",
    }
)
"""A mapping with one of these is a usage object itself."""
_ANTHROPIC = frozenset({"cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"})
_TTL_NAMES = {
    "input_cache_write_30m_tokens": "30m",
    "input_cache_write_12h_tokens": "12h",
    "ephemeral_5m_input_tokens": "5m",
    "ephemeral_1h_input_tokens": "1h",
    "ttl_30m_tokens": "30m",
    "ttl_12h_tokens": "12h",
}


@quick
@dataclass(frozen=True, slots=True)
class Counts:
    """What a provider counted; None where it said nothing.

    ``disjoint`` is true when the names show that ``prompt`` leaves reads and writes out.
    """

    prompt: int | None = None
    read: int | None = None
    write: int | None = None
    output: int | None = None
    total: int | None = None
    disjoint: bool = False
    writes: Mapping[str, int] = field(default_factory=dict)


def plain(value: object) -> Mapping[str, Any]:
    """Return a response, event or SSE line as a mapping; an empty one when it is nothing of the kind."""
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - the first is far cheaper
        return value
    if isinstance(value, bytes | bytearray):
        value = bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        return _from_line(value)
    for method in ("model_dump", "to_dict"):
        dump = getattr(value, method, None)
        if callable(dump):
            dumped = _dumped(dump)
            return dumped if isinstance(dumped, Mapping) else {}
    return {key: _nested(item) for key, item in vars(value).items()} if hasattr(value, "__dict__") else {}


def _dumped(dump: Callable[..., object]) -> object:
    """Dump without pydantic's warnings: a parsed answer is not of the response's own type."""
    try:
        return dump(warnings=False)
    except (TypeError, ValueError):  # another library's method
        return dump()


def usage_of(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usage object inside a response or event, or the mapping itself when it is one."""
    for key in _USAGE_KEYS:
        if (found := _mapping(response.get(key))) is not None:
            return _with_timings(found, response)
    for key in _CARRIERS:
        if (carrier := _mapping(response.get(key))) is not None and (found := usage_of(carrier)):
            return found
    if _looks_like_usage(response):
        return dict(response)
    return _with_timings({}, response)


def merge(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Lay ``later`` over ``earlier``: each figure that is not null replaces the one before it."""
    merged = dict(earlier)
    for key, value in later.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = merge(merged[key], value)
        elif value is not None or key not in merged:
            merged[key] = value
    return merged


def read_counts(raw: Mapping[str, Any]) -> Counts:
    """Read any known shape; figures that are no whole numbers are passed over."""
    if _is_bedrock(raw):
        return _bedrock(raw)
    if "promptTokenCount" in raw or "prompt_token_count" in raw:
        return _gemini(raw)
    if isinstance(iterations := raw.get("iterations"), list) and iterations:
        return _iterations(raw, iterations)
    if _int(raw, "prompt_cache_hit_tokens", "prompt_cache_miss_tokens") is not None:
        return _deepseek(raw)
    if not _ADMIN.isdisjoint(raw):
        return _openai_admin(raw)
    if "cache_n" in raw or "prompt_n" in raw:
        return Counts(_int(raw, "prompt_n"), _int(raw, "cache_n"), 0, _int(raw, "predicted_n"), disjoint=True)
    if _is_anthropic(raw):
        return _anthropic(raw)
    return _openai(raw)


# --- one function a shape ---------------------------------------------------------------------------------


def _openai(raw: Mapping[str, Any]) -> Counts:
    details = _mapping(raw.get(_DETAILS[0])) or _mapping(raw.get(_DETAILS[1])) or {}
    timings = _mapping(raw.get("timings"))
    return Counts(
        prompt=_int(raw, "prompt_tokens", "input_tokens"),
        read=_first(
            _int(details, "cached_tokens"),
            _int(raw, "cached_tokens", "cache_read_input_tokens", "input_cached_tokens"),
            _int(timings, "cache_n") if timings is not None else None,
        ),
        write=_first(
            _int(details, "cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens"),
            _int(raw, "cache_write_tokens", "cache_creation_input_tokens"),
        ),
        output=_int(raw, "completion_tokens", "output_tokens"),
        total=_int(raw, "total_tokens"),
        writes=_writes(details.get("cache_write_tokens_details")),
    )


def _openai_admin(raw: Mapping[str, Any]) -> Counts:
    """A bucket of OpenAI's usage API; ``input_tokens`` holds reads and writes, where it is there."""
    writes = _writes(raw)
    write = _first(_int(raw, "input_cache_write_tokens"), sum(writes.values()) if writes else None)
    prompt, read = _int(raw, "input_tokens"), _int(raw, "input_cached_tokens")
    uncached, output = _int(raw, "input_uncached_tokens"), _int(raw, "output_tokens")
    if uncached is not None and read is not None:
        return Counts(uncached, read, write, output, disjoint=True, writes=writes)
    return Counts(prompt, read, write, output, writes=writes)


def _anthropic(raw: Mapping[str, Any]) -> Counts:
    writes = _writes(raw.get("cache_creation"))
    split = sum(writes.values()) if writes else None
    return Counts(
        prompt=_int(raw, "input_tokens"),
        read=_int(raw, "cache_read_input_tokens"),
        write=_first(_int(raw, "cache_creation_input_tokens"), split),
        output=_int(raw, "output_tokens"),
        disjoint=True,
        writes=writes,
    )


def _iterations(raw: Mapping[str, Any], iterations: Iterable[object]) -> Counts:
    """Add up a server-side loop: the top level leaves the compaction's own tokens out."""
    parts = [
        _anthropic(part)
        for part in iterations
        if isinstance(part, Mapping) and part.get("type") not in _OTHER_MODELS
    ]
    if not parts:
        return _anthropic({key: value for key, value in raw.items() if key != "iterations"})
    writes: dict[str, int] = {}
    for part in parts:
        for ttl, tokens in part.writes.items():
            writes[ttl] = writes.get(ttl, 0) + tokens
    return Counts(
        prompt=_sum(part.prompt for part in parts),
        read=_sum(part.read for part in parts),
        write=_sum(part.write for part in parts),
        output=_sum(part.output for part in parts),
        disjoint=True,
        writes=writes,
    )


def _gemini(raw: Mapping[str, Any]) -> Counts:
    prompt = _sum(
        [
            _int(raw, "promptTokenCount", "prompt_token_count"),
            _int(raw, "toolUsePromptTokenCount", "tool_use_prompt_token_count"),
        ]
    )
    output = _sum(
        [
            _int(raw, "candidatesTokenCount", "candidates_token_count"),
            _int(raw, "thoughtsTokenCount", "thoughts_token_count"),
        ]
    )
    read = _int(raw, "cachedContentTokenCount", "cached_content_token_count")
    return Counts(prompt, read, None, output, _int(raw, "totalTokenCount", "total_token_count"))


def _bedrock(raw: Mapping[str, Any]) -> Counts:
    details = raw.get("cacheDetails")
    writes: dict[str, int] = {}
    for part in details if isinstance(details, list) else ():
        if isinstance(part, Mapping) and isinstance(part.get("ttl"), str):
            writes[part["ttl"]] = writes.get(part["ttl"], 0) + (_int(part, "inputTokens") or 0)
    return Counts(
        prompt=_int(raw, "inputTokens"),
        read=_int(raw, "cacheReadInputTokens", "cacheReadInputTokenCount"),
        write=_int(raw, "cacheWriteInputTokens", "cacheWriteInputTokenCount"),
        output=_int(raw, "outputTokens"),
        disjoint=True,
        writes=writes,
    )


def _deepseek(raw: Mapping[str, Any]) -> Counts:
    miss, prompt = _int(raw, "prompt_cache_miss_tokens"), _int(raw, "prompt_tokens")
    details = raw.get("prompt_tokens_details")
    cached = _int(details, "cached_tokens") if isinstance(details, Mapping) else None
    hit = _first(_int(raw, "prompt_cache_hit_tokens"), cached)
    output, total = _int(raw, "completion_tokens"), _int(raw, "total_tokens")
    if prompt is None or hit is None:
        return Counts(miss if prompt is None else prompt, hit, None, output, total, disjoint=prompt is None)
    return Counts(prompt, hit, None, output, total)


# --- helpers ------------------------------------------------------------------------------------------------


def _is_anthropic(raw: Mapping[str, Any]) -> bool:
    return (
        not _ANTHROPIC.isdisjoint(raw)
        and "prompt_tokens" not in raw
        and not (raw.get(_DETAILS[0]) or raw.get(_DETAILS[1]))
    )


def _is_bedrock(raw: Mapping[str, Any]) -> bool:
    return not _BEDROCK.isdisjoint(raw)


def _looks_like_usage(raw: Mapping[str, Any]) -> bool:
    return not _TELLING.isdisjoint(raw)


def _with_timings(usage: Mapping[str, Any], response: Mapping[str, Any]) -> dict[str, Any]:
    """llama.cpp puts what it reused beside the usage object."""
    timings = _mapping(response.get("timings"))
    if timings is None or "cache_n" not in timings:
        return dict(usage)
    return {**usage, "timings": dict(timings)} if usage else dict(timings)


def _from_line(line: str) -> Mapping[str, Any]:
    text = line.strip().removeprefix("data:").strip()
    if not text.startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}


def _nested(item: object) -> object:
    return dict(plain(item)) if hasattr(item, "__dict__") else item


def _writes(split: object) -> dict[str, int]:
    split = _mapping(split)
    if not split:
        return {}
    return {ttl: tokens for key, ttl in _TTL_NAMES.items() if (tokens := _int(split, key)) is not None}


def _int(raw: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = raw.get(key)
        if value is None:
            continue
        if (type(value) is int or (isinstance(value, int) and not isinstance(value, bool))) and value >= 0:
            return value
        if type(value) is float and 0 <= value <= _LARGEST_EXACT and value.is_integer():
            return int(value)  # tables write whole numbers so, where some of a column are missing
    return None


def _first(*values: int | None) -> int | None:
    for value in values:
        if value is not None:
            return value
    return None


def _mapping(value: object) -> Mapping[str, Any] | None:
    """The value where it is a mapping; dicts, which it nearly always is, are known at a glance."""
    return value if isinstance(value, dict) or (value is not None and isinstance(value, Mapping)) else None


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
