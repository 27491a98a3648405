"""Which prefixes were seen before with the same bytes, and which instructions change between requests.

Instructions that changed once are steady again when their new bytes have come `PROVED` times in a row: a date
makes one change a day. A text that stands bare is the same as a list of that one text.

A prefix is known by the chained key of its segments (`promptcache_gateway.observe.prompt`), within one
tenant, upstream and model: there a cache may hold it. Kept are keys and times, no text, and a bounded number
of them.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe.prompt import Prompt

PROVED = 2
"""How often a prefix must have been seen before it is believed to come again."""

_MAX_KEYS = 32_768
_BARE = re.compile(r"(messages\[\d+\]|system)")

Route = tuple[str, str, str]
"""Tenant, upstream, model: where one cache may hold a prefix."""


class Sightings:
    """What was seen. Safe to share between threads.

    Args:
        max_keys: prefixes remembered; those not seen for longest are forgotten first.
    """

    def __init__(self, *, max_keys: int = _MAX_KEYS) -> None:
        self._seen: OrderedDict[tuple[Route, int], tuple[int, float]] = OrderedDict()
        self._heads: OrderedDict[tuple[Route, int], tuple[int, int, bool]] = OrderedDict()
        self._marks: OrderedDict[tuple[Route, int], float] = OrderedDict()
        self._max_keys = max_keys
        self._lock = Lock()

    def proved(self, route: Route, prompt: Prompt, now: float, lifetime_s: float) -> int:
        """How many leading segments were seen at least `PROVED` times, the last time within a lifetime."""
        with self._lock:
            for depth in range(len(prompt.segments), 0, -1):
                count, at = self._seen.get((route, prompt.exact[depth]), (0, 0.0))
                if count >= PROVED and now - at <= lifetime_s:
                    return depth
        return 0

    def steady(self, route: Route, prompt: Prompt) -> int:
        """How many leading segments hold nothing that was seen to change in tools or instructions."""
        with self._lock:
            for depth in range(1, prompt.head + 1):
                known = self._heads.get((route, prompt.masked[depth]))
                if known is not None and (known[2] or known[0] != prompt.exact[depth]):
                    return depth - 1
        return len(prompt.segments)

    def marked(self, route: Route, prompt: Prompt, depth: int, now: float, lifetime_s: float) -> int:
        """How many leading segments, at most ``depth``, end where a mark was put within a lifetime."""
        with self._lock:
            for at in range(depth, 0, -1):
                put = self._marks.get((route, prompt.exact[at]))
                if put is not None and now - put <= lifetime_s:
                    return at
        return 0

    def note_marks(self, route: Route, prompt: Prompt, depths: Iterable[int], now: float) -> None:
        """Remember where marks are put."""
        with self._lock:
            for depth in depths:
                self._marks[route, prompt.exact[depth]] = now
                self._marks.move_to_end((route, prompt.exact[depth]))
            _trim(self._marks, self._max_keys)

    def note(self, route: Route, prompt: Prompt, now: float) -> None:
        """Remember a request that is on its way."""
        with self._lock:
            for depth in range(1, len(prompt.segments) + 1):
                key = (route, prompt.exact[depth])
                self._seen[key] = (self._seen.get(key, (0, 0.0))[0] + 1, now)
                self._seen.move_to_end(key)
            for depth in range(1, prompt.head + 1):
                self._note_head((route, prompt.masked[depth]), prompt.exact[depth])
            _trim(self._seen, self._max_keys)
            _trim(self._heads, self._max_keys)

    def forget(self, tenant: str) -> None:
        """Forget a tenant's prefixes."""
        with self._lock:
            memories: tuple[OrderedDict[tuple[Route, int], Any], ...] = (self._seen, self._heads, self._marks)
            for memory in memories:
                for key in [key for key in memory if key[0][0] == tenant]:
                    del memory[key]

    def _note_head(self, key: tuple[Route, int], exact: int) -> None:
        """Equal once volatile values are masked, and not equal with them: something in it changes."""
        before, times, changes = self._heads.get(key, (exact, 0, False))
        times = times + 1 if before == exact else 1
        self._heads[key] = (exact, times, (changes or before != exact) and times < PROVED)
        self._heads.move_to_end(key)


def with_alike_keys(prompt: Prompt) -> Prompt:
    """The prompt with exact keys that are the same for a bare text and for a list of that one text."""
    chain = [0]
    for segment in prompt.segments:
        bare = _BARE.fullmatch(segment.path)
        path = segment.path if bare is None else bare[1] + ("[0]" if bare[1] == "system" else ".content[0]")
        chain.append(hash((chain[-1], path, segment.text, segment.extra)))
    return replace(prompt, exact=tuple(chain))


def _trim(memory: OrderedDict[Any, Any], most: int) -> None:
    while len(memory) > most:
        memory.popitem(last=False)
