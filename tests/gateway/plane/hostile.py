"""One table of what a hostile upstream does, and what a caller of any API must get for it.

``THEIRS``: the upstream's own answer, byte for byte. ``OURS``: an error of the gateway's in the API's own
shape, with its status. ``CUT``: a stream that had begun and ends with an error event of the API's shape.
A script may be written for both kinds of request, or for streams only.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson

from tests.gateway.mock_upstream import DONE, Wire, chunk, sse

THEIRS, CUT = "theirs", "cut"
Script = Callable[[Wire], Awaitable[None]]


@dataclass(frozen=True)
class Behaviour:
    """What the upstream does, and what is expected of it: `THEIRS`, `CUT`, or the status of our error."""

    name: str
    script: Script
    expected: str | int
    streams_only: bool = False


def raw(*parts: bytes, pause: float = 0.0, then: str = "close") -> Script:
    """Send bytes as they are, and then close, reset or go on."""

    async def script(wire: Wire) -> None:
        for part in parts:
            await wire.send(part)
            if pause:
                await asyncio.sleep(pause)
        if then == "reset":
            wire.reset()
        elif then == "close":
            wire.writer.close()
        elif then == "silence":
            await wire.gone()

    return script


def drip(data: bytes, size: int, pause: float) -> Script:
    """Send bytes in small pieces, slowly."""
    return raw(*[data[at : at + size] for at in range(0, len(data), size)], pause=pause, then="go on")


def whole(body: bytes, status: str = "200 OK", *headers: str, kind: str = "application/json") -> Script:
    async def script(wire: Wire) -> None:
        await wire.respond(body, status=status, headers=headers, kind=kind)

    return script


def events(*parts: bytes, then: str = "end", headers: tuple[str, ...] = ()) -> Script:
    """A stream of events that ends, or does not."""

    async def script(wire: Wire) -> None:
        await wire.start_events(*headers)
        for part in parts:
            await wire.part(part)
        if then == "end":
            await wire.end()
        elif then == "close":
            wire.writer.close()
        elif then == "reset":
            wire.reset()
        elif then == "silence":
            await wire.gone()

    return script


def answer(usage: object) -> bytes:
    message = {"role": "assistant", "content": "Hello."}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return orjson.dumps(
        {"id": "x", "object": "chat.completion", "model": "m", "choices": choices, "usage": usage}
    )


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
GOOD = answer({"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6})
SIZED = HEAD + b"content-length: %d\r\n\r\n" % len(GOOD)
EVENT = sse(chunk("Hello"))
ERROR = b'{"error": {"message": "no", "type": "x"}}'
DEEP = b"[" * 5_000 + b"]" * 5_000

TABLE = (
    # --- no answer ---
    Behaviour("closes at once", raw(), 502),
    Behaviour("resets at once", raw(then="reset"), 502),
    Behaviour("says nothing", raw(then="silence"), 504),
    Behaviour("sends garbage", raw(b"\x16\x03\x01 this is no HTTP\r\n\r\n"), 502),
    Behaviour("sends half a status line", raw(b"HTTP/1.1 20"), 502),
    Behaviour("stops in its headers", raw(HEAD, then="silence"), 504),
    Behaviour("closes in its headers", raw(HEAD), 502),
    Behaviour("sends a header of 100 KB", raw(HEAD + b"x-a: " + b"a" * 100_000 + b"\r\n\r\n"), 502),
    Behaviour("sends two lengths", raw(HEAD + b"content-length: 5\r\ncontent-length: 7\r\n\r\nhello"), 502),
    Behaviour("sends a negative length", raw(HEAD + b"content-length: -1\r\n\r\n"), 502),
    Behaviour("has a status of six hundred", whole(GOOD, "600 Odd"), 502),
    Behaviour("has a status of nothing", whole(GOOD, "000 Odd"), 502),
    # --- half an answer ---
    Behaviour("closes in its body", raw(SIZED, GOOD[:20]), 502),
    Behaviour("resets in its body", raw(SIZED, GOOD[:20], then="reset"), 502),
    Behaviour("stops in its body", raw(SIZED, GOOD[:20], then="silence"), 504),
    Behaviour(
        "sends a chunk that is none", raw(HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\nhello"), 502
    ),
    Behaviour("closes between chunks", raw(HEAD + b'transfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n'), 502),
    # --- slow, and right in the end ---
    Behaviour("drips its answer", drip(SIZED + GOOD, 24, 0.01), THEIRS),
    Behaviour("says 100 first", raw(b"HTTP/1.1 100 Continue\r\n\r\n", SIZED, GOOD, then="go on"), THEIRS),
    # --- whole answers that are wrong ---
    Behaviour("answers nothing", whole(b""), THEIRS),
    Behaviour("answers a page", whole(b"<html>Bad gateway</html>", kind="text/html"), THEIRS),
    Behaviour("answers half a JSON", whole(GOOD[:-20]), THEIRS),
    Behaviour("answers a list", whole(b"[1, 2]"), THEIRS),
    Behaviour("answers null", whole(b"null"), THEIRS),
    Behaviour("answers what is nested too deep", whole(b'{"usage": ' + DEEP + b"}"), THEIRS),
    Behaviour("answers bytes that are no text", whole(b'{"id": "\xff\xfe\x00"}'), THEIRS),
    Behaviour("counts in texts", whole(answer({"prompt_tokens": "5", "completion_tokens": None})), THEIRS),
    Behaviour("counts below zero", whole(answer({"prompt_tokens": -5, "completion_tokens": -1})), THEIRS),
    Behaviour(
        "counts beyond measure", whole(answer({"prompt_tokens": 10**18, "completion_tokens": 2**62})), THEIRS
    ),
    Behaviour(
        "counts more cached than sent",
        whole(
            answer(
                {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 900}}
            )
        ),
        THEIRS,
    ),
    Behaviour(
        "counts in lists", whole(answer({"prompt_tokens": [5], "prompt_tokens_details": "no"})), THEIRS
    ),
    Behaviour("counts nothing", whole(answer(None)), THEIRS),
    Behaviour("compresses unasked", whole(gzip.compress(GOOD), "200 OK", "content-encoding: gzip"), THEIRS),
    Behaviour("says it compressed, and did not", whole(GOOD, "200 OK", "content-encoding: gzip"), THEIRS),
    Behaviour("sends a hundred headers", whole(GOOD, "200 OK", *(f"x-h{n}: v" for n in range(100))), THEIRS),
    Behaviour(
        "sends headers of ours",
        whole(GOOD, "200 OK", "x-promptcache-request-id: forged", "set-cookie: a=b"),
        THEIRS,
    ),
    Behaviour("sends control bytes in a header", whole(GOOD, "200 OK", "x-a: f\0o\1o\x7f"), THEIRS),
    Behaviour(
        "compresses in two parts",
        whole(gzip.compress(GOOD[:20]) + gzip.compress(GOOD[20:]), "200 OK", "content-encoding: gzip"),
        THEIRS,
    ),
    # --- refusals ---
    Behaviour("refuses the key", whole(ERROR, "401 Unauthorized"), THEIRS),
    Behaviour("knows no such path", whole(b"not found", "404 Not Found", kind="text/plain"), THEIRS),
    Behaviour("wants a long pause", whole(ERROR, "429 Too Many Requests", "retry-after: 1000"), THEIRS),
    Behaviour(
        "wants a pause of nonsense", whole(ERROR, "429 Too Many Requests", "retry-after: soon"), THEIRS
    ),
    Behaviour("breaks", whole(ERROR, "500 Internal Server Error"), THEIRS),
    Behaviour("is overloaded", whole(b"", "529 Overloaded"), THEIRS),
    Behaviour("is away", whole(b"<html>", "503 Service Unavailable", kind="text/html"), THEIRS),
    Behaviour("leads elsewhere", whole(b"", "302 Found", "location: http://169.254.169.254/"), THEIRS),
    Behaviour("has no content", raw(b"HTTP/1.1 204 No Content\r\n\r\n", then="go on"), THEIRS),
    # --- streams ---
    Behaviour("closes between events", events(EVENT, then="close"), CUT, streams_only=True),
    Behaviour("resets between events", events(EVENT, then="reset"), CUT, streams_only=True),
    Behaviour("stops between events", events(EVENT, then="silence"), CUT, streams_only=True),
    Behaviour("closes inside an event", events(EVENT, EVENT[:9], then="close"), CUT, streams_only=True),
    Behaviour("stops inside an event", events(EVENT, EVENT[:9], then="silence"), CUT, streams_only=True),
    Behaviour("ends without its last event", events(EVENT), THEIRS, streams_only=True),
    Behaviour("sends no event", events(), THEIRS, streams_only=True),
    Behaviour("sends comments only", events(b": a\n\n", b": b\n\n"), THEIRS, streams_only=True),
    Behaviour("sends events that are no JSON", events(b"data: {no\n\n", DONE), THEIRS, streams_only=True),
    Behaviour(
        "sends events that are lists",
        events(b"data: [1]\n\n", b"data: 7\n\n", DONE),
        THEIRS,
        streams_only=True,
    ),
    Behaviour("sends bytes that are no text", events(b"data: \xff\xfe\n\n", DONE), THEIRS, streams_only=True),
    Behaviour("sends NUL", events(b'data: {"a": "\x00"}\n\n', b"\x00\n\n", DONE), THEIRS, streams_only=True),
    Behaviour(
        "ends lines as DOS does", events(EVENT.replace(b"\n", b"\r\n"), DONE), THEIRS, streams_only=True
    ),
    Behaviour(
        "begins with a byte order mark", events(b"\xef\xbb\xbf" + EVENT, DONE), THEIRS, streams_only=True
    ),
    Behaviour(
        "sends an event of a megabyte", events(sse(chunk("x" * 2**20)), DONE), THEIRS, streams_only=True
    ),
    Behaviour("sends a line without an end", events(b"data: " + b"x" * 2**20), THEIRS, streams_only=True),
    Behaviour("sends 3,000 events", events(*[EVENT] * 3_000, DONE), THEIRS, streams_only=True),
    Behaviour(
        "splits events anywhere",
        events(*[EVENT[at : at + 1] for at in range(len(EVENT))], DONE),
        THEIRS,
        streams_only=True,
    ),
    Behaviour(
        "counts below zero in a stream",
        events(
            EVENT,
            sse({**chunk(""), "choices": [], "usage": {"prompt_tokens": -1, "completion_tokens": "x"}}),
            DONE,
        ),
        THEIRS,
        streams_only=True,
    ),
    Behaviour("goes on after its last event", events(EVENT, DONE, EVENT, DONE), THEIRS, streams_only=True),
    Behaviour("answers whole where a stream was asked for", whole(GOOD), THEIRS, streams_only=True),
)
