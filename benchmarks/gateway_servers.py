"""The servers that the gateway's benchmark measures against: a mock upstream, and a bare pass-through.

Each does as little as a server can. Started by `gateway.py` in processes of their own.
"""

from __future__ import annotations

import asyncio

EVENTS = 200
CHUNK = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
)
USAGE = b'"usage":{"prompt_tokens":500,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":448}}'
WHOLE = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"' + b"word " * 40 + b'"},"finish_reason":"stop"}],' + USAGE + b"}"
)


# --- the mock upstream: as little work as a server can do ---


async def mock_upstream(port: int) -> None:
    """Answer every request at once, from constants."""
    streamed = b"".join(b"%x\r\n%b\r\n" % (len(CHUNK), CHUNK) for _ in range(EVENTS))
    last = b'data: {"id":"chatcmpl-1","choices":[],' + USAGE + b"}\n\ndata: [DONE]\n\n"
    tail = b"%x\r\n%b\r\n0\r\n\r\n" % (len(last), last)
    events = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    whole = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
    whole %= (len(WHOLE), WHOLE)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _until_blank(reader):
            body = await reader.readexactly(content_length(head))
            if b'"stream":true' in body:
                writer.write(events)
                # One write an event with a pause, so that they arrive one by one, as tokens do.
                for start in range(0, len(streamed), len(streamed) // EVENTS):
                    writer.write(streamed[start : start + len(streamed) // EVENTS])
                    await asyncio.sleep(0)
                writer.write(tail)
            else:
                writer.write(whole)
            await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=2**22)
    await server.serve_forever()


async def _until_blank(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def content_length(head: bytes) -> int:
    """What a head announces, 0 where it announces nothing."""
    lower = head.lower()
    at = lower.find(b"content-length:")
    return 0 if at < 0 else int(lower[at + 15 : lower.index(b"\r\n", at)])


# --- the floor ---


def floor(port: int, upstream: str) -> None:
    """Forward bytes, and nothing else."""
    import aiohttp  # noqa: PLC0415 - each process loads what it runs
    import uvicorn  # noqa: PLC0415

    session: aiohttp.ClientSession | None = None

    async def app(scope, receive, send):
        nonlocal session
        if session is None:
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(),
            )
        body = b""
        more = True
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        headers = {"content-type": "application/json"}
        async with session.post(upstream + scope["path"], data=body, headers=headers) as response:
            kind = response.headers["content-type"].encode()
            await send(
                {
                    "type": "http.response.start",
                    "status": response.status,
                    "headers": [(b"content-type", kind)],
                }
            )
            async for part in response.content.iter_any():
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    uvicorn.run(
        app, port=port, http="httptools", loop="uvloop", log_level="warning", access_log=False, lifespan="off"
    )
