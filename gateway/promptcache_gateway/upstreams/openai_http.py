"""Any server that speaks OpenAI's HTTP API: the caller's bytes go there unchanged, its bytes come back.

The single exception on the way out is ``stream_options.include_usage``, spliced in where a
streaming caller of chat or text completions said nothing about it; the usage chunk that answers it is
withheld again. Retries and a choice between several servers are not made here.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from promptcache_gateway.errors import cannot_count
from promptcache_gateway.known_headers import once
from promptcache_gateway.upstreams.headers import to_upstream
from promptcache_gateway.upstreams.http_server import HttpServer
from promptcache_gateway.upstreams.splice import add_include_usage, set_cache_salt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Call, Dialect, EngineFacts
    from promptcache_gateway.settings import UpstreamSettings
    from promptcache_gateway.upstreams.base import Inbound, RawHeaders, StreamReply, WholeReply

_ASKS_FOR_USAGE = frozenset({"openai.chat", "openai.completions"})


class OpenAIUpstream:
    """One OpenAI-compatible server behind its base URL."""

    kind = "openai"
    granularity: int | None = None

    def __init__(self, settings: UpstreamSettings) -> None:
        self._settings = settings
        self.name = settings.name or urlsplit(settings.url).netloc
        self.dialects: frozenset[Dialect] = settings.dialects
        self._server = HttpServer(settings, self.name, api_base(settings.url))

    async def start(self) -> None:
        """Open the pool of connections; the server itself is first asked by the first call."""
        await self._server.start()

    async def close(self) -> None:
        """Close the pool."""
        await self._server.close()

    async def send(self, call: Call, inbound: Inbound) -> WholeReply | StreamReply:
        """Forward the call; raises `ApiError` when no answer comes back."""
        body, asked = call.body, False
        if call.stream and self._settings.include_usage and call.dialect in _ASKS_FOR_USAGE:
            spliced = add_include_usage(call.body, call.payload)
            body, asked = (call.body, False) if spliced is None else (spliced, True)
        if self._settings.tenant_salt and call.dialect != "openai.embeddings":
            body = set_cache_salt(body, call.payload, tenant_salt(call.tenant))
        response = await self._server.exchange(self._opening(call.path, inbound), body)
        return await self._server.reply(response, call, inbound.answers, withhold_usage=asked)

    def _opening(self, path: str, inbound: Inbound) -> bytes:
        def opening(headers: RawHeaders) -> bytes:
            sent = to_upstream(headers, self._settings.api_key)
            return self._server.opening("POST", path, inbound.query, sent)

        return opening(inbound.headers) if inbound.query else once(inbound.headers, (self, path), opening)

    async def models(self, inbound: Inbound, model: str | None) -> WholeReply:
        """The server's own list of models, or its own answer about one."""
        headers = to_upstream(inbound.headers, self._settings.api_key)
        return await self._server.models(inbound, headers, model)

    async def count_prompt(self, call: Call, inbound: Inbound) -> WholeReply:  # noqa: ARG002
        """Never answers: OpenAI's API has no such call."""
        raise cannot_count(self.name)

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


def tenant_salt(tenant: str) -> str:
    """A tenant's ``cache_salt``: the same for all its requests, another for each tenant."""
    return hashlib.sha256(f"promptcache tenant {tenant}".encode()).hexdigest()[:32]


def api_base(url: str) -> str:
    """The URL that ``/chat/completions`` or ``/messages`` is appended to.

    A bare host gets ``/v1``; a path is taken as it is, as clients do with ``base_url``.
    """
    url = url.rstrip("/")
    return url if urlsplit(url).path else f"{url}/v1"
