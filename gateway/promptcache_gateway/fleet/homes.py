"""Which cache's replicas keep an answer that a later request names: ``previous_response_id``, a conversation.

Unlike a pin this is no guess about warmth: only who keeps an answer can go on from it, others do not know it.
Keys are digests of tenant and id; they can be told to other processes.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptcache_gateway.exchange import Call
    from promptcache_gateway.fleet.prefix import Key

MAX_HOMES = 100_000
"""Answers that are remembered, about ten megabytes; of older ones is asked around."""

_KEY_BYTES = 12
_LONGEST_ID = 512

ToldHome = tuple["Key", str]
"""A home as it is told to others: the answer's key, and the cache."""


class Homes:
    """Homes by key, the least recently used forgotten first.

    Attributes:
        noted: called whenever there is something to tell others; None: nobody is told.
    """

    def __init__(self, max_homes: int = MAX_HOMES) -> None:
        self._max_homes = max_homes
        self._homes: OrderedDict[Key, str] = OrderedDict()
        self._news: dict[Key, None] = {}
        self.noted: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._homes)

    def find(self, key: Key | None) -> str | None:
        """The cache whose replicas keep an answer; None where that is not known."""
        if key is None or key not in self._homes:
            return None
        self._homes.move_to_end(key)
        return self._homes[key]

    def put(self, keys: Iterable[Key], cache: str) -> None:
        """Note where answers are kept."""
        new = [key for key in keys if self._homes.get(key) != cache]
        for key in new:
            self._set(key, cache)
            self._news[key] = None
        while len(self._news) > self._max_homes:
            del self._news[next(iter(self._news))]
        if new and self.noted is not None:
            self.noted()

    def news(self) -> list[ToldHome]:
        """What was noted since it was last asked."""
        told = [(key, self._homes[key]) for key in self._news if key in self._homes]
        self._news.clear()
        return told

    def learn(self, told: Iterable[ToldHome]) -> None:
        """Take what another process told."""
        for key, cache in told:
            self._set(key, cache)

    def _set(self, key: Key, cache: str) -> None:
        self._homes[key] = cache
        self._homes.move_to_end(key)
        while len(self._homes) > self._max_homes:
            self._homes.popitem(last=False)


def answer_key(tenant: str, name: str) -> Key:
    """The key of an answer, or of a conversation that is kept."""
    return blake2b(f"{tenant}\0{name}".encode("utf-8", "replace"), digest_size=_KEY_BYTES).digest()


def continued(call: Call) -> Key | None:
    """The key of what a call goes on from, where an upstream keeps that; None where it names nothing."""
    if call.dialect != "openai.responses":
        return None
    name = call.payload.get("previous_response_id") or conversation_of(call)
    return answer_key(call.tenant, name) if isinstance(name, str) and name else None


def kept_keys(call: Call, response_id: str | None) -> list[Key]:
    """The keys of what an answered call leaves at its upstream."""
    if call.dialect != "openai.responses":
        return []
    kept = response_id if call.payload.get("store") is not False else None
    names = [name for name in (kept, conversation_of(call)) if name and len(name) <= _LONGEST_ID]
    return [answer_key(call.tenant, name) for name in names]


def conversation_of(call: Call) -> str | None:
    """The id of the conversation that a call belongs to, where the upstream keeps it."""
    told = call.payload.get("conversation")
    name = told.get("id") if isinstance(told, dict) else told
    return name if isinstance(name, str) and name else None
