"""Which cache's replicas keep an answer that a later request names: ``previous_response_id``, a conversation.

Unlike a pin this is no guess about warmth: only who keeps an answer can go on from it, others do not know it.
It also tells whose an answer is: nobody goes on from what another tenant was given. Keys are digests of ids,
owners digests of tenant and id; they can be told to other processes.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from promptcache_gateway.errors import invalid_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptcache_gateway.errors import ApiError
    from promptcache_gateway.exchange import Call

Key = bytes

MAX_HOMES = 100_000
"""Answers that are remembered, about ten megabytes; of older ones is asked around."""

_KEY_BYTES = 12
_OWNER_BYTES = 8
_LONGEST_ID = 512
_UNKNOWN = b""


class Named(NamedTuple):
    """What a request goes on from, or leaves behind.

    Attributes:
        key: an answer's or a conversation's.
        owner: the tenant's for this answer; empty: anybody's, or it is not known whose.
    """

    key: Key
    owner: bytes = _UNKNOWN


class ToldHome(NamedTuple):
    """A home as it is told to others."""

    key: Key
    cache: str
    owner: bytes


class _Home(NamedTuple):
    cache: str
    owner: bytes


class Homes:
    """Homes by key, the least recently used forgotten first.

    Attributes:
        noted: called whenever there is something to tell others; None: nobody is told.
    """

    def __init__(self, max_homes: int = MAX_HOMES) -> None:
        self._max_homes = max_homes
        self._homes: OrderedDict[Key, _Home] = OrderedDict()
        self._news: dict[Key, None] = {}
        self.noted: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._homes)

    def find(self, named: Named | None) -> str | None:
        """The cache whose replicas keep an answer; None where that is not known."""
        if named is None or named.key not in self._homes:
            return None
        self._homes.move_to_end(named.key)
        return self._homes[named.key].cache

    def is_anothers(self, named: Named | None) -> bool:
        """Whether an answer is known to be another tenant's."""
        home = None if named is None else self._homes.get(named.key)
        return home is not None and named is not None and home.owner not in {_UNKNOWN, named.owner}

    def put(self, names: Iterable[Named], cache: str) -> None:
        """Note where answers are kept, and whose they are; what is known of that stays."""
        new = False
        for key, owner in names:
            known = self._homes.get(key)
            home = _Home(cache, owner if known is None else owner or known.owner)
            if home != known:
                self._set(key, home)
                self._news[key] = None
                new = True
        while len(self._news) > self._max_homes:
            del self._news[next(iter(self._news))]
        if new and self.noted is not None:
            self.noted()

    def news(self) -> list[ToldHome]:
        """What was noted since it was last asked."""
        told = [ToldHome(key, *self._homes[key]) for key in self._news if key in self._homes]
        self._news.clear()
        return told

    def learn(self, told: Iterable[ToldHome]) -> None:
        """Take what another process told."""
        for key, cache, owner in told:
            known = self._homes.get(key)
            self._set(key, _Home(cache, owner or (_UNKNOWN if known is None else known.owner)))

    def _set(self, key: Key, home: _Home) -> None:
        self._homes[key] = home
        self._homes.move_to_end(key)
        while len(self._homes) > self._max_homes:
            self._homes.popitem(last=False)


def answer(tenant: str, name: str) -> Named:
    """An answer that a tenant was given."""
    owner = f"{tenant}\0{name}".encode("utf-8", "replace")
    return Named(_digest(f"a{name}"), blake2b(owner, digest_size=_OWNER_BYTES).digest())


def conversation(name: str) -> Named:
    """A conversation, which no request through here began: whose it is is not known."""
    return Named(_digest(f"c{name}"))


def continued(call: Call) -> Named | None:
    """What a call goes on from, where an upstream keeps that; None where it names nothing."""
    if call.dialect != "openai.responses":
        return None
    name = call.payload.get("previous_response_id")
    if isinstance(name, str) and name:
        return answer(call.tenant, name)
    kept = conversation_of(call)
    return None if kept is None else conversation(kept)


def kept_names(call: Call, response_id: str | None) -> list[Named]:
    """What an answered call leaves at its upstream."""
    if call.dialect != "openai.responses":
        return []
    left = []
    if response_id and call.payload.get("store") is not False and len(response_id) <= _LONGEST_ID:
        left.append(answer(call.tenant, response_id))
    kept = conversation_of(call)
    if kept is not None and len(kept) <= _LONGEST_ID:
        left.append(conversation(kept))
    return left


def not_there(call: Call) -> ApiError:
    """What a call gets that goes on from another tenant's answer: the same as where there is none."""
    name = str(call.payload.get("previous_response_id"))[:64]
    return invalid_request(
        f"Previous response with id '{name}' not found.",
        "previous_response_id",
        "previous_response_not_found",
    )


def conversation_of(call: Call) -> str | None:
    """The id of the conversation that a call belongs to, where the upstream keeps it."""
    told = call.payload.get("conversation")
    name = told.get("id") if isinstance(told, dict) else told
    return name if isinstance(name, str) and name else None


def _digest(text: str) -> Key:
    return blake2b(text.encode("utf-8", "replace"), digest_size=_KEY_BYTES).digest()
