"""A scripted server with a prefix cache: least recently used first out, readable once an answer has begun."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson

from tests.gateway.mock_upstream import mock_upstream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gateway.mock_upstream import MockUpstream, Wire

PAGE = 64  # characters; a character is a token here


class CachingServer:
    """Answers chats with honest usage.

    Attributes:
        uncached: characters computed.
        asked: how often each last message was sent.
        together: the most requests that were under way at a time.
    """

    def __init__(self, capacity_pages: int, *, delay_s: float = 0.0) -> None:
        self._pages: OrderedDict[str, None] = OrderedDict()
        self._capacity, self._delay_s = capacity_pages, delay_s
        self._running = 0
        self.uncached = 0
        self.asked: Counter[str] = Counter()
        self.together = 0
        self.answered = threading.Semaphore(0)
        self.mock: MockUpstream

    async def __call__(self, wire: Wire) -> None:
        if wire.seen.line.startswith("GET"):
            await wire.respond(b'{"data":[]}')
            return
        body = orjson.loads(wire.seen.body)
        text = "".join(f"{message['role']}:{message['content']}" for message in body["messages"])
        self.asked[body["messages"][-1]["content"]] += 1
        self._running += 1
        self.together = max(self.together, self._running)
        pages = [text[:end] for end in range(PAGE, len(text) + 1, PAGE)]
        cached = 0
        for page in pages:
            if page not in self._pages:
                break
            self._pages.move_to_end(page)
            cached += PAGE
        self.uncached += len(text) - cached
        await asyncio.sleep(self._delay_s)
        for page in pages:
            self._pages[page] = None
            self._pages.move_to_end(page)
        while len(self._pages) > self._capacity:
            self._pages.popitem(last=False)
        self._running -= 1
        await wire.respond(answer(body["messages"][-1]["content"], len(text), cached))
        self.answered.release()


def answer(text: str, prompt: int, cached: int) -> bytes:
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": 2,
        "total_tokens": prompt + 2,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    message = {"role": "assistant", "content": f"echo {text}"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return orjson.dumps({"id": "c", "model": "gpt-4o-mini", "choices": choices, "usage": usage})


@contextmanager
def caching_server(capacity_pages: int = 10_000, *, delay_s: float = 0.0) -> Iterator[CachingServer]:
    server = CachingServer(capacity_pages, delay_s=delay_s)
    with mock_upstream(server) as mock:
        server.mock = mock
        yield server
