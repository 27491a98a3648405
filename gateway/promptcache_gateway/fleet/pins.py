"""Which cache a conversation was sent to last, for as long as what lies there lives.

A pin hangs on the end of a prompt: a later turn of the same conversation goes on from there, and a stranger
with the same instructions does not. An end that many go on from is no conversation but an instruction, and is
not followed any longer. Where the caller names its session, the pin hangs on that name.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.fleet.prefix import Key, Prefix

MAX_PINS = 65_536
LIFETIME_S = 3600.0
"""Seconds that a pin lasts where the cache's own lifetime is not known."""

MOST_BRANCHES = 3
"""Prompts that may go on from the same end and are still taken for one conversation."""

Told = tuple["Key", str, float]
"""A pin as it is told to others: its key, the cache, and when it ends to be of use."""


@dataclass(slots=True)
class Pin:
    """``branches``: how many different prompts have gone on from here."""

    cache: str
    until: float
    branches: int = 0


class Pins:
    """Pins by key, the least recently used forgotten first."""

    def __init__(self, max_pins: int = MAX_PINS) -> None:
        self._max_pins = max_pins
        self._pins: OrderedDict[Key, Pin] = OrderedDict()
        self._news: dict[Key, None] = {}

    def __len__(self) -> int:
        return len(self._pins)

    def find(self, prefix: Prefix, now: float) -> str | None:
        """The cache that holds the longest part of a prompt; None where no pin is alive."""
        found = self._find(prefix, now)
        return None if found is None else self._pins[found].cache

    def put(self, prefix: Prefix, cache: str, now: float) -> None:
        """Pin a prompt to a cache, for the lifetime of what it leaves there."""
        key = prefix.session
        if key is None:
            if not prefix.keys:
                return
            key = prefix.keys[-1]
            before = self._find(prefix, now)
            if before is not None and before != key:
                self._pins[before].branches += 1
        self._set(key, cache, now + (LIFETIME_S if prefix.lifetime_s is None else prefix.lifetime_s))
        self._news[key] = None
        while len(self._news) > self._max_pins:
            del self._news[next(iter(self._news))]

    def news(self) -> list[Told]:
        """What was pinned since it was last asked: what another process needs to know as much."""
        told = [
            (key, self._pins[key].cache, self._pins[key].until) for key in self._news if key in self._pins
        ]
        self._news.clear()
        return told

    def learn(self, told: Iterable[Told]) -> None:
        """Take what another process told; of two pins the one that lasts longer counts."""
        for key, cache, until in told:
            known = self._pins.get(key)
            if known is None or known.until <= until:
                self._set(key, cache, until)

    def _find(self, prefix: Prefix, now: float) -> Key | None:
        for key in reversed(prefix.keys) if prefix.session is None else (prefix.session,):
            pin = self._pins.get(key)
            if pin is not None and pin.until > now and pin.branches < MOST_BRANCHES:
                return key
        return None

    def _set(self, key: Key, cache: str, until: float) -> None:
        known = self._pins.get(key)
        self._pins[key] = Pin(cache, until, 0 if known is None else known.branches)
        self._pins.move_to_end(key)
        while len(self._pins) > self._max_pins:
            self._pins.popitem(last=False)
