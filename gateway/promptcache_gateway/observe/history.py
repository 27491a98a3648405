"""The requests seen of late, and which of them a new one continues.

For each tenant and family of templates a bounded row of requests is kept with three indexes: by exact
prefix, by prefix with volatile values masked, and by single message. A lookup walks keys and compares
a few texts; it never walks the whole row. What the difference means is `comparison`'s business.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING

from promptcache_gateway.observe.texts import common_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_gateway.observe.prompt import Prompt

_NEAR_MESSAGES = 8  # messages before the newest turn that are looked up one by one
_SCANNED = 32  # recent requests whose differing segment is compared character by character
_TRIVIAL_CHARS = 24  # a shorter message ("user\nyes") says nothing about which conversation it is from


@dataclass(eq=False, slots=True)
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
    """

    id: str
    prompt: Prompt
    model: str
    upstream: str
    received_at: float
    answered_at: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None

    @property
    def route(self) -> tuple[str, str]:
        """Where its prefix may be cached: upstream and model."""
        return (self.upstream, self.model)

    @property
    def last_used(self) -> float:
        """When its prefix was last written or read, as far as the gateway can tell."""
        return self.answered_at if self.answered_at is not None else self.received_at


@dataclass(frozen=True, slots=True)
class Match:
    """What history knows about a new request.

    Attributes:
        predecessor: the best earlier request, None when there is none.
        living: the earlier request with the longest identical prefix that the same upstream and
            model should still hold, None when there is none.
        living_segments: how many leading segments it shares exactly.
        alive: the predecessor itself is inside its lifetime.
        pending: nothing that shares this prefix has begun to be answered yet.
        first: True when nothing was ever seen here, so that there is nothing to compare with.
    """

    predecessor: Entry | None
    living: Entry | None
    living_segments: int
    alive: bool
    pending: bool
    first: bool


@dataclass(eq=False, slots=True)
class _Row:
    """The requests of one tenant and family, oldest first, and their indexes.

    An index points at the newest request that has a key. Requests leave oldest first, so a key's
    pointer is the last of its holders to go and removal needs no counting.
    """

    entries: deque[Entry] = field(default_factory=deque)
    exact: dict[int, Entry] = field(default_factory=dict)
    masked: dict[int, Entry] = field(default_factory=dict)
    messages: dict[int, Entry] = field(default_factory=dict)
    routes: dict[tuple[str, str], dict[int, Entry]] = field(default_factory=dict)
    size: int = 0
    forgotten: bool = False


@dataclass(eq=False, slots=True)
class _Tenant:
    """One tenant's rows, the least recently used first."""

    rows: OrderedDict[str, _Row] = field(default_factory=OrderedDict)
    forgotten: bool = False

    @property
    def size(self) -> int:
        return sum(row.size for row in self.rows.values())


class History:
    """Bounded memory of recent requests. Safe to share between threads."""

    def __init__(
        self,
        *,
        max_requests: int = 256,
        max_bytes: int = 32_000_000,
        max_families: int = 512,
        max_tenants: int = 256,
    ) -> None:
        """Bounds: requests in a row, bytes of prompt text and rows of a tenant, tenants."""
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._max_families = max_families
        self._max_tenants = max_tenants
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()
        self._forgotten = False
        self._lock = RLock()

    def find(
        self, tenant: str, family: str, prompt: Prompt, *, route: tuple[str, str], not_before: float
    ) -> Match:
        """Find the best predecessor; ``not_before`` is the last use at which a prefix still lives."""
        with self._lock:
            row = self._find_row(tenant, family)
            if row is None or not row.entries:
                first = not self._has_forgotten(tenant, row)
                return Match(None, None, 0, alive=False, pending=False, first=first)
            living, depth = _longest_living(row, prompt, route, not_before)
            best = _best(row, prompt, route, not_before)
            return Match(
                predecessor=best,
                living=living,
                living_segments=depth,
                alive=best.last_used >= not_before,
                pending=(living or best).answered_at is None,
                first=False,
            )

    def add(self, tenant: str, family: str, entry: Entry) -> None:
        """Remember a request, forgetting the oldest ones where a bound is reached."""
        with self._lock:
            owner = self._tenants.setdefault(tenant, _Tenant())
            self._tenants.move_to_end(tenant)
            row = owner.rows.setdefault(family, _Row())
            owner.rows.move_to_end(family)
            row.entries.append(entry)
            row.size += entry.prompt.total_bytes
            _index(row, entry)
            self._keep_bounds(owner, row)

    def discard(self, tenant: str, family: str, entry: Entry) -> None:
        """Take back a request that no upstream worked on; its keys go back to their former holders."""
        with self._lock:
            row = self._find_row(tenant, family)
            if row is None or entry not in row.entries:
                return
            row.entries.remove(entry)
            row.size -= entry.prompt.total_bytes
            for index, keys in _indexes(row, entry):
                _hand_back(index, _release(index, keys, entry), row)
            _drop_empty_route(row, entry)

    def __len__(self) -> int:
        with self._lock:
            return sum(len(row.entries) for owner in self._tenants.values() for row in owner.rows.values())

    @property
    def stored_bytes(self) -> int:
        """Bytes of prompt text the remembered requests stand for."""
        with self._lock:
            return sum(owner.size for owner in self._tenants.values())

    def _find_row(self, tenant: str, family: str) -> _Row | None:
        owner = self._tenants.get(tenant)
        return owner.rows.get(family) if owner is not None else None

    def _has_forgotten(self, tenant: str, row: _Row | None) -> bool:
        owner = self._tenants.get(tenant)
        return (
            self._forgotten or (owner is not None and owner.forgotten) or (row is not None and row.forgotten)
        )

    def _keep_bounds(self, owner: _Tenant, row: _Row) -> None:
        while len(row.entries) > self._max_requests:
            _forget_oldest(row)
        while len(owner.rows) > self._max_families or (len(owner.rows) > 1 and owner.size > self._max_bytes):
            owner.rows.popitem(last=False)
            owner.forgotten = True
        while len(row.entries) > 1 and row.size > self._max_bytes:
            _forget_oldest(row)
        while len(self._tenants) > self._max_tenants:
            self._tenants.popitem(last=False)
            self._forgotten = True


