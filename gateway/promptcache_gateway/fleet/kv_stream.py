"""Follows a replica's events over ZMQ: notices what was missed, asks for it again, begins anew where it must.

Every message has a number, one more than the last. Where one is missing it is asked for at the replay
address; where that cannot help, what is known is dropped and routing goes by estimate until the cache is next
cleared.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Literal

import zmq
import zmq.asyncio

from promptcache_gateway.fleet.kv_events import CacheCleared, KvEventError, read_batch

if TYPE_CHECKING:
    from promptcache_gateway.fleet.kv_events import KvEvent
    from promptcache_gateway.fleet.kv_index import KvIndex
    from promptcache_gateway.fleet.tree import PrefixTree

_log = logging.getLogger("promptcache.gateway")

_REPLAY_S = 5.0
_NUMBER_BYTES = 8
_END = (-1).to_bytes(_NUMBER_BYTES, "big", signed=True)

Arrival = Literal["next", "known", "gap", "restart"]


class Sequence:
    """The numbers of a stream's messages."""

    def __init__(self) -> None:
        self.due = 0
        self._live = -1

    def arrival(self, number: int) -> Arrival:
        """What a live message is: the next one, one that a replay brought, behind a gap, a new beginning."""
        restarted = number <= self._live
        self._live = number
        if restarted:
            self.due = 0
            return "restart"
        if number < self.due:
            return "known"
        return "next" if number == self.due else "gap"


class KvStream:
    """The events of one replica, from its ZMQ address into its index.

    Args:
        events: the address its messages come from.
        replay: the address where missed ones are asked for; empty: nowhere.
        index: what they are kept in.
        tree: the estimate for prompts whose tokens are not known, which is cleared with the cache.
    """

    def __init__(
        self,
        events: str,
        replay: str,
        index: KvIndex,
        tree: PrefixTree | None = None,
    ) -> None:
        self._events, self._replay = events, replay
        self._index, self._tree = index, tree
        self.sequence = Sequence()
        self.gaps = 0
        self.replayed = 0
        self.unreadable = 0

    def view(self) -> dict[str, Any]:
        """What an operator wants to see; ``whole``: what is known is exact."""
        return {
            "whole": self._index.whole,
            "pages": len(self._index),
            "tokens": self._index.tokens,
            "page_size": self._index.page_size,
            "heard": self.sequence.due,
            "gaps": self.gaps,
            "replayed": self.replayed,
            "unreadable": self.unreadable,
        }

    async def run(self) -> None:
        """Follow until cancelled."""
        context = zmq.asyncio.Context()
        socket = context.socket(zmq.SUB)
        try:
            socket.setsockopt(zmq.SUBSCRIBE, b"")
            socket.setsockopt(zmq.LINGER, 0)
            if not _connects(socket, self._events, "kv_events"):
                self._index.begin(whole=False)
                return
            await self._catch_up(context)
            while True:
                frames = await socket.recv_multipart()
                if len(frames) < 2 or len(frames[-2]) != _NUMBER_BYTES:
                    self.unreadable += 1
                    continue
                await self._take(context, int.from_bytes(frames[-2], "big"), frames[-1])
        finally:
            socket.close(0)
            context.term()

    async def _take(self, context: Any, number: int, payload: bytes) -> None:
        arrival = self.sequence.arrival(number)
        if arrival == "known":
            return
        if arrival == "restart":
            self._index.begin(whole=number == 0)
            if self._tree is not None:
                self._tree.clear()
        if arrival == "gap" or (arrival == "restart" and number):
            self.gaps += 1
            await self._catch_up(context, upto=number)
            if number < self.sequence.due:
                return
            self._lose(number)
        self._apply(number, payload)

    def _lose(self, number: int) -> None:
        """What was missed cannot be had: nothing that is known is sure any longer."""
        _log.warning("KV events of %s were missed before number %d", self._events, number)
        self._index.begin(whole=False)

    async def _catch_up(self, context: Any, upto: int | None = None) -> None:
        """Ask for what was sent since the last known message; ``upto``: the live one that showed a gap."""
        if not self._replay:
            if upto is None:  # before the first live message: it tells by its number whether any was missed
                self._index.begin(whole=True)
            return
        socket = context.socket(zmq.DEALER)
        try:
            socket.setsockopt(zmq.LINGER, 0)
            if not _connects(socket, self._replay, "kv_replay"):
                self._replay = ""
                await self._catch_up(context, upto)
                return
            await socket.send_multipart([b"", self.sequence.due.to_bytes(_NUMBER_BYTES, "big")])
            async with asyncio.timeout(_REPLAY_S):
                await self._hear_again(socket)
        except TimeoutError:
            if upto is None:
                self._index.begin(whole=True)
        finally:
            socket.close(0)

    async def _hear_again(self, socket: Any) -> None:
        past = not self.sequence.due  # what was told before we came says nothing of our own estimates
        first = True
        while True:
            frames = await socket.recv_multipart()
            number, payload = frames[-2], frames[-1]
            if number == _END:
                if first and not self.sequence.due:
                    self._index.begin(whole=True)
                return
            told = int.from_bytes(number, "big")
            if first and told == 0:
                self._index.begin(whole=True)
            elif told != self.sequence.due:
                self._index.begin(whole=False)
            first = False
            self.replayed += 1
            self._apply(told, payload, past=past)

    def _apply(self, number: int, payload: bytes, *, past: bool = False) -> None:
        self.sequence.due = number + 1
        try:
            events = read_batch(payload)
        except KvEventError:
            self.unreadable += 1
            self._lose(number)
            return
        self._index.apply(events)
        if not past:
            self._teach(events)

    def _teach(self, events: tuple[KvEvent, ...]) -> None:
        if self._tree is None:
            return
        if any(isinstance(event, CacheCleared) for event in events):
            self._tree.clear()


def _connects(socket: Any, address: str, setting: str) -> bool:
    """Begin to connect; False, and a line in the log, where the address can never be connected to."""
    try:
        socket.connect(address)
    except zmq.ZMQError as error:
        _log.error(
            "%s: %s cannot be connected to (%s); the replica is estimated. Write tcp://HOST:PORT.",
            setting,
            address,
            error.strerror,
        )
        return False
    return True
