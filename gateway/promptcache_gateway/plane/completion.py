"""The life of one request for a completion or an embedding: read, observe, forward, answer, record.

Every way in which it can end is here: answered whole, streamed, refused, failed, the caller gone,
the gateway stopped. What an upstream does is behind its protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from promptcache_gateway.error_shapes import error_event
from promptcache_gateway.errors import ApiError, internal_error, stopping
from promptcache_gateway.failures import log_failure
from promptcache_gateway.kept.continuation import continued
from promptcache_gateway.plane.advance import Advances
from promptcache_gateway.plane.answers import AnsweredStream
from promptcache_gateway.plane.body import CallerGoneError, decode_object, read_body
from promptcache_gateway.plane.calls import RequestIds, make_call, model_of
from promptcache_gateway.plane.dispatch import dispatch
from promptcache_gateway.plane.flight import CALLER_GONE, Flight
from promptcache_gateway.plane.hangup import HangUpWatch, uncancel
from promptcache_gateway.plane.heartbeat import Heartbeat
from promptcache_gateway.plane.responses import send_error, send_start, send_whole
from promptcache_gateway.plane.summary import as_comment, as_headers, into_body
from promptcache_gateway.plane.threads import Threads, opened
from promptcache_gateway.tenancy.caller import ANYONE
from promptcache_gateway.upstreams.base import GivenUpError, Inbound, NotGivenError, WholeReply

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from promptcache_gateway.access import Access
    from promptcache_gateway.exchange import Call, Dialect, Question
    from promptcache_gateway.kept import Shelf
    from promptcache_gateway.mutations import Mutator
    from promptcache_gateway.observe import Observer
    from promptcache_gateway.plane.room import Room
    from promptcache_gateway.tenancy import Caller, Ledger, Limits
    from promptcache_gateway.under_way import Portion
    from promptcache_gateway.upstreams.base import StreamReply
    from promptcache_gateway.upstreams.switchboard import Hop, Switchboard

logger = logging.getLogger("promptcache.gateway")

_RESPONSES = "openai.responses"
_LAST_WORDS_S = 1.0


class CompletionEndpoint:
    """``POST`` of a request in any dialect, over all upstreams."""

    def __init__(
        self,
        switchboard: Switchboard,
        observer: Observer,
        access: Access,
        limits: Limits,
        *,
        mutator: Mutator,
        ledger: Ledger,
        shelf: Shelf,
        room: Room,
        max_body_bytes: int,
        keep_alive_s: float,
    ) -> None:
        self._keep_alive_s = keep_alive_s
        self._limits = limits
        self._ledger = ledger
        self._shelf = shelf
        self._room = room
        self._mutator = mutator
        self._switchboard = switchboard
        self._observer = observer
        self._access = access
        self._max_body_bytes = max_body_bytes
        self._ids = RequestIds()
        self._advances = Advances(limits, ledger, observer)

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send, dialect: Dialect, caller: Caller
    ) -> None:
        """Answer one request of ``caller``; never raises."""
        with self._room.bodies.portion(caller.tenant) as for_body:
            if dialect != _RESPONSES:
                await self._answer(scope, receive, send, dialect, caller, for_body=for_body)
                return
            with self._shelf.portion(caller.tenant) as portion:
                await self._answer(scope, receive, send, dialect, caller, for_body=for_body, portion=portion)

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        dialect: Dialect,
        caller: Caller,
        *,
        for_body: Portion,
        portion: Portion | None = None,
    ) -> None:
        request_id = self._ids.next()
        try:
            bound = self._ledger.binds(caller)
            if bound:
                await self._ledger.admit(caller)
            await self._limits.agree(caller.tenant)
            body = await read_body(scope["headers"], receive, self._max_body_bytes, for_body)
            call, route = self._call(scope, body, request_id, dialect, caller)
            if portion is not None:
                call = await self._continued(call, route, portion)
            metered = bound or self._limits.counts_tokens(caller.tenant)
            priced = route[0].line.settings.kind != "engine"
            advance = self._advances.none(caller)
            if metered:
                advance = await self._advances.take(caller, call, priced=priced)
        except CallerGoneError:
            return
        except ApiError as error:
            await send_error(send, error, as_headers({"request_id": request_id}), dialect, request_id)
            return
        except Exception as error:  # noqa: BLE001 - one request's failure must not reach others
            log_failure(f"request {request_id}", error)
            own = as_headers({"request_id": request_id})
            await send_error(send, internal_error(request_id), own, dialect, request_id)
            return
        headers = scope["headers"]
        if caller is not ANYONE:  # else no key is asked for, and what is shown is for the upstream
            headers = self._access.without_credentials(headers)
        meant = self._observer.conventions.meant
        inbound = Inbound("POST", headers, scope.get("query_string", b""), self._room.answers, meant)
        flight = None
        try:
            flight = await self._begun(call, route, caller, metered=metered)
            await self._complete(flight, route, inbound, HangUpWatch(scope, receive), send)
        finally:
            advance.settle(flight)

    async def _begun(self, call: Call, route: tuple[Hop, ...], caller: Caller, *, metered: bool) -> Flight:
        """The flight of a call, as its first upstream's mutations have it observed."""
        seen = self._mutator.prepare(call, route[0].line)
        begin = partial(
            Flight, seen, self._observer, self._mutator, received=call, admin=caller.admin, metered=metered
        )
        return await opened(call, begin)

    def _call(
        self, scope: Scope, body: bytes, request_id: str, dialect: Dialect, caller: Caller
    ) -> tuple[Call, tuple[Hop, ...]]:
        payload = decode_object(body)
        named = model_of(payload)
        route = self._switchboard.route(named)
        hop = route[0]
        call = make_call(
            body,
            payload,
            scope["headers"],
            request_id=request_id,
            path=scope["path"],
            dialect=dialect,
            tenant=caller.tenant,
            upstream=hop.line.upstream.name,
            model=named if hop.model is None else hop.model,
            key_id=caller.key_id,
        )
        return call, route

    async def _continued(self, call: Call, route: tuple[Hop, ...], portion: Portion) -> Call:
        """The call with what it goes on from, where an upstream of its route keeps no responses itself."""
        keeps = [_RESPONSES in hop.line.upstream.dialects for hop in route]
        if all(keeps):
            return call
        return await continued(call, self._shelf, portion, self._max_body_bytes, native=keeps[0])

    async def _complete(
        self, flight: Flight, route: tuple[Hop, ...], inbound: Inbound, watch: HangUpWatch, send: Send
    ) -> None:
        call, threads = flight.call, Threads(flight)

        async def depart(received: Call, hop: Hop, inbound: Inbound) -> tuple[Call, Inbound]:
            return await threads.depart(received, hop, inbound, question)

        try:
            with watch:
                question = flight.ask(route[0].line)
                flight.reply = await dispatch(flight.received, route, inbound, depart)
                if question is not None:
                    flight.reply = _answered(flight, question, route)
                if isinstance(flight.reply, WholeReply):
                    await _answer_whole(threads, flight.reply, watch, send)
                else:
                    await _answer_stream(threads, flight.reply, watch, send, self._keep_alive_s)
        except ApiError as error:
            if isinstance(error, NotGivenError):
                flight.reply = error.reply
            await _fail(threads, error, watch, send)
        except asyncio.CancelledError as error:
            uncancel()
            if isinstance(error, GivenUpError):
                flight.reply = error.reply
            if watch.gone:
                await threads.end(CALLER_GONE, watch.code)
            else:
                try:
                    async with asyncio.timeout(_LAST_WORDS_S):
                        await _fail(threads, stopping(), watch, send)
                except TimeoutError:
                    await watch.drop()  # the caller has stopped reading
        except Exception as error:  # noqa: BLE001 - one request's failure must not reach others
            log_failure(f"request {call.id}", error)
            await _fail(threads, internal_error(call.id), watch, send)
        finally:
            await threads.over()
            if isinstance(flight.reply, WholeReply) and flight.reply.hold is not None:
                flight.reply.hold.end()


