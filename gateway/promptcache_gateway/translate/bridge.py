"""Send a call to an upstream that does not speak its dialect, and bring the answer back in the caller's.

Where both speak the same, nothing is translated and this is not called: bytes go through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.errors import ApiError

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.upstreams.base import Inbound, StreamReply, Upstream, WholeReply

_NAMES = {
    "openai.chat": "OpenAI's chat completions",
    "openai.completions": "OpenAI's completions",
    "openai.responses": "OpenAI's responses",
    "openai.embeddings": "embeddings",
    "anthropic.messages": "Anthropic's messages",
}


async def send_across(upstream: Upstream, call: Call, inbound: Inbound) -> WholeReply | StreamReply:  # noqa: ARG001
    """Complete a call at an upstream of another dialect; raises `ApiError` where that cannot be done."""
    raise unsupported(upstream, call)


def unsupported(upstream: Upstream, call: Call) -> ApiError:
    """400: nothing leads from the caller's API to what the upstream speaks."""
    return ApiError(
        400,
        f"The upstream {upstream.name} does not serve {_NAMES[call.dialect]}.",
        code="unsupported_api",
    )
