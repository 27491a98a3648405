"""``POST /v1/messages/count_tokens``: how long a prompt is, without an answer.

It costs nothing at the provider and reuses nothing, so that it is neither observed nor recorded. What was
changed of it, so that the count is that of what would be sent, is named in the answer's headers.

Where the call would go on to the next upstream of its route, so does the question. One that cannot count is
not passed over: another's count is not that of where the call goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.errors import ApiError, internal_error
from promptcache_gateway.failures import log_failure
from promptcache_gateway.mutations import MUTATIONS
from promptcache_gateway.plane.body import CallerGoneError, decode_object, read_body
from promptcache_gateway.plane.calls import RequestIds, make_call, model_of
from promptcache_gateway.plane.dispatch import at, goes_on, refuses, theirs
from promptcache_gateway.plane.hangup import unless_gone
from promptcache_gateway.plane.responses import send_error, send_whole
from promptcache_gateway.plane.summary import as_headers
from promptcache_gateway.translate import across, in_the_caller_s_words
from promptcache_gateway.upstreams.base import Inbound

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from promptcache_gateway.access import Access
    from promptcache_gateway.exchange import Call
    from promptcache_gateway.mutations import Mutator
    from promptcache_gateway.plane.room import Room
    from promptcache_gateway.tenancy import Caller
    from promptcache_gateway.under_way import Portion
    from promptcache_gateway.upstreams.base import WholeReply
    from promptcache_gateway.upstreams.switchboard import Hop, Switchboard

_CANNOT = 501  # `errors.cannot_count`


class CountEndpoint:
    """Asks the upstream that would take a call how many tokens its prompt has."""

    def __init__(
        self,
        switchboard: Switchboard,
        access: Access,
        mutator: Mutator,
        room: Room,
        max_body_bytes: int,
    ) -> None:
        self._switchboard = switchboard
        self._mutator = mutator
        self._access = access
        self._room = room
        self._max_body_bytes = max_body_bytes
        self._ids = RequestIds()

    async def __call__(self, scope: Scope, receive: Receive, send: Send, caller: Caller) -> None:
        """Answer one request of ``caller``; never raises."""
        request_id = self._ids.next()
        own = as_headers({"request_id": request_id})
        try:
            with self._room.bodies.portion(caller.tenant) as portion:
                reply, changed = await self._count(scope, receive, request_id, portion)
        except CallerGoneError:
            return
        except ApiError as error:
            await send_error(send, error, own, "anthropic.messages", request_id)
            return
        except Exception as error:  # noqa: BLE001 - one request's failure must not reach others
            log_failure(f"request {request_id}", error)
            await send_error(send, internal_error(request_id), own, "anthropic.messages", request_id)
            return
        own += as_headers({"mutations": changed}) if changed else []
        await send_whole(send, reply.status, [*reply.headers, *own], reply.body)

    async def _count(
        self, scope: Scope, receive: Receive, request_id: str, portion: Portion
    ) -> tuple[WholeReply, list[str]]:
        """The count, and the names of the changes that were asked for."""
        body = await read_body(scope["headers"], receive, self._max_body_bytes, portion)
        payload = decode_object(body)
        route = self._switchboard.route(model_of(payload))
        call = make_call(
            body,
            payload,
            scope["headers"],
            request_id=request_id,
            path=scope["path"],
            dialect="anthropic.messages",
            tenant="default",
            upstream=route[0].line.upstream.name,
            model=route[0].model,
        )
        headers = self._access.without_credentials(scope["headers"])
        inbound = Inbound("POST", headers, scope.get("query_string", b""), self._room.answers)
        return await unless_gone(scope, receive, self._ask(call, route, inbound))

    async def _ask(
        self, call: Call, route: tuple[Hop, ...], inbound: Inbound
    ) -> tuple[WholeReply, list[str]]:
        """The first answer on the route; raises, or returns, what was met where nobody gives one."""
        places = [hop for hop in route if not hop.line.circuit.is_open] or route
        asked: list[tuple[ApiError | WholeReply, Call]] = []
        for hop in places:
            here = self._mutator.prepare(at(call, hop), hop.line)
            met = await _met(hop, here, theirs(inbound, route.index(hop)))
            if asked and (met.status == _CANNOT or refuses(met)):
                continue  # it does not make a failure that may pass one that does not
            asked.append((met, here))
            if not goes_on(met):
                break
        met, here = asked[-1]
        if isinstance(met, ApiError):
            raise met
        return met, _asked_for(here)


async def _met(hop: Hop, call: Call, inbound: Inbound) -> ApiError | WholeReply:
    upstream = hop.line.upstream
    try:
        if "anthropic.messages" in upstream.dialects:
            return await upstream.count_prompt(call, inbound)
        sent = across(upstream, call)
        with in_the_caller_s_words(upstream, call):
            return await upstream.count_prompt(sent, inbound)
    except ApiError as error:
        return error


def _asked_for(call: Call) -> list[str]:
    """The names of a call's changes that were asked for."""
    return [change.name for change in call.changes if change.name in MUTATIONS and change.paths]