def _answered(flight: Flight, question: Question, route: tuple[Hop, ...]) -> WholeReply | StreamReply:
    """The reply with the answer to a provider's own question in it."""
    reply = flight.reply
    assert reply is not None
    if reply.status >= 400:
        return reply
    line = next(hop.line for hop in route if hop.line.upstream.name == flight.call.upstream)
    answer = flight.expect(question, line)
    if isinstance(reply, WholeReply):
        return replace(reply, body=answer.whole(reply.body, reply.usage))
    return AnsweredStream(reply, answer)


async def _answer_whole(threads: Threads, reply: WholeReply, watch: HangUpWatch, send: Send) -> None:
    flight = threads.flight
    summary = await threads.end_answered(reply.status, watch)
    body = into_body(reply.body, summary) if flight.call.want_body else reply.body
    flight.started = True
    await send_whole(send, reply.status, [*reply.headers, *as_headers(summary)], body)
    flight.finish()  # before anything else is waited for: who has the answer may ask for its record
    if reply.hold is not None:
        await watch.taken()  # until then it is held for the caller


async def _answer_stream(
    threads: Threads, reply: StreamReply, watch: HangUpWatch, send: Send, keep_alive_s: float
) -> None:
    flight = threads.flight
    try:
        summary = await threads.preview()
        flight.started = True
        await send_start(send, reply.status, [*reply.headers, *as_headers(summary)])
        with Heartbeat(send, keep_alive_s if reply.events else 0.0) as heart:
            flight.heart = heart
            async for piece in reply.pieces():
                if flight.meter is not None:
                    flight.meter.piece(piece, events=reply.events)
                await heart.send(piece)
    finally:
        await reply.close()
    summary = await threads.end_answered(reply.status, watch)
    if reply.error is not None and not reply.events:
        await _cut(flight, reply.error, watch, send)
        return
    last = as_comment(summary) if reply.events else b""
    await send({"type": "http.response.body", "body": last, "more_body": False})
    flight.finish()


async def _cut(flight: Flight, code: str | None, watch: HangUpWatch, send: Send) -> None:
    """End an answer that broke off by closing the connection: a torn body must not look complete."""
    logger.warning("request %s: its answer broke off (%s), its connection is closed", flight.call.id, code)
    await watch.cut(send)


async def _fail(threads: Threads, error: ApiError, watch: HangUpWatch, send: Send) -> None:
    """End with an error: a response where none has begun, else the stream's last event."""
    flight, summary = threads.flight, await threads.end(error.status, error.code)
    with contextlib.suppress(Exception):  # the caller may be gone by now, which changes nothing here
        if not flight.started:
            await send_error(send, error, as_headers(summary), flight.call.dialect, flight.call.id)
        elif flight.streams_events:
            body = error_event(error, flight.call.dialect, flight.call.id) + as_comment(summary)
            await send({"type": "http.response.body", "body": flight.seam + body, "more_body": False})
        else:
            await _cut(flight, error.code, watch, send)
