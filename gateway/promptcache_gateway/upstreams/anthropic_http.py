"""Any server that speaks Anthropic's Messages API: the caller's bytes go there, its bytes come back.

Nothing at all is spliced into a request. The caller's ``anthropic-version`` and ``anthropic-beta`` pass
through; a caller of another API, who has none, gets the version this gateway was written against.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from promptcache_gateway.known_headers import once
from promptcache_gateway.upstreams.headers import to_anthropic
from promptcache_gateway.upstreams.http_server import HttpServer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Call, Dialect, EngineFacts
    from promptcache_gateway.settings import UpstreamSettings
    from promptcache_gateway.upstreams.base import Inbound, RawHeaders, StreamReply, WholeReply


class AnthropicUpstream:
    """One server of Anthropic's shape behind its base URL (with or without ``/v1``)."""

    kind = "anthropic"
    granularity: int | None = None

    def __init__(self, settings: UpstreamSettings) -> None:
        self._settings = settings
        self.name = settings.name or urlsplit(settings.url).netloc
        self.dialects: frozenset[Dialect] = settings.dialects
        self._server = HttpServer(settings, self.name, messages_base(settings.url))

    async def start(self) -> None:
        """Open the pool of connections; the server itself is first asked by the first call."""
        await self._server.start()

    async def close(self) -> None:
        """Close the pool."""
        await self._server.close()

    async def send(self, call: Call, inbound: Inbound) -> WholeReply | StreamReply:
        """Forward the call; raises `ApiError` when no answer comes back."""
        response = await self._server.exchange(self._opening(call.path, inbound), call.body)
        return await self._server.reply(response, call, inbound.answers)

    async def count_prompt(self, call: Call, inbound: Inbound) -> WholeReply:
        """The server's own count of a prompt's tokens (``/v1/messages/count_tokens``); raises `ApiError`."""
        return await self._server.ask("POST", call.path, inbound, self._headers(inbound), call.body)

    async def models(self, inbound: Inbound, model: str | None) -> WholeReply:
        """The server's own list of models, or its own answer about one."""
        return await self._server.models(inbound, self._headers(inbound), model)

    def count_tokens(self, text: str) -> int | None:  # noqa: ARG002 - the server's tokenizer is not known here
        """Always None: the server's tokenizer is not known here."""
        return None

    async def reset_cache(self) -> bool | None:
        """Always None: the server's cache is its own."""
        return None

    async def warm(self, call: Call) -> EngineFacts | None:  # noqa: ARG002 - would be billed to the caller
        """Always None: a request sent there would be an ordinary, billed one."""
        return None

    def health(self) -> Mapping[str, Any]:
        """What the last call met: ``ok`` is null until there was one. The server is not asked."""
        return self._server.health()

    def _opening(self, path: str, inbound: Inbound) -> bytes:
        def opening(headers: RawHeaders) -> bytes:
            sent = to_anthropic(headers, self._settings.api_key)
            return self._server.opening("POST", path, inbound.query, sent)

        return opening(inbound.headers) if inbound.query else once(inbound.headers, (self, path), opening)

    def _headers(self, inbound: Inbound) -> dict[str, str]:
        return to_anthropic(inbound.headers, self._settings.api_key)


def messages_base(url: str) -> str:
    """The URL that ``/messages`` is appended to.

    Anthropic's clients append ``/v1/messages`` to their base URL, so ``/v1`` is added where it is missing.
    """
    url = url.rstrip("/")
    return url if urlsplit(url).path.endswith("/v1") else f"{url}/v1"
