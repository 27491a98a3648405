"""A foreign server's whole answer: read within bounds, its compression undone, its usage noted.

It is told apart here what of an answer the gateway must know (usage, id, error); the bytes go on as
they came. All answers that are held at a time take so much memory together, and no more; one of more values
than can be decoded in time is looked through for what must be known.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.usage import Usage
from promptcache_gateway.errors import ApiError, their_code
from promptcache_gateway.exact_json import read
from promptcache_gateway.under_way import UnderWay
from promptcache_gateway.upstreams.base import NotGivenError, WholeReply
from promptcache_gateway.upstreams.json_weight import FREE, holds_too_many, weight
from promptcache_gateway.upstreams.splice import some_members
from promptcache_gateway.upstreams.told_errors import told_error

if TYPE_CHECKING:
    from promptcache_gateway.under_way import Hold
    from promptcache_gateway.upstreams.base import RawHeaders
    from promptcache_gateway.upstreams.http_answer import HttpAnswer

MAX_WHOLE_BODY = 32 * 1024 * 1024
# What an answer that is relayed takes for each byte: as it came, and once more where its caller is slower.
HELD_COST = 2
_GZIP = b"\x1f\x8b"
_MAX_MEMBERS = 10_000
_NOTED = frozenset({"usage", "id", "error"})
_NOTHING: dict[str, Any] = {}
_REFUSAL = frozenset({"error", "type", "request_id", "error_type", "object", "message", "param", "code"})
"""The members of an error's body, of OpenAI's shape, Anthropic's, TGI's or SGLang's."""
_MOST_BRACKETS = 200_000
"""Of an answer that is looked through: that takes a tenth of a second."""
_STEP = 64 * 1024
"""Bytes that are given to the inflater at a time; what it leaves of them at a member's end is copied."""


def answers_under_way(most: int) -> UnderWay:
    """The budget of ``most`` bytes of memory for the answers that are held whole together."""
    return UnderWay(most, "The answers of upstreams that are held whole", "[serve] answers_mib")


class NotHeldError(Exception):
    """An answer is not held whole; what of it has not been read is still to come.

    Attributes:
        why: 502 where it is larger than ``MAX_WHOLE_BODY``, 503 where other answers leave no room for it.
        parts: what has been read.
        hold: what that takes of the memory for answers.
    """

    def __init__(self, why: ApiError, parts: list[bytes], hold: Hold | None) -> None:
        super().__init__()
        self.why, self.parts, self.hold = why, parts, hold


async def read_whole(answer: HttpAnswer, answers: UnderWay | None, tenant: str) -> tuple[bytes, Hold | None]:
    """The whole body, and what it takes of the memory for answers; a small one takes nothing.

    Raises:
        NotHeldError: it is larger than ``MAX_WHOLE_BODY``, announced or not, or there is no room for it.
    """
    length = answer.content_length
    if length is not None and length > MAX_WHOLE_BODY:
        raise NotHeldError(too_large(), [], None)
    if length is not None and (length <= FREE or answers is None):
        return await answer.read(), None
    hold = None if answers is None else answers.hold(tenant)
    parts: list[bytes] = []
    try:
        await _read_pieces(answer, hold, parts)
    except ApiError as error:
        raise NotHeldError(error, parts, hold) from None
    except BaseException:
        if hold is not None:
            hold.end()  # the error's traceback would keep it
        raise
    return b"".join(parts), hold


async def _read_pieces(answer: HttpAnswer, hold: Hold | None, parts: list[bytes]) -> None:
    if hold is not None and answer.content_length is not None:
        hold.expect(HELD_COST * answer.content_length)
    size = 0
    async for part in answer.pieces():
        parts.append(part)
        size += len(part)
        if size > MAX_WHOLE_BODY:
            raise too_large()
        if hold is not None and size > FREE:
            hold.take(HELD_COST * size - hold.size)


def taken_for(hold: Hold, size: int, reply: WholeReply) -> None:
    """Take so many bytes in all for an answer that has been read; raises `ApiError` 503."""
    try:
        hold.take(max(0, size - hold.size))
    except ApiError as error:
        hold.end()  # the error's traceback would keep it
        raise NotGivenError(error, reply) from None


