"""What an OpenAI-shaped server takes beyond the common core, as far as a translation must know it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from promptcache.providers import find_model

_STRICT_HOSTS = ("openai.com", "azure.com")  # refuse fields they do not know


@dataclass(frozen=True, slots=True)
class Flavor:
    """One server's taste.

    Attributes:
        keeps_marks: takes ``cache_control`` on content parts and tools (OpenRouter, LiteLLM, Qwen…), or
            passes over it (vLLM, SGLang, llama.cpp).
        breaks: takes ``prompt_cache_breakpoint`` in its place, beside a breakpoint of its own.
        limit: the field that limits an answer's tokens.
        takes_top_k: knows ``top_k``.
        takes_effort: knows ``reasoning_effort``.
        takes_verbosity: knows ``verbosity``.
        takes_thoughts: takes back what a model thought, as ``reasoning_content`` of its message.
        takes_seals: takes it back signed, in blocks, as Anthropic's models gave it.
        marks_whole: takes ``cache_control`` beside the messages too: the latest of them is marked.
        goes_on: what it does with a last message that is the assistant's: goes on with it where it is
            ``told`` to as vLLM and SGLang are, or by ``itself``; ``never`` takes it for an answer of its own.
        shows_tools_media: takes images and files in a tool's message; else they go behind it, as the user's.
    """

    keeps_marks: bool = True
    breaks: bool = False
    limit: str = "max_tokens"
    takes_top_k: bool = True
    takes_effort: bool = True
    takes_verbosity: bool = True
    takes_thoughts: bool = True
    takes_seals: bool = False
    marks_whole: bool = True
    goes_on: Literal["told", "itself", "never"] = "told"
    shows_tools_media: bool = False


LENIENT = Flavor()
STRICT = Flavor(
    keeps_marks=False,
    limit="max_completion_tokens",
    takes_top_k=False,
    takes_thoughts=False,
    marks_whole=False,
    goes_on="never",
)
ENGINE = Flavor(
    keeps_marks=False,
    takes_effort=False,
    takes_verbosity=False,
    takes_thoughts=False,
    marks_whole=False,
    goes_on="never",
)
LITELLM = Flavor(marks_whole=False, goes_on="itself")
# For Anthropic's own API, to which chat is the step between.
BY_BLOCKS = Flavor(takes_verbosity=False, takes_thoughts=False, takes_seals=True, shows_tools_media=True)


def flavor_of(kind: str, url: str, model: str) -> Flavor:
    """The taste of an upstream for a model, by the upstream's kind and base URL."""
    if kind == "engine":
        return ENGINE
    if kind == "anthropic":
        return BY_BLOCKS
    if kind == "litellm":
        return LITELLM
    host = urlsplit(url).hostname or ""
    if not any(host == name or host.endswith(f".{name}") for name in _STRICT_HOSTS):
        return LENIENT
    facts = find_model(model)
    return replace(STRICT, breaks=facts is not None and facts.control == "both")
