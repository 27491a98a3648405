"""The requests seen of late, by tenant and family of templates, and which of them a new one continues.

Memory is bounded for each tenant. A lookup never walks a whole row, and what the difference between two
requests means is `comparison`'s business.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING

from promptcache_gateway.observe.deploys import deploy_of
from promptcache_gateway.observe.forks import is_forked
from promptcache_gateway.observe.glance import repeated
from promptcache_gateway.observe.lookup import (
    best_predecessor,
    keeps_instructions,
    longest_living,
    others_of,
    telling_keys,
)
from promptcache_gateway.observe.match import Match
from promptcache_gateway.observe.row import (
    Entry,
    Row,
    drop_empty_route,
    hand_back,
    index_entry,
    indexes_of,
    known_lengths,
    learn_lengths,
    release,
)
from promptcache_gateway.observe.shuffles import are_shuffled
from promptcache_gateway.observe.tenant_rows import TenantRows
from promptcache_gateway.observe.unsteady import is_unsteady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptcache_gateway.observe.extents import Extent
    from promptcache_gateway.observe.prompt import Prompt

__all__ = ["Entry", "History", "Match"]

_TELLING = 2  # messages of a history that say which conversation it is
_ASKED = 4  # of them are looked up in each other family


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
        """Bounds: requests in a row, bytes of them and rows of a tenant, tenants."""
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._max_families = max_families
        self._max_tenants = max_tenants
        self._tenants: OrderedDict[str, TenantRows] = OrderedDict()
        self._forgotten = False
        self._lock = RLock()

    def find(
        self,
        tenant: str,
        family: str,
        prompt: Prompt,
        *,
        route: tuple[str, str],
        not_before: float,
        at: float = math.inf,
    ) -> Match:
        """Find the best predecessor.

        Args:
            tenant: whose requests.
            family: of which templates.
            prompt: the new request's.
            route: upstream and model it goes to.
            not_before: the last use at which a prefix still lives.
            at: when the request came; answers that began later were none yet.
        """
        with self._lock:
            row = self._find_row(tenant, family)
            if row is None or not row.entries:
                first = not self._has_forgotten(tenant, row)
                match = Match(None, None, 0, alive=False, pending=False, first=first)
            else:
                near = repeated(row, prompt, route, not_before, at)
                if near is None:
                    living, depth = longest_living(row, prompt, route, not_before, at)
                    best = best_predecessor(row, prompt, route, not_before, at)
                else:
                    living, depth, best = near, prompt.turn, near
                match = Match(
                    predecessor=best,
                    living=living,
                    living_segments=depth,
                    alive=near is not None or best.lives(not_before, at),
                    pending=_is_pending(living if living is not None else best, at),
                    first=False,
                    lengths=known_lengths(row, prompt, route[1]),
                    others=()
                    if near is not None
                    else others_of(row, prompt, best, route, not_before=not_before, at=at),
                    shuffled=near is None
                    and are_shuffled(prompt, best.prompt, (one.prompt for one in reversed(row.entries))),
                    forked=near is None
                    and is_forked(prompt, best.prompt, (one.prompt for one in reversed(row.entries))),
                    deploy="none"
                    if near is not None
                    else deploy_of(prompt, best.prompt, (one.prompt for one in reversed(row.entries))),
                    unsteady=near is None
                    and is_unsteady(prompt, best.prompt, (one.prompt for one in reversed(row.entries))),
                    head_alive=near is None
                    and keeps_instructions(row, prompt, best, route, not_before=not_before, at=at),
                    driven=best.route != route and self._tenants[tenant].failed.drove(prompt, best, at),
                    gaps=self._has_forgotten(tenant, row)
                    or any(
                        entry.lives(not_before, at)
                        for key in prompt.exact[depth + 1 : depth + 2]
                        for entry in self._others_hold(tenant, family, key, route)
                    ),
                )
            other = self._find_elsewhere(tenant, family, prompt)
            if other is None:
                return match
            alive = other.lives(not_before, at)
            found = replace(
                match,
                predecessor=other,
                alive=alive,
                first=False,
                shuffled=False,
                forked=False,
                deploy="none",
                others=(),
            )
            return replace(match, elsewhere=found)

    def same_beginning(
        self, tenant: str, family: str, prompt: Prompt, route: tuple[str, str]
    ) -> Entry | None:
        """The request of a route with the longest identical beginning, however long ago; None without one."""
        with self._lock:
            row = self._find_row(tenant, family)
            return None if row is None else longest_living(row, prompt, route, -math.inf, -math.inf)[0]

    def add(self, tenant: str, family: str, entry: Entry) -> None:
        """Remember a request, forgetting the oldest ones where a bound is reached."""
        with self._lock:
            owner = self._tenants.get(tenant)
            if owner is None:
                owner = self._tenants[tenant] = TenantRows()
            self._tenants.move_to_end(tenant)
            row = owner.rows.get(family)
            if row is None:
                row = owner.rows[family] = Row()
            owner.rows.move_to_end(family)
            row.entries.append(entry)
            index_entry(row, entry)
            size = entry.size
            row.size += size
            owner.size += size
            self._keep_bounds(owner, row)

    def learn(self, tenant: str, family: str, entry: Entry, found: Iterable[tuple[int, Extent]]) -> None:
        """Keep what an answered request's counts tell about the lengths of its prefixes."""
        with self._lock:
            row = self._find_row(tenant, family)
            if row is not None:
                self._tenants[tenant].failed.answered(entry)
                learn_lengths(row, entry, found)

    def discard(self, tenant: str, family: str, entry: Entry) -> None:
        """Take back a request that no upstream worked on; its keys go back to their former holders."""
        with self._lock:
            row = self._find_row(tenant, family)
            if row is None or entry not in row.entries:
                owner = self._tenants.get(tenant)
                row = None if owner is None else owner.row_with(entry)
            if row is None:
                return
            self._tenants[tenant].failed.add(entry)
            row.entries.remove(entry)
            row.size -= entry.size
            self._tenants[tenant].size -= entry.size
            for index, keys in indexes_of(row, entry):
                hand_back(index, release(index, keys, entry), row)
            drop_empty_route(row, entry)

    def rename(self, tenant: str, family: str, to: str) -> None:
        """Continue a family under another name; where there is one, only that one's requests are kept."""
        with self._lock:
            owner = self._tenants.get(tenant)
            row = owner.drop(family) if owner is not None else None
            if owner is None or row is None:
                return
            if to in owner.rows:
                owner.rows[to].forgotten = True
            else:
                owner.put(to, row)

    def part(self, tenant: str, family: str, to: str, goes: Callable[[Prompt], bool]) -> None:
        """Continue those requests of a family that ``goes`` says under another name."""
        with self._lock:
            owner = self._tenants.get(tenant)
            if owner is not None:
                owner.part(family, to, goes)

    def forget(self, tenant: str) -> None:
        """Forget everything of a tenant's; its next request is compared with nothing."""
        with self._lock:
            if self._tenants.pop(tenant, None) is not None:
                self._forgotten = True

    def has_gaps(self) -> None:
        """Note that there were requests it does not know: a new one is not said to be the first."""
        self._forgotten = True

    def __len__(self) -> int:
        with self._lock:
            return sum(len(row.entries) for owner in self._tenants.values() for row in owner.rows.values())

    @property
    def stored_bytes(self) -> int:
        """Bytes that the remembered requests stand for: their texts, and what was sent around them."""
        with self._lock:
            return sum(owner.size for owner in self._tenants.values())

    def _find_row(self, tenant: str, family: str) -> Row | None:
        owner = self._tenants.get(tenant)
        return owner.rows.get(family) if owner is not None else None

    def _others_hold(self, tenant: str, family: str, key: int, route: tuple[str, str]) -> list[Entry]:
        """What tenants that share the route sent with a prefix; whose it is, is told to nobody."""
        rows = [owner.rows.get(family) for name, owner in self._tenants.items() if name != tenant]
        held = [row.routes.get(route, {}).get(key) for row in rows if row is not None]
        return [entry for entry in held if entry is not None]

    def _find_elsewhere(self, tenant: str, family: str, prompt: Prompt) -> Entry | None:
        """Another family's request with the latest messages of a history that is unknown in this one."""
        owner = self._tenants.get(tenant)
        if owner is None or len(owner.rows) < 1 + (family in owner.rows):
            return None
        if prompt.turn - prompt.head < _TELLING:
            return None
        told = telling_keys(prompt)
        if len(told) < _TELLING:
            return None
        own = owner.rows.get(family)
        known = 0 if own is None else sum(key in own.messages for key in told)
        if known >= len(told) - 1:  # the latest answer is new to everyone
            return None
        last = told[-_ASKED:]
        for name, row in reversed(owner.rows.items()):
            held = [row.messages[key] for key in last if key in row.messages] if name != family else []
            if held and sum(key in row.messages for key in told) > known:
                return held[-1]
        return None

    def _has_forgotten(self, tenant: str, row: Row | None) -> bool:
        owner = self._tenants.get(tenant)
        return (
            self._forgotten or (owner is not None and owner.forgotten) or (row is not None and row.forgotten)
        )

    def _keep_bounds(self, owner: TenantRows, row: Row) -> None:
        while len(row.entries) > self._max_requests:
            owner.forget_oldest_of(row)
        while len(owner.rows) > self._max_families or (len(owner.rows) > 1 and owner.size > self._max_bytes):
            owner.drop(next(iter(owner.rows)))
            owner.forgotten = True
        while len(row.entries) > 1 and row.size > self._max_bytes:
            owner.forget_oldest_of(row)
        while len(self._tenants) > self._max_tenants:
            self._tenants.popitem(last=False)
            self._forgotten = True


def _is_pending(entry: Entry, at: float) -> bool:
    return entry.answered_at is None or entry.answered_at > at