def weighed(reply: WholeReply) -> None:
    """Take what an answer takes that is to be translated; raises `ApiError` 503, which holds what it cost."""
    if reply.hold is not None:
        taken_for(reply.hold, weight(reply.body), reply)


def too_large() -> ApiError:
    """502: an answer is larger than ``MAX_WHOLE_BODY``."""
    message = f"The upstream's answer is larger than {MAX_WHOLE_BODY:,} bytes."
    return ApiError(502, message, kind="upstream_error", code="upstream_answer_too_large")


def noted(
    status: int, headers: RawHeaders, body: bytes, *, readable: bool, hold: Hold | None = None
) -> WholeReply:
    """A reply with what its JSON says of usage, id and error."""
    payload = (_what_is_noted(body) if readable else None) or _NOTHING
    usage = Usage.from_response(payload) if isinstance(payload.get("usage"), dict) else Usage.unreported()
    own = payload.get("id")
    error = None
    if status >= 300:  # a redirect, which is not followed, answers nobody either
        error = error_code(payload) or f"upstream_{status}"
    elif _is_refusal(payload, body) or _has_failed(payload):
        error = error_code(payload) or "upstream_error"
    response_id = own if isinstance(own, str) else None
    return WholeReply(status, headers, body, usage, None, None, error, response_id, hold)


def _is_refusal(payload: dict[str, Any], body: bytes) -> bool:
    """Whether an answer under a good status holds an error and nothing else: nobody was answered."""
    return payload.keys() <= _REFUSAL and len(body) <= FREE and told_error(payload) is not None


def _has_failed(payload: dict[str, Any]) -> bool:
    """Whether it is a response of OpenAI's that holds why there is no answer."""
    return payload.get("status") == "failed" and payload.get("object") == "response"


def _what_is_noted(body: bytes) -> dict[str, Any] | None:
    """The object in a body; of one of too many values what can be found of the members to note."""
    if not holds_too_many(body):
        return _object_of(body)
    if sum(body.count(mark) for mark in (b"[", b"{", b'"')) > _MOST_BRACKETS:
        return None
    try:
        found = some_members(body, _NOTED)
        return {name: orjson.loads(value) for name, value in found.items() if len(value) <= FREE}
    except ValueError:  # it is no JSON
        return None


def json_object(body: bytes) -> dict[str, Any] | None:
    """The JSON object in a body, or None where it holds none, or more values than can be decoded in time."""
    return None if holds_too_many(body) else _object_of(body)


def _object_of(body: bytes) -> dict[str, Any] | None:
    try:
        payload = read(body, orjson.loads)
    except orjson.JSONDecodeError:
        return None
    return payload if isinstance(payload, dict) else None


def error_code(payload: dict[str, Any] | None) -> str | None:
    """The code, or else the type, in an error body of OpenAI's or Anthropic's shape."""
    error = told_error(payload) if payload is not None else None
    return their_code(error) if error is not None else None


def decompressed(body: bytes, encoding: str) -> bytes | None:
    """The body without its compression, or None where it is one we do not read, or not to its end.

    Servers are asked for none; some compress all the same. A gzip body may have several members (RFC 1952,
    2.2); what follows the last and is none is no part of it.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return body
    if name not in {"gzip", "x-gzip", "deflate"}:
        return None
    try:
        return inflated(body, MAX_WHOLE_BODY)
    except (zlib.error, OverflowError):
        return None


def inflated(body: bytes, most: int) -> bytes:
    """What gzip or zlib made smaller, every member.

    Raises:
        zlib.error: it is damaged, or breaks off: a part must not pass for the whole.
        OverflowError: it is more than ``most`` bytes.
    """
    plain: list[bytes] = []
    room, rest = most, memoryview(body)
    for _ in range(_MAX_MEMBERS):
        inflater = zlib.decompressobj(wbits=47)
        while rest and not inflater.eof:
            given, rest = rest[:_STEP], rest[_STEP:]
            plain.append(inflater.decompress(given, room + 1))
            room -= len(plain[-1])
            if room < 0:
                raise OverflowError
        if not inflater.eof:
            raise zlib.error("it ends too early")
        rest = memoryview(body)[len(body) - len(rest) - len(inflater.unused_data) :]
        if bytes(rest[:2]) != _GZIP:
            return b"".join(plain)
    raise zlib.error("it has too many members")
