"""One row of recent requests with its indexes: by exact prefix, by masked prefix, by single message.

An index points at the newest request that has a key. Requests leave oldest first, so a key's pointer is
the last of its holders to go and forgetting needs no counting. Which of them a new request continues is
`lookup`'s question.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from promptcache.divergence.parameters import telling_parameters
from promptcache_gateway.observe.held import beside_texts, settings_bytes
from promptcache_gateway.observe.settings import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptcache_gateway.observe.extents import Extent
    from promptcache_gateway.observe.prompt import Prompt

_MAX_LENGTHS = 1_024  # of prefixes that are known in tokens; more than a row has requests


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
        lifetime_s: seconds that what it left in the cache is kept for, as it asked; infinite: until evicted.
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
    lifetime_s: float = math.inf
    _variant: int | None = field(default=None, init=False, repr=False)
    _size: int | None = field(default=None, init=False, repr=False)
    _settings: int | None = field(default=None, init=False, repr=False)

    @property
    def variant(self) -> int:
        """The key of its route and settings."""
        if self._variant is None:
            self._variant = variant_of(self.route, self.prompt.parameters)
        return self._variant

    @property
    def size(self) -> int:
        """Bytes it stands for: its texts, and what was sent around them. It stays what it was at first."""
        if self._size is None:
            if self._settings is None:
                self._settings = settings_bytes(self.prompt.parameters)
            self._size = self.prompt.total_bytes + beside_texts(self.prompt.segments) + self._settings
        return self._size

    def varies_as(self, other: Entry) -> None:
        """Take another's key where route and settings are the same: making it costs more than to compare."""
        if (
            other.upstream == self.upstream
            and other.model == self.model
            and other.prompt.parameters == self.prompt.parameters
        ):
            self._variant, self._settings = other.variant, other._settings

    @property
    def route(self) -> tuple[str, str]:
        """Where its prefix may be cached: upstream and model."""
        return (self.upstream, self.model)

    @property
    def last_used(self) -> float:
        """When its prefix was last read or written: as it came in. A long answer keeps nothing alive."""
        return self.received_at

    def lives(self, not_before: float, at: float) -> bool:
        """Whether its prefix should still be held at a time: used since ``not_before``, and kept for so long.

        What a later request asks for prolongs nothing that was written before it.
        """
        used = self.received_at  # `last_used`, without asking for it
        return used >= not_before and at - used <= self.lifetime_s


@dataclass(eq=False, slots=True)
class Row:
    """The requests of one tenant and family, oldest first, and their indexes.

    ``variants`` leads to the newest request of each route with the same settings. ``lengths`` is what is
    known of prefixes in tokens, by model and exact key. It outlives the requests.
    """

    entries: deque[Entry] = field(default_factory=deque)
    exact: dict[int, Entry] = field(default_factory=dict)
    masked: dict[int, Entry] = field(default_factory=dict)
    messages: dict[int, Entry] = field(default_factory=dict)
    routes: dict[tuple[str, str], dict[int, Entry]] = field(default_factory=dict)
    variants: dict[int, Entry] = field(default_factory=dict)
    lengths: OrderedDict[tuple[str, int], Extent] = field(default_factory=OrderedDict)
    size: int = 0
    forgotten: bool = False


_Index = dict[int, Entry]


def variant_of(route: tuple[str, str], parameters: Mapping[str, Any]) -> int:
    """The key of a route and of those settings that shape a prompt, or say which cache holds it."""
    told = telling_parameters(parameters)
    return hash((route, written(told))) if told else hash(route)


def indexes_of(row: Row, entry: Entry) -> tuple[tuple[_Index, tuple[int, ...]], ...]:
    """Each index of the row with the keys that the request has in it."""
    prompt = entry.prompt
    return (
        (row.exact, prompt.exact),
        (row.routes.setdefault(entry.route, {}), prompt.exact),
        (row.masked, prompt.masked),
        (row.messages, prompt.messages),
        (row.variants, (entry.variant,)),
    )


def index_entry(row: Row, entry: Entry) -> None:
    """Enter a request, the newest of the row, into every index."""
    if len(row.entries) > 1:
        entry.varies_as(row.entries[-2])
    prompt = entry.prompt
    held = dict.fromkeys(prompt.exact, entry)
    row.exact.update(held)
    row.routes.setdefault(entry.route, {}).update(held)
    row.masked.update(dict.fromkeys(prompt.masked, entry))
    if prompt.messages:
        row.messages.update(dict.fromkeys(prompt.messages, entry))
    row.variants[entry.variant] = entry


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
    row.size -= oldest.size
    row.forgotten = True
    prompt = oldest.prompt
    _let_go_of_chain(row.exact, prompt.exact, oldest)
    _let_go_of_chain(row.routes.get(oldest.route, {}), prompt.exact, oldest)
    _let_go_of_chain(row.masked, prompt.masked, oldest)
    for key in prompt.messages:
        if row.messages.get(key) is oldest:
            del row.messages[key]
    if row.variants.get(oldest.variant) is oldest:
        del row.variants[oldest.variant]
    drop_empty_route(row, oldest)


def _let_go_of_chain(index: _Index, chain: tuple[int, ...], oldest: Entry) -> None:
    """Take the row's oldest request out of an index of chained keys.

    Whoever holds a prefix holds all that are shorter, too, so that behind the first that a newer one holds
    there are no more.
    """
    for key in reversed(chain):
        if index.get(key) is not oldest:
            return
        del index[key]


def learn_lengths(row: Row, entry: Entry, found: Iterable[tuple[int, Extent]]) -> None:
    """Keep what a request tells about the lengths of its prefixes, by their number of segments."""
    for depth, extent in found:
        key = (entry.model, entry.prompt.exact[depth])
        known = row.lengths.get(key)
        if known is None:
            row.lengths[key] = extent
            continue
        row.lengths.move_to_end(key)
        if not known.lies_in(extent):
            row.lengths[key] = known.within(extent)
    while len(row.lengths) > _MAX_LENGTHS:
        row.lengths.popitem(last=False)


def known_lengths(row: Row, prompt: Prompt, model: str) -> tuple[tuple[int, Extent], ...]:
    """Which of a new request's prefixes are known in tokens: where they end in bytes, the shortest first."""
    known = row.lengths
    keys = zip(repeat(model), islice(prompt.exact, 1, None), strict=False)
    places = zip(islice(prompt.offsets, 1, None), keys, strict=True)
    return tuple([(place, known[key]) for place, key in places if key in known])
