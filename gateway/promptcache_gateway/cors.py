"""Web pages of other origins that may use the model APIs, where the operator names them.

The admin API and the dashboard stay closed to them. Whether a page is let in at all is `origins`' to judge;
here a browser is told so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.plane.summary import HEADERS

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send

    from promptcache_gateway.settings import Settings
    from promptcache_gateway.upstreams.base import RawHeaders

_METHODS = b"GET, POST, DELETE, OPTIONS"
_EXPOSED = b", ".join([*(name for _, name in HEADERS), b"retry-after", b"x-request-id", b"request-id"])
_PREFLIGHT_S = b"600"


class Cors:
    """What browsers are told."""

    def __init__(self, settings: Settings) -> None:
        self._any = "*" in settings.cors_origins
        self._origins = frozenset(origin.encode() for origin in settings.cors_origins)

    def origin(self, scope: Scope) -> bytes | None:
        """The calling page's origin where it is one of those named, else None."""
        if not self._origins:
            return None
        for name, value in scope["headers"]:
            if name == b"origin":
                return bytes(value) if self._any or value.lower() in self._origins else None
        return None

    def is_preflight(self, scope: Scope) -> bool:
        """Whether a browser asks before it sends a page's request."""
        return scope["method"] == "OPTIONS" and any(
            name == b"access-control-request-method" for name, _ in scope["headers"]
        )

    def preflight(self, scope: Scope, origin: bytes) -> RawHeaders:
        """The answer to such a question: any header may be sent, because none of them opens anything."""
        asked = b", ".join(
            value for name, value in scope["headers"] if name == b"access-control-request-headers"
        )
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-methods", _METHODS),
            *([(b"access-control-allow-headers", asked)] if asked else []),
            (b"access-control-max-age", _PREFLIGHT_S),
            (b"vary", b"origin, access-control-request-headers"),
        ]

    def sender(self, send: Send, origin: bytes) -> Send:
        """``send`` that adds the permission to a response; an upstream's own is replaced."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [
                    header for header in message["headers"] if not header[0].startswith(b"access-control-")
                ]
                message = {
                    **message,
                    "headers": [
                        *kept,
                        (b"access-control-allow-origin", origin),
                        (b"access-control-expose-headers", _EXPOSED),
                        (b"vary", b"origin"),
                    ],
                }
            await send(message)

        return sending
