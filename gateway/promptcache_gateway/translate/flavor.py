"""What an OpenAI-shaped server takes beyond the common core, as far as a translation must know it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

_STRICT_HOSTS = ("openai.com", "azure.com")  # refuse fields they do not know


@dataclass(frozen=True, slots=True)
class Flavor:
    """One server's taste.

    Attributes:
        keeps_marks: takes ``cache_control`` on content parts and tools (OpenRouter, LiteLLM, Qwen…), or
            passes over it (vLLM, SGLang, llama.cpp).
        limit: the field that limits an answer's tokens.
        takes_top_k: knows ``top_k``.
        takes_thoughts: takes back what a model thought, as ``reasoning_content`` of its message.
        shows_tools_media: takes images and files in a tool's message; else they go behind it, as the user's.
    """

    keeps_marks: bool = True
    limit: str = "max_tokens"
    takes_top_k: bool = True
    takes_thoughts: bool = True
    shows_tools_media: bool = False


LENIENT = Flavor()
STRICT = Flavor(keeps_marks=False, limit="max_completion_tokens", takes_top_k=False, takes_thoughts=False)
ENGINE = Flavor(keeps_marks=False, takes_thoughts=False)
BY_BLOCKS = Flavor(shows_tools_media=True)  # chat is the step between: Anthropic's results hold images


def flavor_of(kind: str, url: str) -> Flavor:
    """The taste of an upstream, by its kind and base URL."""
    if kind == "engine":
        return ENGINE
    if kind == "anthropic":
        return BY_BLOCKS
    host = urlsplit(url).hostname or ""
    strict = any(host == name or host.endswith(f".{name}") for name in _STRICT_HOSTS)
    return STRICT if strict else LENIENT
