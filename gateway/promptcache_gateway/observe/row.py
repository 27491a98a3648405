"""One row of recent requests with its indexes: by exact prefix, by masked prefix, by single message.

An index points at the newest request that has a key. Requests leave oldest first, so a key's pointer is
the last of its holders to go and forgetting needs no counting. Which of them a new request continues is
`lookup`'s question.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.observe.prompt import Prompt


@dataclass(eq=False, slots=True, weakref_slot=True)
class Entry:
    """One request that was seen.

    Attributes:
        id: the gateway's id of the request.
        prompt: what was sent.
        model: the model asked for.
        upstream: where it went.
        received_at: Unix time at which it came in.
        answered_at: Unix time at which its answer began, None while it is being worked on.
        cached_tokens: tokens read from the cache, once known.
        prompt_tokens: its length in tokens, once known.
        response_id: the id of its answer, once known.
    """

    id: str
    prompt: Prompt
    model: str
    upstream: str
    received_at: float
    answered_at: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    response_id: str | None = None

    @property
    def route(self) -> tuple[str, str]:
        """Where its prefix may be cached: upstream and model."""
        return (self.upstream, self.model)

    @property
    def last_used(self) -> float:
        """When its prefix was last read or written: as it came in. A long answer keeps nothing alive."""
        return self.received_at


@dataclass(eq=False, slots=True)
class Row:
    """The requests of one tenant and family, oldest first, and their indexes."""

    entries: deque[Entry] = field(default_factory=deque)
    exact: dict[int, Entry] = field(default_factory=dict)
    masked: dict[int, Entry] = field(default_factory=dict)
    messages: dict[int, Entry] = field(default_factory=dict)
    routes: dict[tuple[str, str], dict[int, Entry]] = field(default_factory=dict)
    size: int = 0
    forgotten: bool = False


_Index = dict[int, Entry]


def indexes_of(row: Row, entry: Entry) -> tuple[tuple[_Index, tuple[int, ...]], ...]:
    """Each index of the row with the keys that the request has in it."""
    prompt = entry.prompt
    return (
        (row.exact, prompt.exact),
        (row.routes.setdefault(entry.route, {}), prompt.exact),
        (row.masked, prompt.masked),
        (row.messages, prompt.messages),
    )


def index_entry(row: Row, entry: Entry) -> None:
    """Enter a request into every index."""
    for index, keys in indexes_of(row, entry):
        index.update(dict.fromkeys(keys, entry))


def release(index: _Index, keys: tuple[int, ...], entry: Entry) -> set[int]:
    """Take the request out of one index; the keys that now lead nowhere."""
    held = {key for key in keys if index.get(key) is entry}
    for key in held:
        del index[key]
    return held


def hand_back(index: _Index, keys: set[int], row: Row) -> None:
    """Point keys at their newest remaining holders."""
    for entry in reversed(row.entries):
        if not keys:
            return
        for candidate, own in indexes_of(row, entry):
            if candidate is index:
                shared = keys.intersection(own)
                index.update(dict.fromkeys(shared, entry))
                keys -= shared


def drop_empty_route(row: Row, entry: Entry) -> None:
    """Forget a route that leads nowhere any more."""
    if not row.routes.get(entry.route, True):
        del row.routes[entry.route]


def forget_oldest(row: Row) -> None:
    """Take the oldest request out of the row."""
    oldest = row.entries.popleft()
    row.size -= oldest.prompt.total_bytes
    row.forgotten = True
    for index, keys in indexes_of(row, oldest):
        for key in keys:
            if index.get(key) is oldest:
                del index[key]
    drop_empty_route(row, oldest)
