"""Bodies of requests to the control plane: read whole within the bounds that those to models have.

A framework would take what comes until memory ends. What may be asked, and by whom, is judged elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.errors import ApiError
from promptcache_gateway.plane.body import CallerGoneError, read_body, refuse_too_many
from promptcache_gateway.plane.responses import send_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from promptcache_gateway.under_way import UnderWay
    from promptcache_gateway.upstreams.base import RawHeaders

_TENANT = "default"
_ANNOUNCED = frozenset({b"content-length", b"transfer-encoding"})
_UNDONE = frozenset({*_ANNOUNCED, b"content-encoding"})


class HeldBodies:
    """An application behind ASGI's three arguments that gets each body at once.

    Args:
        inner: the application.
        bodies: the memory for bodies of requests under way, those to models among them.
        limit: tells the most bytes of a body, as it is configured now.
    """

    def __init__(self, inner: ASGIApp, bodies: UnderWay, limit: Callable[[], int]) -> None:
        self._inner = inner
        self._bodies = bodies
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers: RawHeaders = scope["headers"]
        if not any(name in _ANNOUNCED for name, _ in headers):
            await self._inner(scope, receive, send)
            return
        with self._bodies.portion(_TENANT) as portion:
            try:
                body = await read_body(headers, receive, self._limit(), portion)
                refuse_too_many(body)
            except CallerGoneError:
                return
            except ApiError as error:
                await send_error(send, error)
                return
            plain = [header for header in headers if header[0] not in _UNDONE]
            plain.append((b"content-length", b"%d" % len(body)))
            await self._inner({**scope, "headers": plain}, _once(body, receive), send)


def _once(body: bytes, receive: Receive) -> Receive:
    """ASGI's receive, which gives the whole body first."""
    given = False

    async def receive_all() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_all
