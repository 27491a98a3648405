"""A worker's control plane: its own health, and for all else the parent, which alone knows every record.

Who may ask has been judged before. Bytes go through as they are, endless answers included.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import aiohttp
from yarl import URL

from promptcache_gateway.errors import ApiError
from promptcache_gateway.health import PATHS, Health
from promptcache_gateway.plane.responses import JSON_TYPE, send_error, send_whole

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_HOP = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"te", b"trailer"})
_MAX_BODY = 33 * 1024 * 1024


class ControlProxy:
    """Everything that is not a provider's API, behind ASGI's three arguments.

    Args:
        path: the parent's socket.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._health = Health(())
        self._session: aiohttp.ClientSession | None = None

    def serving(self, _observer: object, health: Health, _sources: object) -> ControlProxy:
        """The same, with the health it tells."""
        self._health = health
        return self

    async def close(self) -> None:
        """Close the connections to the parent."""
        if self._session is not None:
            await self._session.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["path"] in PATHS and scope["method"] == "GET":
            status, told = self._health.answer(scope["path"], names=True)
            await send_whole(send, status, [JSON_TYPE], told)
            return
        body = await _body(receive)
        if body is None:
            await send_error(send, ApiError(413, "The request body is too large.", code="request_too_large"))
            return
        relaying = asyncio.ensure_future(self._relay(scope, body, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((relaying, leaving), return_when=asyncio.FIRST_COMPLETED)
            if relaying.done():
                relaying.result()
        finally:
            for task in (relaying, leaving):
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await relaying

    async def _relay(self, scope: Scope, body: bytes, send: Send) -> None:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.UnixConnector(path=self._path, limit=0),
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            )
        started = False
        try:
            async with self._session.request(
                scope["method"], _url(scope), headers=_headers(scope), data=body, allow_redirects=False
            ) as response:
                kept = [
                    (name.lower(), value) for name, value in response.raw_headers if name.lower() not in _HOP
                ]
                await send({"type": "http.response.start", "status": response.status, "headers": kept})
                started = True
                async for piece in response.content.iter_any():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        except (aiohttp.ClientError, OSError):
            if not started:
                await send_error(send, _alone())


async def _body(receive: Receive) -> bytes | None:
    """The request's body, None where it is too long."""
    pieces, more = bytearray(), True
    while more:
        message = await receive()
        pieces += message.get("body", b"")
        more = message["type"] == "http.request" and message.get("more_body", False)
        if len(pieces) > _MAX_BODY:
            return None
    return bytes(pieces)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _url(scope: Scope) -> URL:
    query = scope["query_string"]
    path = scope.get("raw_path") or scope["path"].encode()
    return URL("http://gateway" + (path + (b"?" + query if query else b"")).decode("latin-1"), encoded=True)


def _headers(scope: Scope) -> list[tuple[str, str]]:
    dropped = _HOP | {b"content-length"}
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in scope["headers"]
        if name not in dropped
    ]


def _alone() -> ApiError:
    return ApiError(
        503,
        "The gateway's first process does not answer.",
        kind="server_error",
        code="unavailable",
        retry_after=1,
    )
