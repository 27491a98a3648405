"""What goes out by the short way is what uvicorn would have sent, to the byte, and in the same state."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from promptcache_gateway.answer_cycle import AnswerCycle

NAMES = st.sampled_from(
    [
        *(b"content-type", b"x-request-id", b"Content-Length", b"content-length", b"connection"),
        *(b"transfer-encoding", b"X-Upper", b"bad name", b"set-cookie", b""),
    ]
)
VALUES = st.sampled_from(
    [
        b"application/json",
        b"0",
        b"5",
        b"-5",
        b"5 ",
        b"close",
        b"keep-alive",
        b"chunked",
        b"a\r\nb: c",
        b"\xc3\xa9",
        b"\t",
    ]
)
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=4)
BODIES = st.lists(st.tuples(st.sampled_from([b"", b"abc", b"hello", b"hello!"]), st.booleans()), max_size=3)


class Transport:
    """Notes what is written."""

    def __init__(self) -> None:
        self.said: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        """Take bytes."""
        self.said.append(data)

    def close(self) -> None:
        """Hang up."""
        self.closed = True


async def _play(
    kind: type[RequestResponseCycle],
    method: str,
    messages: list[dict[str, Any]],
    *,
    keep_alive: bool,
    disconnected: bool,
) -> tuple[object, ...]:
    transport = Transport()
    ended: list[int] = []
    logger = logging.getLogger("test")
    cycle = kind(
        scope={"type": "http", "method": method},  # type: ignore[typeddict-item]
        transport=transport,  # type: ignore[arg-type]
        flow=FlowControl(transport),  # type: ignore[arg-type]
        logger=logger,
        access_logger=logger,
        access_log=False,
        default_headers=[(b"date", b"today")],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive,
        on_response=lambda: ended.append(1),
    )
    cycle.disconnected = disconnected
    error = ""
    try:
        for message in messages:
            await cycle.send(message)  # type: ignore[arg-type]
    except (RuntimeError, ValueError, KeyError) as failed:
        error = repr(failed)
    state = (cycle.response_started, cycle.response_complete, cycle.chunked_encoding, cycle.keep_alive)
    rest = (cycle.expected_content_length, cycle.message_event.is_set(), cycle.waiting_for_100_continue)
    return b"".join(transport.said), transport.closed, len(ended), error, state, rest


@given(
    st.sampled_from(["POST", "GET", "HEAD"]),
    st.sampled_from([200, 204, 304, 404]),
    HEADERS,
    st.sampled_from([b"", b"5", b"5", b"5"]),
    BODIES,
    st.booleans(),
    st.sampled_from([False, False, False, True]),
)
@settings(max_examples=400, deadline=None)
def test_it_says_what_uvicorn_says(
    method: str,
    status: int,
    headers: list[tuple[bytes, bytes]],
    length: bytes,
    bodies: list[tuple[bytes, bool]],
    keep_alive: bool,
    disconnected: bool,
) -> None:
    announced = [*headers, (b"content-length", length)] if length else headers
    messages: list[dict[str, Any]] = [{"type": "http.response.start", "status": status, "headers": announced}]
    messages += [{"type": "http.response.body", "body": body, "more_body": more} for body, more in bodies]

    async def both() -> list[tuple[object, ...]]:
        return [
            await _play(kind, method, messages, keep_alive=keep_alive, disconnected=disconnected)
            for kind in (RequestResponseCycle, AnswerCycle)
        ]

    theirs, ours = asyncio.run(both())
    assert ours == theirs


def test_the_short_way_is_taken() -> None:
    """One whole answer goes out in two writes, and uvicorn's own way is not asked."""
    messages = [
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]},
        {"type": "http.response.body", "body": b"hello", "more_body": False},
    ]
    asked: list[object] = []

    class Watched(AnswerCycle):
        def _sent(self, message: Any) -> bool:
            asked.append(done := super()._sent(message))
            return done

    said = asyncio.run(_play(Watched, "POST", messages, keep_alive=True, disconnected=False))
    assert asked == [True, True]
    assert said[0] == b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: 5\r\n\r\nhello"
