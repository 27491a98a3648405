"""Read a request's body within bounds, and decode its JSON without changing it.

A body that is too large is refused from its announced length, or as soon as it has grown too
large; it is never held. Neither is one that would take more memory than the bodies of all requests together
may. What the JSON means is judged elsewhere.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.errors import ApiError, body_too_large, invalid_request
from promptcache_gateway.exact_json import read
from promptcache_gateway.known_headers import once
from promptcache_gateway.under_way import UnderWay
from promptcache_gateway.upstreams.json_weight import BYTE_COST, FREE, MAX_VALUES, holds_too_many, weight
from promptcache_gateway.upstreams.whole_bodies import inflated

if TYPE_CHECKING:
    from starlette.types import Receive

    from promptcache_gateway.under_way import Portion
    from promptcache_gateway.upstreams.base import RawHeaders


class CallerGoneError(Exception):
    """The caller hung up before the request was complete; there is nobody to answer."""


def bodies_under_way(most: int) -> UnderWay:
    """The budget of ``most`` bytes of memory for the bodies of requests under way together."""
    return UnderWay(most, "The bodies of requests under way", "[serve] bodies_mib")


async def read_body(headers: RawHeaders, receive: Receive, limit: int, portion: Portion) -> bytes:
    """The whole body, its transfer compression undone.

    Args:
        headers: the request's headers, names in lower case.
        receive: ASGI's receive.
        limit: most bytes taken, before and after decompression.
        portion: what the request takes of the memory for bodies; it is this body's alone.

    Raises:
        ApiError: 413 where it is larger, 415 for an unknown compression, 400 for a broken one, 503 where the
            bodies of other requests leave no room for it now.
        CallerGoneError: the caller hung up.
    """
    at_once = getattr(getattr(receive, "__self__", None), "body_at_once", None)  # our own server's
    body = None if at_once is None else at_once()
    if body is None:
        for name, value in headers:
            if name == b"content-length" and value.isdigit():
                _announced(int(value), limit, portion)
        body = await _received(receive, limit, portion)
    else:
        _take(body, limit, portion)
    encodings = once(headers, _encodings, _encodings)
    plain = body if not encodings else _decoded(body, encodings, limit)
    if len(plain) > FREE:
        portion.take(max(0, weight(plain) - portion.size))
    return plain


def _encodings(headers: RawHeaders) -> list[bytes]:
    return [value for name, value in headers if name == b"content-encoding"]


def _announced(size: int, limit: int, portion: Portion) -> None:
    """Refuse what cannot be held before it comes. Nothing is set aside for it: it may never come."""
    if size > limit:
        raise body_too_large(limit)
    if size > FREE:
        portion.expect(BYTE_COST * size)


async def _received(receive: Receive, limit: int, portion: Portion) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise CallerGoneError
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise body_too_large(limit)
        if size > FREE:
            portion.take(BYTE_COST * size - portion.size)
        if not message.get("more_body", False):
            return b"".join([*parts, part]) if parts else bytes(part)
        parts.append(part)


def _take(body: bytes, limit: int, portion: Portion) -> None:
    """Take memory for a body that came at once, within the limit."""
    if len(body) > limit:
        raise body_too_large(limit)
    if len(body) > FREE:
        portion.take(BYTE_COST * len(body) - portion.size)


def _decoded(body: bytes, encodings: list[bytes], limit: int) -> bytes:
    encoding = ", ".join([value.decode("latin-1").strip().lower() for value in encodings])
    if encoding in {"", "identity"}:
        return body
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise ApiError(
            415,
            f"The request's content-encoding {encoding[:40]!r} is not supported: use gzip, deflate or none.",
            code="unsupported_content_encoding",
        )
    try:
        return inflated(body, limit)
    except OverflowError as error:
        raise body_too_large(limit) from error
    except zlib.error as error:
        raise invalid_request(
            f"The request body is not valid {encoding}: it is damaged or cut off."
        ) from error


def decode_object(body: bytes) -> dict[str, Any]:
    """The body's JSON object, key order kept.

    Half of a surrogate pair, which some clients send where they cut an emoji, reads as U+FFFD.

    Raises:
        ApiError: 400 saying where the JSON is broken, or that it is not an object.
    """
    refuse_too_many(body)
    try:
        payload = read(body, orjson.loads)
    except orjson.JSONDecodeError as error:
        where = f" (line {error.lineno}, column {error.colno})" if body else ""
        said = f"The request body is not valid JSON: {error.msg}{where}."
        raise invalid_request(said, code="invalid_json") from None
    if not isinstance(payload, dict):
        raise invalid_request("The request body must be a JSON object.")
    return payload


def refuse_too_many(body: bytes) -> None:
    """Raise `ApiError` 400 for a body of too many values.

    Millions of small values take many seconds to decode, and nobody is served meanwhile. Text does not.
    """
    if holds_too_many(body):
        raise invalid_request(
            f"The request body holds more than {MAX_VALUES:,} JSON values.", code="too_many_values"
        )
