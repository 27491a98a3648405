"""What goes out by the short way is what uvicorn would have sent, to the byte, and in the same state."""

from __future__ import annotations

import asyncio
import logging

from hypothesis import given, settings
from hypothesis import strategies as st
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from promptcache_gateway.answer_cycle import AnswerCycle
from promptcache_gateway.plane.responses import send_whole

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
Answer = tuple[int, list[tuple[bytes, bytes]], bytes]


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


def _cycle(
    kind: type[RequestResponseCycle], transport: Transport, method: str, ended: list[int], *, keep_alive: bool
) -> RequestResponseCycle:
    logger = logging.getLogger("test")
    return kind(
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


async def _answer(
    kind: type[RequestResponseCycle], method: str, answer: Answer, *, keep_alive: bool, disconnected: bool
) -> tuple[object, ...]:
    transport, ended = Transport(), list[int]()
    cycle = _cycle(kind, transport, method, ended, keep_alive=keep_alive)
    cycle.disconnected = disconnected
    error = ""
    try:
        await send_whole(cycle.send, *answer)  # type: ignore[arg-type]
    except (RuntimeError, ValueError, KeyError) as failed:
        error = repr(failed)
    state = (cycle.response_started, cycle.response_complete, cycle.chunked_encoding, cycle.keep_alive)
    rest = (cycle.expected_content_length, cycle.message_event.is_set(), cycle.waiting_for_100_continue)
    return b"".join(transport.said), transport.closed, len(ended), error, state, rest


@given(
    st.sampled_from(["POST", "GET", "HEAD"]),
    st.sampled_from([200, 204, 304, 404]),
    HEADERS,
    st.sampled_from([b"", b"hello", b"x" * 100_000]),
    st.booleans(),
    st.sampled_from([False, False, False, True]),
)
@settings(max_examples=200)
def test_it_says_what_uvicorn_says(
    method: str,
    status: int,
    headers: list[tuple[bytes, bytes]],
    body: bytes,
    keep_alive: bool,
    disconnected: bool,
) -> None:
    async def both() -> list[tuple[object, ...]]:
        answer = (status, headers, body)
        return [
            await _answer(kind, method, answer, keep_alive=keep_alive, disconnected=disconnected)
            for kind in (RequestResponseCycle, AnswerCycle)
        ]

    theirs, ours = asyncio.run(both())
    assert ours == theirs


def test_the_short_way_is_taken() -> None:
    """A plain answer goes out in one write, one with a header of the connection's by uvicorn's own way."""

    async def said(*headers: tuple[bytes, bytes]) -> list[bytes]:
        transport = Transport()
        cycle = _cycle(AnswerCycle, transport, "POST", [], keep_alive=True)
        await send_whole(cycle.send, 200, [*headers], b"hello")  # type: ignore[arg-type]
        return transport.said

    assert asyncio.run(said()) == [b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-length: 5\r\n\r\nhello"]
    assert len(asyncio.run(said((b"connection", b"close")))) == 2
