"""A usage record in each API's convention: Anthropic counts cached tokens beside the input, OpenAI in it.

What was not reported is null or absent, an explicit zero is a zero. Anthropic's clients alone need numbers
of input and output: there it is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptcache.usage import Usage
    from promptcache_gateway.exchange import EngineFacts


_DETAILS = ("completion_tokens_details", "output_tokens_details")
_THOUGHT = ("reasoning_tokens", "thinking_tokens")


def thought_tokens(usage: Usage) -> int | None:
    """The tokens of the output that were thought, as any API tells them; None where nobody told."""
    places = [usage.raw.get(name) for name in _DETAILS] + [usage.raw]
    told = [place.get(name) for place in places if isinstance(place, Mapping) for name in _THOUGHT]
    return next((count for count in told if type(count) is int and count >= 0), None)


def anthropic_usage(usage: Usage) -> dict[str, Any]:
    """Anthropic's ``usage``; ``input_tokens`` leaves out what was read and written where that is known.

    Its ``usage`` is never null, nor are these two numbers: what was not reported of them is 0.
    """
    fresh = usage.uncached if usage.uncached is not None else usage.total_input
    said: dict[str, Any] = {
        "input_tokens": fresh or 0,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output or 0,
    }
    thought = thought_tokens(usage)
    return said if thought is None else {**said, "output_tokens_details": {"thinking_tokens": thought}}


def engine_usage(facts: EngineFacts | None) -> dict[str, Any]:
    """Anthropic's ``usage`` before the first token: exact where the engine answers, else not known yet."""
    if facts is None:
        return {"input_tokens": 0, "output_tokens": 0}
    return {
        "input_tokens": facts.prompt_tokens - facts.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": facts.cached_tokens,
        "output_tokens": 0,
    }


def openai_usage(usage: Usage) -> dict[str, Any] | None:
    """OpenAI's ``usage`` of a chat completion; ``prompt_tokens`` holds what was read and written.

    None where input or output was not reported: its numbers are never null, and 0 would be one.
    """
    total, output = usage.total_input, usage.output
    if total is None or output is None:
        return None
    said: dict[str, Any] = {
        "prompt_tokens": total,
        "completion_tokens": output,
        "total_tokens": total + output,
    }
    if usage.cache_read is not None:
        said["prompt_tokens_details"] = {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write or 0,
        }
    if (thought := thought_tokens(usage)) is not None:
        said["completion_tokens_details"] = {"reasoning_tokens": thought}
    return said


def responses_usage(usage: Usage) -> dict[str, Any] | None:
    """OpenAI's ``usage`` of a response; ``input_tokens`` holds what was read and written.

    None where input or output was not reported, as of `openai_usage`.
    """
    total, output = usage.total_input, usage.output
    if total is None or output is None:
        return None
    said: dict[str, Any] = {
        "input_tokens": total,
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": thought_tokens(usage) or 0},
        "total_tokens": total + output,
    }
    if usage.cache_read is not None:
        said["input_tokens_details"] = {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write or 0,
        }
    return said