def _message_keys(prompt: Prompt) -> Iterator[int]:
    """Keys of the messages that tell one conversation from another, newest first."""
    for index in range(len(prompt.segments) - 1, prompt.head - 1, -1):
        text = prompt.segments[index].text
        if len(text) >= _TRIVIAL_CHARS:
            yield hash(text)


_Index = dict[int, Entry]


def _indexes(row: _Row, entry: Entry) -> tuple[tuple[_Index, tuple[int, ...]], ...]:
    """Each index of the row with the keys that the request has in it."""
    return (
        (row.exact, entry.prompt.exact[1:]),
        (row.routes.setdefault(entry.route, {}), entry.prompt.exact[1:]),
        (row.masked, entry.prompt.masked[1:]),
        (row.messages, tuple(_message_keys(entry.prompt))),
    )


def _index(row: _Row, entry: Entry) -> None:
    for index, keys in _indexes(row, entry):
        for key in keys:
            index[key] = entry


def _release(index: _Index, keys: tuple[int, ...], entry: Entry) -> set[int]:
    """Take the request out of one index; the keys that now lead nowhere."""
    held = {key for key in keys if index.get(key) is entry}
    for key in held:
        del index[key]
    return held


def _hand_back(index: _Index, keys: set[int], row: _Row) -> None:
    """Point keys at their newest remaining holders."""
    for entry in reversed(row.entries):
        if not keys:
            return
        for candidate, own in _indexes(row, entry):
            if candidate is index:
                shared = keys.intersection(own)
                index.update(dict.fromkeys(shared, entry))
                keys -= shared


def _drop_empty_route(row: _Row, entry: Entry) -> None:
    if not row.routes.get(entry.route, True):
        del row.routes[entry.route]


def _forget_oldest(row: _Row) -> None:
    oldest = row.entries.popleft()
    row.size -= oldest.prompt.total_bytes
    row.forgotten = True
    for index, keys in _indexes(row, oldest):
        _release(index, keys, oldest)
    _drop_empty_route(row, oldest)


def _longest_living(
    row: _Row, prompt: Prompt, route: tuple[str, str], not_before: float
) -> tuple[Entry | None, int]:
    index = row.routes.get(route, {})
    for depth in range(len(prompt.segments), 0, -1):
        entry = index.get(prompt.exact[depth])
        if entry is not None and entry.last_used >= not_before:
            return entry, depth
    return None, 0


def _best(row: _Row, prompt: Prompt, route: tuple[str, str], not_before: float) -> Entry:
    depth = _deepest(row.masked, prompt.masked)
    if depth == len(prompt.segments):
        exact = row.exact.get(prompt.exact[depth])
        return exact if exact is not None else row.masked[prompt.masked[depth]]
    if depth >= max(prompt.turn, 1):  # only the newest turn differs: any holder will do
        return row.exact.get(prompt.exact[depth]) or row.masked[prompt.masked[depth]]
    sibling = _same_conversation(row, prompt)
    if sibling is not None:
        return sibling
    return max(
        _candidates(row, prompt, depth),
        key=lambda entry: (
            _shared_chars(entry.prompt, prompt, depth),
            entry.route == route,
            entry.last_used >= not_before,
            entry.received_at,
        ),
    )


def _deepest(index: dict[int, Entry], chain: tuple[int, ...]) -> int:
    """How many leading segments are known to an index."""
    for depth in range(len(chain) - 1, 0, -1):
        if chain[depth] in index:
            return depth
    return 0


def _same_conversation(row: _Row, prompt: Prompt) -> Entry | None:
    """The request with most of the messages just before the newest turn, wherever they stand in it."""
    votes: dict[str, tuple[int, Entry]] = {}
    looked_at = 0
    for index in range(prompt.turn - 1, prompt.head - 1, -1):
        text = prompt.segments[index].text
        if len(text) < _TRIVIAL_CHARS:
            continue
        entry = row.messages.get(hash(text))
        if entry is not None:
            votes[entry.id] = (votes.get(entry.id, (0, entry))[0] + 1, entry)
        looked_at += 1
        if looked_at == _NEAR_MESSAGES:
            break
    if not votes:
        return None
    return max(votes.values(), key=lambda vote: (vote[0], vote[1].received_at))[1]


def _candidates(row: _Row, prompt: Prompt, depth: int) -> list[Entry]:
    """Recent requests that share the first ``depth`` segments, newest first, and the index's own."""
    key = prompt.masked[depth]
    found = [row.masked[key]] if depth else []
    for entry in reversed(row.entries):
        if len(found) >= _SCANNED:
            break
        masked = entry.prompt.masked
        if len(masked) > depth and masked[depth] == key:
            found.append(entry)
    return found


def _shared_chars(earlier: Prompt, later: Prompt, depth: int) -> int:
    if depth >= len(earlier.segments) or depth >= len(later.segments):
        return 0
    return common_prefix(earlier.segments[depth].text, later.segments[depth].text)
