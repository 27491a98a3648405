"""``GET /v1/models`` and one model of it: the upstream's own answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.errors import ApiError
from promptcache_gateway.plane.responses import send_error, send_whole
from promptcache_gateway.upstreams.base import Inbound

if TYPE_CHECKING:
    from starlette.types import Scope, Send

    from promptcache_gateway.access import Access
    from promptcache_gateway.upstreams.base import Upstream


class ModelsEndpoint:
    """The models of one upstream."""

    def __init__(self, upstream: Upstream, access: Access) -> None:
        self._upstream = upstream
        self._access = access

    async def __call__(self, scope: Scope, send: Send, model: str | None) -> None:
        """Answer with the list, or with ``model``; raises nothing but what ASGI raises."""
        headers = self._access.without_credentials(scope["headers"])
        inbound = Inbound("GET", headers, scope.get("query_string", b""))
        try:
            reply = await self._upstream.models(inbound, model)
        except ApiError as error:
            await send_error(send, error)
            return
        await send_whole(send, reply.status, reply.headers, reply.body)
