"""Sends a batch's requests to one server: its address, its key, one attempt at a time, and when to repeat it.

Which request is sent when is `turns`' business, and what becomes of an answer `run`'s.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from promptcache_gateway.batch.answer import Answer, Failure, torn
from promptcache_gateway.batch.errors import ServerError
from promptcache_gateway.batch.patience import Patience, Pause, asked_s

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache_gateway.batch.request import BatchRequest

_CONNECT_S = 10.0
_ANTHROPIC_VERSION = "2023-06-01"
_LONGEST_ANSWER = 256 << 20
_REQUEST_IDS = ("x-promptcache-request-id", "x-request-id", "request-id")
_LIMITED = frozenset({429, 503, 529})


class Server:
    """Where a batch goes; an asynchronous context.

    Args:
        url: a base URL as clients write it, ``http://host:8000`` or ``https://host/v1``.
        key: sent as the bearer token, and as ``x-api-key`` to Anthropic's API; None: no key is sent.
        headers: further headers of every request.
        timeout_s: the longest silence of an answer.
        patience: when a request is sent again.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 600.0,
        patience: Patience | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._key, self._headers = key, dict(headers or {})
        self._anthropic = (urlsplit(url).hostname or "").endswith("anthropic.com")
        self._timeout_s = timeout_s
        self._patience = patience or Patience()
        self._pause = Pause()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the pool of connections."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30 if self.url[:6] == "https:" else 4),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=self._timeout_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=True,
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close it."""
        if self._session is not None:
            await self._session.close()

    async def greet(self, path: str, remedy: str) -> None:
        """See that something answers HTTP there, whatever it says; raises `ServerError` with ``remedy``."""
        assert self._session is not None
        try:
            async with self._session.get(self._address(path), headers=self._headers_to(path)) as response:
                response.close()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ServerError(f"nothing answers at {self.url} ({_kind(error)}).", remedy=remedy) from error

    async def send(self, request: BatchRequest, begun: Callable[[], None]) -> Answer | Failure:
        """Send a request until it is answered for good.

        Args:
            request: the request; its body's bytes go as they are.
            begun: called when the first byte of a successful answer has come.
        """
        attempt = 0
        while True:
            await self._pause.keep()
            attempt += 1
            outcome, status, headers = await self._attempt(request, begun)
            pause = self._patience.pause_s(attempt, status, headers)
            if pause is None or (isinstance(outcome, Answer) and outcome.succeeded):
                return outcome
            if status in _LIMITED and asked_s(headers) is not None:
                self._pause.ask(pause)
            await asyncio.sleep(pause)

    async def _attempt(
        self, request: BatchRequest, begun: Callable[[], None]
    ) -> tuple[Answer | Failure, int | None, Mapping[str, str]]:
        assert self._session is not None
        try:
            async with self._session.post(
                self._address(request.path),
                data=request.body,
                headers=self._headers_to(request.path),
                allow_redirects=False,
            ) as response:
                body = await _read(response, begun)
                fault = torn(request.path, body) if _is_stream(response) else None
                if fault is not None:
                    return Failure("torn_stream", fault), None, response.headers
                return (
                    Answer(response.status, body, _request_id(response.headers)),
                    response.status,
                    response.headers,
                )
        except _TooLongError:
            return Failure("answer_too_long", "The answer is longer than 256 MiB."), 413, {}
        except TimeoutError:
            return Failure("timeout", f"The server was silent for {self._timeout_s:g} s."), None, {}
        except (aiohttp.ClientError, OSError) as error:
            return Failure("no_answer", f"The server gave no whole answer ({_kind(error)})."), None, {}

    def _address(self, path: str) -> URL:
        both = self.url.endswith("/v1") and path.startswith("/v1/")
        return URL(self.url + (path[3:] if both else path), encoded=True)

    def _headers_to(self, path: str) -> dict[str, str]:
        headers = {"content-type": "application/json"}
        messages = path.startswith("/v1/messages")
        if messages:
            headers["anthropic-version"] = _ANTHROPIC_VERSION
        if self._key is not None:
            if messages:
                headers["x-api-key"] = self._key
            if not (messages and self._anthropic):
                headers["authorization"] = f"Bearer {self._key}"
        return headers | self._headers


class _TooLongError(Exception):
    """An answer that does not end."""


async def _read(response: aiohttp.ClientResponse, begun: Callable[[], None]) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        if not pieces and 200 <= response.status < 300:
            begun()
        pieces.append(piece)
        size += len(piece)
        if size > _LONGEST_ANSWER:
            raise _TooLongError
    return b"".join(pieces)


def _is_stream(response: aiohttp.ClientResponse) -> bool:
    return 200 <= response.status < 300 and response.content_type == "text/event-stream"


def _request_id(headers: Mapping[str, str]) -> str | None:
    return next((headers[name] for name in _REQUEST_IDS if name in headers), None)


def _kind(error: BaseException) -> str:
    """What went wrong, without an address in it: a URL may hold a secret."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return (error.os_error.strerror or type(error.os_error).__name__).lower()
    return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
