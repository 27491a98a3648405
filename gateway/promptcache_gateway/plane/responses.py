"""Write responses on raw ASGI: a whole body, or the start of a stream.

Whoever calls says status, headers and bytes; nothing is decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.error_shapes import error_body

if TYPE_CHECKING:
    from starlette.types import Send

    from promptcache_gateway.errors import ApiError
    from promptcache_gateway.exchange import Dialect
    from promptcache_gateway.upstreams.base import RawHeaders

JSON_TYPE = (b"content-type", b"application/json")


async def send_whole(send: Send, status: int, headers: RawHeaders, body: bytes) -> None:
    """Send a complete response; its length is added to the headers."""
    at_once = getattr(
        getattr(send, "__self__", None), "send_at_once", None
    )  # our own server's (`answer_cycle`)
    if at_once is not None and at_once(status, headers, body):
        return
    if status not in {204, 304}:
        headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send_start(send, status, headers)
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def send_start(send: Send, status: int, headers: RawHeaders) -> None:
    """Send status and headers; the body follows."""
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def send_error(
    send: Send,
    error: ApiError,
    headers: RawHeaders | None = None,
    dialect: Dialect = "openai.chat",
    request_id: str | None = None,
) -> None:
    """Send an error in the shape of the API that the caller speaks."""
    body = error_body(error, dialect, request_id)
    await send_whole(send, error.status, [JSON_TYPE, *error.headers(), *(headers or [])], body)
