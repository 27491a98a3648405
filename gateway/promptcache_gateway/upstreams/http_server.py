"""One foreign HTTP server: its pool of connections, a request to it, its answer read or relayed.

Which API it speaks, which headers it wants and what may be spliced into a body is said by those who
use this (`openai_http`, `anthropic_http`). Retries and a choice between servers are made elsewhere.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import aiohttp
from yarl import URL

from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.base import WholeReply
from promptcache_gateway.upstreams.headers import to_caller
from promptcache_gateway.upstreams.reachability import Reachability
from promptcache_gateway.upstreams.relayed import RelayedStream, streams_events
from promptcache_gateway.upstreams.whole_bodies import MAX_WHOLE_BODY, decompressed, noted, read_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Dialect
    from promptcache_gateway.settings import UpstreamSettings

_LARGE_BODY = 512 * 1024
_MAX_KNOWN_URLS = 64


class HttpServer:
    """A server behind its base URL.

    Attributes:
        name: how messages call it.
        base: the URL that ``/chat/completions`` or ``/messages`` is appended to.
    """

    def __init__(self, settings: UpstreamSettings, name: str, base: str) -> None:
        self.name = name
        self.base = base
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None
        address = URL(settings.url)
        self._reachability = Reachability(address.host or "", address.port or 80)
        self._urls: dict[str, URL] = {}

    async def start(self) -> None:
        """Open the pool of connections; the server itself is first asked by the first call."""
        timeout = aiohttp.ClientTimeout(
            total=None,
            sock_connect=self._settings.connect_timeout_s,
            sock_read=self._settings.read_timeout_s,
        )
        # Plain HTTP means a server nearby, most often one that drops idle connections after five seconds.
        idle_s = 30.0 if self.base.startswith("https:") else 4.0
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=idle_s),
            timeout=timeout,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
        )

    async def close(self) -> None:
        """Close the pool."""
        await self._reachability.close()
        if self._session is not None:
            await self._session.close()

    def health(self) -> Mapping[str, Any]:
        """What the last call met: ``ok`` is null until there was one. The server is not asked."""
        if self._session is None or self._session.closed:
            return {"ok": False, "url": self.base}
        return {**self._reachability.report(), "url": self.base}

    async def request(
        self, method: str, path: str, query: bytes, headers: dict[str, str], body: bytes | None
    ) -> aiohttp.ClientResponse:
        """Send a request and wait for the head of its answer; raises `ApiError` when none comes back."""
        assert self._session is not None, "start() comes first"
        data = io.BytesIO(body) if body is not None and len(body) > _LARGE_BODY else body
        try:
            response = await self._session.request(
                method, self._url(path, query), data=data, headers=headers, allow_redirects=False
            )
        except TimeoutError as error:
            if isinstance(error, aiohttp.ConnectionTimeoutError):  # one slow answer says nothing of others
                self._reachability.failed("upstream_timeout")
            raise self._no_answer(504, "did not answer in time", "upstream_timeout") from error
        except aiohttp.ClientConnectorError as error:
            self._reachability.failed("upstream_unreachable")
            raise self._no_answer(
                502, "cannot be reached", "upstream_unreachable", unanswered=True
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            self._reachability.failed("upstream_disconnected")
            raise self._no_answer(
                502, "closed the connection without an answer", "upstream_disconnected", unanswered=True
            ) from error
        self._reachability.answered()
        return response

    async def reply(
        self, response: aiohttp.ClientResponse, dialect: Dialect, *, withhold_usage: bool = False
    ) -> WholeReply | RelayedStream:
        """The answer: relayed where it is a stream of events, else read to its end. Raises `ApiError`."""
        if streams_events(response):
            return RelayedStream(response, dialect, withhold_usage=withhold_usage)
        return await self.whole(response, dialect)

    async def whole(self, response: aiohttp.ClientResponse, dialect: Dialect) -> WholeReply | RelayedStream:
        """Read the answer to its end, unless it is too large to hold; raises `ApiError`."""
        length = response.content_length
        if length is not None and length > MAX_WHOLE_BODY:
            return RelayedStream(response, dialect, withhold_usage=False)
        try:
            body = await self._read(response)
        except BaseException:
            response.close()  # what is left of it must not be taken for another's answer
            raise
        plain = decompressed(body, response.headers.get("Content-Encoding", ""))
        decoded = plain is not None
        headers = to_caller(response.raw_headers, decoded=decoded)
        return noted(response.status, headers, body if plain is None else plain, readable=decoded)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        try:
            return await read_whole(response)
        except TimeoutError as error:
            raise self._no_answer(504, "stopped in the middle of its answer", "upstream_timeout") from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._no_answer(502, "died in the middle of its answer", "upstream_disconnected") from error

    async def get(self, path: str, query: bytes, headers: dict[str, str]) -> WholeReply:
        """The whole answer to a ``GET``; raises `ApiError`."""
        reply = await self.whole(await self.request("GET", path, query, headers, None), "openai.chat")
        return reply if isinstance(reply, WholeReply) else await drained(reply)

    def _url(self, path: str, query: bytes) -> URL:
        if not query and (known := self._urls.get(path)) is not None:
            return known
        relative = path[3:] if path.startswith("/v1/") else path
        suffix = f"?{query.decode('latin-1')}" if query else ""
        url = URL(f"{self.base}{relative}{suffix}", encoded=True)
        if not query and len(self._urls) < _MAX_KNOWN_URLS:
            self._urls[path] = url
        return url

    def _no_answer(self, status: int, what: str, code: str, *, unanswered: bool = False) -> ApiError:
        message = f"The upstream {self.name} {what}."
        return ApiError(status, message, kind="upstream_error", code=code, unanswered=unanswered)


async def drained(reply: RelayedStream) -> WholeReply:
    """The whole of an answer that is relayed in pieces."""
    body = b"".join([piece async for piece in reply.pieces()])
    return WholeReply(status=reply.status, headers=reply.headers, body=body, usage=reply.usage)
