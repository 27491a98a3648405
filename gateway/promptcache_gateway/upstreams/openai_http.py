"""Any server that speaks OpenAI's HTTP API: the caller's bytes go there unchanged, its bytes come back.

The single exception on the way out is ``stream_options.include_usage``, spliced in where a
streaming caller said nothing about it; the usage chunk that answers it is withheld again.
Retries and a choice between several servers are not made here.
"""

from __future__ import annotations

import asyncio
import io
import zlib
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
import orjson
from yarl import URL

from promptcache.usage import Usage
from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.base import Inbound, RawHeaders, StreamReply, WholeReply
from promptcache_gateway.upstreams.headers import to_caller, to_upstream
from promptcache_gateway.upstreams.reachability import Reachability
from promptcache_gateway.upstreams.relayed import RelayedStream, streams_events
from promptcache_gateway.upstreams.splice import add_include_usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Call, EngineFacts
    from promptcache_gateway.settings import UpstreamSettings

_MAX_WHOLE_BODY = 32 * 1024 * 1024
_LARGE_BODY = 512 * 1024
_COMPLETION_PATHS = ("/v1/chat/completions", "/v1/completions", "/chat/completions", "/completions")


class OpenAIUpstream:
    """One OpenAI-compatible server behind its base URL."""

    kind = "openai"
    granularity: int | None = None

    def __init__(self, settings: UpstreamSettings) -> None:
        self._settings = settings
        self.name = urlsplit(settings.url).netloc
        self._base = api_base(settings.url)
        self._session: aiohttp.ClientSession | None = None
        address = URL(settings.url)
        self._reachability = Reachability(address.host or "", address.port or 80)
        self._urls: dict[str, URL] = {}
        self._urls = {path: self._url(path, b"") for path in _COMPLETION_PATHS}

    async def start(self) -> None:
        """Open the pool of connections; the server itself is first asked by the first call."""
        timeout = aiohttp.ClientTimeout(
            total=None,
            sock_connect=self._settings.connect_timeout_s,
            sock_read=self._settings.read_timeout_s,
        )
        # Plain HTTP means a server nearby, most often one that drops idle connections after five seconds.
        idle_s = 30.0 if self._base.startswith("https:") else 4.0
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

    async def send(self, call: Call, inbound: Inbound) -> WholeReply | StreamReply:
        """Forward the call; raises `ApiError` when no answer comes back."""
        body, asked = call.body, False
        if call.stream and self._settings.include_usage:
            spliced = add_include_usage(call.body, call.payload)
            body, asked = (call.body, False) if spliced is None else (spliced, True)
        response = await self._request("POST", call.path, inbound, body)
        if streams_events(response):
            return RelayedStream(response, withhold_usage=asked)
        return await self._whole(response)

    async def models(self, inbound: Inbound, model: str | None) -> WholeReply:
        """The server's own list of models, or its own answer about one."""
        path = "/v1/models" if model is None else f"/v1/models/{model}"
        reply = await self._whole(await self._request("GET", path, inbound, None))
        return reply if isinstance(reply, WholeReply) else await _drained(reply)

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
        if self._session is None or self._session.closed:
            return {"ok": False, "url": self._base}
        return {**self._reachability.report(), "url": self._base}

    async def _request(
        self, method: str, path: str, inbound: Inbound, body: bytes | None
    ) -> aiohttp.ClientResponse:
        assert self._session is not None, "start() comes first"
        data = io.BytesIO(body) if body is not None and len(body) > _LARGE_BODY else body
        try:
            response = await self._session.request(
                method,
                self._url(path, inbound.query),
                data=data,
                headers=to_upstream(inbound.headers, self._settings.api_key),
                allow_redirects=False,
            )
        except TimeoutError as error:
            if isinstance(error, aiohttp.ConnectionTimeoutError):  # one slow answer says nothing of others
                self._reachability.failed("upstream_timeout")
            raise self._no_answer(504, "did not answer in time", "upstream_timeout") from error
        except aiohttp.ClientConnectorError as error:
            self._reachability.failed("upstream_unreachable")
            raise self._no_answer(502, "cannot be reached", "upstream_unreachable") from error
        except (aiohttp.ClientError, OSError) as error:
            self._reachability.failed("upstream_disconnected")
            raise self._no_answer(
                502, "closed the connection without an answer", "upstream_disconnected"
            ) from error
        self._reachability.answered()
        return response

    def _url(self, path: str, query: bytes) -> URL:
        if not query and (known := self._urls.get(path)) is not None:
            return known
        relative = path[3:] if path.startswith("/v1/") else path
        suffix = f"?{query.decode('latin-1')}" if query else ""
        return URL(f"{self._base}{relative}{suffix}", encoded=True)

    def _no_answer(self, status: int, what: str, code: str) -> ApiError:
        return ApiError(status, f"The upstream {self.name} {what}.", kind="upstream_error", code=code)

    async def _whole(self, response: aiohttp.ClientResponse) -> WholeReply | RelayedStream:
        """Read the answer to its end, unless it is too large to hold."""
        length = response.content_length
        if length is not None and length > _MAX_WHOLE_BODY:
            return RelayedStream(response, withhold_usage=False)
        try:
            body = await _read(response)
        except TimeoutError as error:
            raise self._no_answer(504, "stopped in the middle of its answer", "upstream_timeout") from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._no_answer(502, "died in the middle of its answer", "upstream_disconnected") from error
        except asyncio.CancelledError:
            response.close()
            raise
        plain = _decompressed(body, response.headers.get("Content-Encoding", ""))
        decoded = plain is not None
        headers = to_caller(response.raw_headers, decoded=decoded)
        return _noted(response.status, headers, body if plain is None else plain, readable=decoded)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The whole body; raises `ApiError` where a server of unknown length does not stop."""
    if response.content_length is not None:
        return await response.read()
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _MAX_WHOLE_BODY:
            response.close()
            raise ApiError(
                502,
                f"The upstream's answer is larger than {_MAX_WHOLE_BODY:,} bytes.",
                kind="upstream_error",
                code="upstream_answer_too_large",
            )
    return b"".join(parts)


def api_base(url: str) -> str:
    """The URL that ``/chat/completions`` is appended to.

    A bare host gets ``/v1``; a path is taken as it is, as clients do with ``base_url``.
    """
    url = url.rstrip("/")
    return url if urlsplit(url).path else f"{url}/v1"


def _noted(status: int, headers: RawHeaders, body: bytes, *, readable: bool) -> WholeReply:
    """A reply with what its JSON says of usage, id and error."""
    usage, error, response_id = Usage.unreported(), None, None
    payload = _json_object(body) if readable else None
    if payload is not None:
        if isinstance(payload.get("usage"), dict):
            usage = Usage.from_response(payload)
        if isinstance(payload.get("id"), str):
            response_id = payload["id"]
    if status >= 400:
        error = _error_code(payload) or f"upstream_{status}"
    return WholeReply(
        status=status, headers=headers, body=body, usage=usage, error=error, response_id=response_id
    )


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return payload if isinstance(payload, dict) else None


def _error_code(payload: dict[str, Any] | None) -> str | None:
    error = payload.get("error") if payload is not None else None
    if not isinstance(error, dict):
        return None
    code = error.get("code") or error.get("type")
    return str(code)[:64] if code else None


def _decompressed(body: bytes, encoding: str) -> bytes | None:
    """The body without its compression, or None where it is one we do not read.

    Servers are asked for none; some compress all the same.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return body
    if name not in {"gzip", "x-gzip", "deflate"}:
        return None
    try:
        return zlib.decompressobj(wbits=47).decompress(body, _MAX_WHOLE_BODY)
    except zlib.error:
        return None


async def _drained(reply: RelayedStream) -> WholeReply:
    body = b"".join([piece async for piece in reply.pieces()])
    return WholeReply(status=reply.status, headers=reply.headers, body=body, usage=reply.usage)
