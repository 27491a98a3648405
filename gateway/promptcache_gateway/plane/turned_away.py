"""Requests that the gateway refuses itself, before they are sent anywhere: counted by reason, a line each.

No record is made of them: there is nothing to diagnose, and whoever has no key must not fill a database.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from promptcache_gateway.logs import log_refusal
from promptcache_gateway.plane.calls import RequestIds
from promptcache_gateway.plane.responses import send_error
from promptcache_gateway.plane.summary import as_headers

if TYPE_CHECKING:
    from starlette.types import Send

    from promptcache_gateway.errors import ApiError
    from promptcache_gateway.exchange import Dialect
    from promptcache_gateway.upstreams.base import RawHeaders

_UNNAMED = {400: "invalid_request"}


class TurnedAway:
    """What was refused.

    Args:
        says: a line is written for each.

    Attributes:
        counts: how many there were, by reason: the code that the caller was told.
    """

    def __init__(self, *, says: bool = False) -> None:
        self._says = says
        self._ids = RequestIds()
        self.counts: Counter[str] = Counter()

    async def answer(
        self,
        send: Send,
        error: ApiError,
        api: Dialect | None = None,
        *,
        request_id: str | None = None,
        tenant: str | None = None,
        headers: RawHeaders | None = None,
    ) -> None:
        """Refuse a request, and note it.

        Args:
            send: ASGI's send.
            error: what the caller is told.
            api: whose errors the caller reads, None where it asked for none of the APIs.
            request_id: its id; None: it gets one.
            tenant: whom it belongs to, None where that was not found out.
            headers: what else the answer has.
        """
        request_id = request_id or self._ids.next()
        self.note(error, api, request_id, tenant)
        own = as_headers({"request_id": request_id})
        await send_error(send, error, [*(headers or []), *own], api or "openai.chat", request_id)

    def note(
        self,
        error: ApiError,
        api: Dialect | None = None,
        request_id: str | None = None,
        tenant: str | None = None,
    ) -> None:
        """Note one that is answered elsewhere."""
        reason = error.code or _UNNAMED.get(error.status, f"http_{error.status}")
        self.counts[reason] += 1
        if self._says:
            log_refusal(error.status, reason, api=api, request_id=request_id, tenant=tenant)
