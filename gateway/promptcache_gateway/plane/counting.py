"""``POST /v1/messages/count_tokens``: how long a prompt is, without an answer.

It costs nothing at the provider and reuses nothing, so that it is neither observed nor recorded. What was
changed of it, so that the count is that of what would be sent, is named in the answer's headers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.errors import ApiError, internal_error
from promptcache_gateway.failures import log_failure
from promptcache_gateway.mutations import MUTATIONS
from promptcache_gateway.plane.body import CallerGoneError, decode_object, read_body
from promptcache_gateway.plane.calls import RequestIds, make_call, model_of
from promptcache_gateway.plane.dispatch import at
from promptcache_gateway.plane.hangup import unless_gone
from promptcache_gateway.plane.responses import send_error, send_whole
from promptcache_gateway.plane.summary import as_headers
from promptcache_gateway.translate import across
from promptcache_gateway.upstreams.base import Inbound

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from promptcache_gateway.access import Access
    from promptcache_gateway.mutations import Mutator
    from promptcache_gateway.tenancy import Caller
    from promptcache_gateway.under_way import Portion, UnderWay
    from promptcache_gateway.upstreams.base import WholeReply
    from promptcache_gateway.upstreams.switchboard import Switchboard


class CountEndpoint:
    """Asks the upstream that would take a call how many tokens its prompt has."""

    def __init__(
        self,
        switchboard: Switchboard,
        access: Access,
        mutator: Mutator,
        bodies: UnderWay,
        max_body_bytes: int,
    ) -> None:
        self._switchboard = switchboard
        self._mutator = mutator
        self._access = access
        self._bodies = bodies
        self._max_body_bytes = max_body_bytes
        self._ids = RequestIds()

    async def __call__(self, scope: Scope, receive: Receive, send: Send, caller: Caller) -> None:
        """Answer one request of ``caller``; never raises."""
        request_id = self._ids.next()
        own = as_headers({"request_id": request_id})
        try:
            with self._bodies.portion(caller.tenant) as portion:
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
        hop = self._switchboard.route(model_of(payload))[0]
        upstream = hop.line.upstream
        call = make_call(
            body,
            payload,
            scope["headers"],
            request_id=request_id,
            path=scope["path"],
            dialect="anthropic.messages",
            tenant="default",
            upstream=upstream.name,
            model=hop.model,
        )
        headers = self._access.without_credentials(scope["headers"])
        inbound = Inbound("POST", headers, scope.get("query_string", b""))
        call = self._mutator.prepare(at(call, hop), hop.line)
        if "anthropic.messages" not in upstream.dialects:
            call = across(upstream, call)
        changed = [change.name for change in call.changes if change.name in MUTATIONS and change.paths]
        reply = await unless_gone(scope, receive, upstream.count_prompt(call, inbound))
        return reply, changed
