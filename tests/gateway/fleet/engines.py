"""Engines made for tests, as far as their caches and events go: pages of tokens, hashes, messages, a replay.

The hashes are of our own making, as every engine's are of its own: nothing that reads events may rely on
them.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgpack
import zmq
import zmq.asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

STORED = ("block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id", "medium", "lora_name")


class FakeEngine:
    """A prefix cache of pages with LRU over leaves, which writes down what it does.

    Args:
        pages: how many it holds.
        page_size: tokens a page holds.
        form: ``array`` (SGLang, older vLLM) or ``map`` (newer vLLM).
        salts: the events tell the cache salt.
    """

    def __init__(self, pages: int = 64, page_size: int = 4, form: str = "map", *, salts: bool = True) -> None:
        self.capacity, self.page_size, self.form, self.salts = pages, page_size, form, salts
        self.pages: OrderedDict[bytes, None] = OrderedDict()
        self.batches: list[bytes] = []

    def hashes(self, tokens: Iterable[int], salt: str = "") -> list[bytes]:
        ids, name, made = list(tokens), salt.encode(), []
        for at in range(0, len(ids) - self.page_size + 1, self.page_size):
            name = hashlib.sha256(name + repr(ids[at : at + self.page_size]).encode()).digest()
            made.append(name)
        return made

    def run(self, tokens: Iterable[int], salt: str = "") -> int:
        """Compute a prompt; returns how many of its tokens were cached."""
        ids = list(tokens)
        names = self.hashes(ids, salt)
        hit = next((at for at, name in enumerate(names) if name not in self.pages), len(names))
        hit = min(hit, (len(ids) - 1) // self.page_size)
        new = [at for at in range(hit, len(names)) if names[at] not in self.pages]
        events = []
        for name in reversed(names):
            self.pages[name] = None
            self.pages.move_to_end(name)
        if new:
            first = new[0]
            events.append(self.stored(ids, names, first, salt))
        gone = []
        while len(self.pages) > self.capacity:
            gone.append(self.pages.popitem(last=False)[0])
        if gone:
            events.append(self._event("BlockRemoved", block_hashes=gone, medium="GPU"))
        if events:
            self.tell(events)
        return hit * self.page_size

    def stored(self, ids: list[int], names: list[bytes], first: int, salt: str = "") -> Any:
        size = self.page_size
        event = self._event(
            "BlockStored",
            block_hashes=names[first:],
            parent_block_hash=names[first - 1] if first else None,
            token_ids=ids[first * size : len(names) * size],
            block_size=size,
            lora_id=None,
            medium="GPU",
            lora_name=None,
        )
        if self.salts and self.form == "map":
            keys = [None] * (len(names) - first)
            if salt and not first:
                keys[0] = [["cache_salt", salt]]
            event["extra_keys"] = keys
        return event

    def clear(self) -> None:
        self.pages.clear()
        self.tell([self._event("AllBlocksCleared")])

    def tell(self, events: list[Any]) -> None:
        batch = {"ts": 1.0, "events": events, "data_parallel_rank": 0}
        self.batches.append(msgpack.packb(batch if self.form == "map" else list(batch.values())))

    def _event(self, name: str, **fields: Any) -> Any:
        return {"type": name, **fields} if self.form == "map" else [name, *fields.values()]


class Publisher:
    """Sends an engine's messages, or does not, and repeats those that it kept."""

    def __init__(self, pub: Any, events: str, replay: str) -> None:
        self._pub, self.events, self.replay = pub, events, replay
        self.kept: list[tuple[int, bytes]] = []
        self.number = 0
        self.asked: list[int] = []

    async def send(self, *batches: bytes, lost: bool = False, keep: bool = True) -> None:
        for batch in batches:
            if keep:
                self.kept.append((self.number, batch))
            if not lost:
                await self._pub.send_multipart([b"kv-events", self.number.to_bytes(8, "big"), batch])
            self.number += 1

    async def serve_replay(self, router: Any) -> None:
        while True:
            client, _, start = await router.recv_multipart()
            self.asked.append(int.from_bytes(start, "big"))
            for number, batch in self.kept:
                if number >= self.asked[-1]:
                    await router.send_multipart([client, b"", number.to_bytes(8, "big"), batch])
            await router.send_multipart([client, b"", (-1).to_bytes(8, "big", signed=True), b""])


@asynccontextmanager
async def publisher() -> AsyncIterator[Publisher]:
    """A publisher on loopback."""
    context = zmq.asyncio.Context()
    pub, router = context.socket(zmq.PUB), context.socket(zmq.ROUTER)
    ports = [socket.bind_to_random_port("tcp://127.0.0.1") for socket in (pub, router)]
    made = Publisher(pub, *(f"tcp://127.0.0.1:{port}" for port in ports))
    task = asyncio.create_task(made.serve_replay(router))
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        pub.close(0)
        router.close(0)
        context.term()
