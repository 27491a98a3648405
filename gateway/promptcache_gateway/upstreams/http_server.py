"""One foreign HTTP server: its pool of connections, a request to it, its answer read or relayed.

Which API it speaks, which headers it wants and what may be spliced into a body is said by those who
use this (`openai_http`, `anthropic_http`). Retries and a choice between servers are made elsewhere.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from yarl import URL

from promptcache_gateway.errors import ApiError, invalid_request, out_of_files
from promptcache_gateway.upstreams.base import NotGivenError
from promptcache_gateway.upstreams.headers import to_caller
from promptcache_gateway.upstreams.http_connection import BrokenAnswerError
from promptcache_gateway.upstreams.http_pool import ConnectTimeoutError, HttpPool, UnreachableError
from promptcache_gateway.upstreams.json_weight import FREE
from promptcache_gateway.upstreams.reachability import Reachability
from promptcache_gateway.upstreams.relayed import RelayedStream, streams_events
from promptcache_gateway.upstreams.unheld import UnheldStream
from promptcache_gateway.upstreams.whole_bodies import (
    HELD_COST,
    NotHeldError,
    decompressed,
    noted,
    read_whole,
    taken_for,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Call
    from promptcache_gateway.settings import UpstreamSettings
    from promptcache_gateway.under_way import Hold, UnderWay
    from promptcache_gateway.upstreams.base import Inbound, StreamReply, WholeReply
    from promptcache_gateway.upstreams.http_answer import HttpAnswer

_MAX_KNOWN_TARGETS = 64
_OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_IN_PATHS = "/:@+,;=!$&'()*~"  # what a model's name holds as it is (RFC 3986, 3.3)
_UNFIT = re.compile(r"[\x00-\x20\x7f]")


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
        self._pool: HttpPool | None = None
        self._address = URL(settings.url)
        self._host = self._address.host_port_subcomponent
        self._reachability = Reachability(self._address.host or "", self._address.port or 80)
        self._targets: dict[str, str] = {}

    async def start(self) -> None:
        """Open the pool of connections; the server itself is first asked by the first call."""
        self._pool = HttpPool(
            self._address,
            connect_timeout_s=self._settings.connect_timeout_s,
            read_timeout_s=self._settings.read_timeout_s,
            # Plain HTTP means a server nearby, most often one that drops idle connections after five seconds.
            idle_s=30.0 if self.base.startswith("https:") else 4.0,
        )

    async def close(self) -> None:
        """Close the pool."""
        await self._reachability.close()
        if self._pool is not None:
            await self._pool.close()

    def health(self) -> Mapping[str, Any]:
        """What the last call met: ``ok`` is null until there was one. The server is not asked."""
        if self._pool is None or self._pool.closed:
            return {"ok": False, "url": self.base}
        return {**self._reachability.report(), "url": self.base}

    async def request(
        self,
        method: str,
        path: str,
        query: bytes,
        headers: dict[str, str],
        body: bytes | None,
        *,
        harmless: bool = False,
    ) -> HttpAnswer:
        """Send a request and wait for the head of its answer; raises `ApiError` when none comes back.

        ``harmless``: it changes nothing there, so that asking again is safe whatever has come of the answer.
        """
        return await self.exchange(self.opening(method, path, query, headers), body, harmless=harmless)

    async def exchange(self, opening: bytes, body: bytes | None, *, harmless: bool = False) -> HttpAnswer:
        """The same for a request whose head begins with an `opening`."""
        assert self._pool is not None, "start() comes first"
        head = opening + (b"\r\n" if body is None else b"content-length: %d\r\n\r\n" % len(body))
        try:
            answer = await self._pool.send(head, body)
        except TimeoutError as error:
            unsent = isinstance(error, ConnectTimeoutError)
            if unsent:  # one slow answer says nothing of others
                self._reachability.failed("upstream_timeout")
            raise self._no_answer(
                504, "did not answer in time", "upstream_timeout", unanswered=unsent or harmless
            ) from error
        except UnreachableError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno in _OUT_OF_FILES:
                raise out_of_files() from error
            self._reachability.failed("upstream_unreachable")
            raise self._no_answer(
                502, "cannot be reached", "upstream_unreachable", unanswered=True
            ) from error
        except BrokenAnswerError as error:
            self._reachability.failed("upstream_disconnected")
            what = f"sent no answer that can be read: {error}"
            raise self._no_answer(502, what, "upstream_disconnected", unanswered=harmless) from error
        except OSError as error:
            self._reachability.failed("upstream_disconnected")
            raise self._no_answer(
                502, "closed the connection without an answer", "upstream_disconnected", unanswered=True
            ) from error
        self._reachability.answered()
        return answer

    async def reply(
        self,
        answer: HttpAnswer,
        call: Call,
        answers: UnderWay | None,
        *,
        withhold_usage: bool = False,
    ) -> WholeReply | StreamReply:
        """The answer: relayed where it is a stream of events or cannot be held, else read to its end.

        ``answers`` is the memory for those that are held. Raises `ApiError`.
        """
        if streams_events(answer):
            return RelayedStream(answer, call.dialect, withhold_usage=withhold_usage)
        try:
            return await self._whole(answer, answers, call.tenant)
        except NotHeldError as met:
            return UnheldStream(answer, met)

    async def ask(
        self, method: str, path: str, inbound: Inbound, headers: dict[str, str], body: bytes | None = None
    ) -> WholeReply:
        """The whole answer to a question that changes nothing there; raises `ApiError`."""
        answer = await self.request(method, path, inbound.query, headers, body, harmless=True)
        try:
            return await self._whole(answer, inbound.answers, harmless=True)
        except NotHeldError as met:
            answer.close()
            if met.hold is not None:
                met.hold.end()
            raise met.why from None

    async def models(self, inbound: Inbound, headers: dict[str, str], model: str | None) -> WholeReply:
        """The server's own list of models, or its own answer about one; raises `ApiError`."""
        path = "/v1/models" if model is None else f"/v1/models/{quote(model, safe=_IN_PATHS)}"
        return await self.ask("GET", path, inbound, headers)

    async def _whole(
        self,
        answer: HttpAnswer,
        answers: UnderWay | None = None,
        tenant: str = "default",
        *,
        harmless: bool = False,
    ) -> WholeReply:
        """Read the answer to its end; raises `ApiError`, and `NotHeldError` where it cannot be held."""
        encoding = answer.header(b"content-encoding")
        if answer.complete and answer.buffered <= FREE and not encoding:  # most often it came with its head
            headers = to_caller(answer.headers, decoded=True)
            return noted(answer.status, headers, await answer.read(), readable=True)
        try:
            body, hold = await self._read(answer, answers, tenant, harmless=harmless)
        except NotHeldError:
            raise
        except BaseException:
            answer.close()  # what is left of it must not be taken for another's answer
            raise
        plain = decompressed(body, encoding.decode("latin-1")) if encoding else body
        decoded = plain is not None
        if plain is not None and len(plain) > FREE and answers is not None:
            hold = hold or answers.hold(tenant)
        headers = to_caller(answer.headers, decoded=decoded)
        reply = noted(answer.status, headers, body if plain is None else plain, readable=decoded, hold=hold)
        if hold is not None and decoded:
            taken_for(hold, HELD_COST * len(reply.body), reply)
        return reply

    async def _read(
        self, answer: HttpAnswer, answers: UnderWay | None, tenant: str, *, harmless: bool
    ) -> tuple[bytes, Hold | None]:
        try:
            return await read_whole(answer, answers, tenant)
        except OSError as error:
            if isinstance(error, TimeoutError):
                status, what, code = 504, "stopped", "upstream_timeout"
            else:
                status, what, code = 502, "died", "upstream_disconnected"
            what = f"{what} in the middle of its answer"
            failure = self._no_answer(status, what, code, unanswered=harmless)
            raise NotGivenError(failure, noted(answer.status, [], b"", readable=False)) from error

    def opening(self, method: str, path: str, query: bytes, headers: dict[str, str]) -> bytes:
        """The head of a request but for its length.

        What would begin a line of its own, and so another header, is refused; raises `ApiError`.
        """
        lines = [f"{method} {self._target(path, query)} HTTP/1.1", f"host: {self._host}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join(lines)
        if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1 or "\0" in head:
            raise invalid_request("A header or the path holds a line break.", code="invalid_header")
        try:
            return f"{head}\r\n".encode("latin-1")  # the caller's own bytes
        except UnicodeEncodeError:  # a configured key
            return f"{head}\r\n".encode("utf-8", "surrogateescape")

    def _target(self, path: str, query: bytes) -> str:
        """Path and query as they stand in the request's first line."""
        if not query and (known := self._targets.get(path)) is not None:
            return known
        relative = path[3:] if path.startswith("/v1/") else path
        suffix = f"?{query.decode('latin-1')}" if query else ""
        url = URL(f"{self.base}{relative}{suffix}", encoded=True)
        target = _UNFIT.sub(lambda found: f"%{ord(found[0]):02X}", url.raw_path_qs)
        target = "".join(char if char.isascii() else quote(char) for char in target)
        if not query and len(self._targets) < _MAX_KNOWN_TARGETS:
            self._targets[path] = target
        return target

    def _no_answer(self, status: int, what: str, code: str, *, unanswered: bool = False) -> ApiError:
        message = f"The upstream {self.name} {what}."
        return ApiError(status, message, kind="upstream_error", code=code, unanswered=unanswered)
