"""A foreign server's whole answer: read within bounds, its compression undone, its usage noted.

It is told apart here what of an answer the gateway must know (usage, id, error); the bytes go on as
they came.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.usage import Usage
from promptcache_gateway.errors import ApiError
from promptcache_gateway.upstreams.base import WholeReply

if TYPE_CHECKING:
    from promptcache_gateway.upstreams.base import RawHeaders
    from promptcache_gateway.upstreams.http_answer import HttpAnswer

MAX_WHOLE_BODY = 32 * 1024 * 1024


async def read_whole(answer: HttpAnswer) -> bytes:
    """The whole body; raises `ApiError` where a server of unknown length does not stop."""
    if answer.content_length is not None:
        return await answer.read()
    parts: list[bytes] = []
    size = 0
    async for part in answer.pieces():
        parts.append(part)
        size += len(part)
        if size > MAX_WHOLE_BODY:
            raise ApiError(
                502,
                f"The upstream's answer is larger than {MAX_WHOLE_BODY:,} bytes.",
                kind="upstream_error",
                code="upstream_answer_too_large",
            )
    return b"".join(parts)


def noted(status: int, headers: RawHeaders, body: bytes, *, readable: bool) -> WholeReply:
    """A reply with what its JSON says of usage, id and error."""
    usage, error, response_id = Usage.unreported(), None, None
    payload = json_object(body) if readable else None
    if payload is not None:
        if isinstance(payload.get("usage"), dict):
            usage = Usage.from_response(payload)
        if isinstance(payload.get("id"), str):
            response_id = payload["id"]
    if status >= 400:
        error = error_code(payload) or f"upstream_{status}"
    return WholeReply(
        status=status, headers=headers, body=body, usage=usage, error=error, response_id=response_id
    )


def json_object(body: bytes) -> dict[str, Any] | None:
    """The JSON object in a body, or None where it holds none."""
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return payload if isinstance(payload, dict) else None


def error_code(payload: dict[str, Any] | None) -> str | None:
    """The code, or else the type, in an error body of OpenAI's or Anthropic's shape."""
    error = payload.get("error") if payload is not None else None
    if not isinstance(error, dict):
        return None
    code = error.get("code") or error.get("type")
    return str(code)[:64] if code else None


def decompressed(body: bytes, encoding: str) -> bytes | None:
    """The body without its compression, or None where it is one we do not read.

    Servers are asked for none; some compress all the same.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return body
    if name not in {"gzip", "x-gzip", "deflate"}:
        return None
    inflater = zlib.decompressobj(wbits=47)
    try:
        plain = inflater.decompress(body, MAX_WHOLE_BODY)
    except zlib.error:
        return None
    return plain if inflater.eof else None  # a part must not pass for the whole
