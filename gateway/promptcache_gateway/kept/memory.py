"""Kept responses in this process's memory: bounded by age, by number and by size, and gone with the process.

Each response holds its own turn only, so that a long conversation is not held once for each of its turns.
Going on from one counts as a use of all before it. Where there is too much, the tenant that holds most gives
up what it has not used for longest: nobody is pushed out by another's flood.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.kept.response import Kept
    from promptcache_gateway.kept.settings import KeptSettings

_LARGEST = 4  # one response may take a quarter of all there is
_MOST_TURNS = 100_000
_LOOK_S = 1.0  # between two looks for what is too old


class Memory:
    """The responses of all tenants. Safe to share between threads.

    Args:
        settings: the bounds.
        clock: Unix time in seconds.
    """

    def __init__(self, settings: KeptSettings, *, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = Lock()
        self._tenants: dict[str, _Tenant] = {}
        self._bytes = 0
        self._looked_at = float("-inf")

    def put(self, kept: Kept) -> bool:
        """Keep a response; False where it is too large to be."""
        if kept.size > self._settings.max_bytes // _LARGEST:
            return False
        with self._lock:
            self._expire()
            own = self._tenants.setdefault(kept.tenant, _Tenant())
            self._bytes += own.put(kept, self._clock())
            while len(own.kept) > self._settings.per_tenant:
                self._bytes -= own.drop_oldest()
            while self._bytes > self._settings.max_bytes:
                self._bytes -= max(self._tenants.values(), key=lambda one: one.bytes).drop_oldest()
        return True

    def chain(
        self, tenant: str, name: str, take: Callable[[int], None] | None = None
    ) -> tuple[Kept, ...] | None:
        """A response and all before it, the first one first; None where any of them is not there.

        ``take`` is told how many bytes that is; what it raises goes on.
        """
        with self._lock:
            self._expire()
            own = self._tenants.get(tenant)
            found: list[Kept] = []
            wanted: str | None = name
            while wanted is not None:
                kept = own.kept.get(wanted) if own is not None and len(found) < _MOST_TURNS else None
                if kept is None:
                    return None
                found.append(kept[0])
                wanted = kept[0].previous
            if take is not None:
                take(sum(turn.size for turn in found))
            if own is not None:
                for turn in found:  # the first turn last: it is what all others need
                    own.use(turn.id, self._clock())
            return tuple(reversed(found))

    def get(self, tenant: str, name: str) -> Kept | None:
        """One response."""
        with self._lock:
            self._expire()
            own = self._tenants.get(tenant)
            found = own.kept.get(name) if own is not None else None
            return None if found is None else found[0]

    def remove(self, tenant: str, name: str) -> bool:
        """Forget a response; False where it was not there."""
        with self._lock:
            self._expire()
            own = self._tenants.get(tenant)
            if own is None or name not in own.kept:
                return False
            self._bytes -= own.drop(name)
            return True

    def forget(self, tenant: str) -> None:
        """Forget all of a tenant's."""
        with self._lock:
            own = self._tenants.pop(tenant, None)
            self._bytes -= 0 if own is None else own.bytes

    def expire(self) -> None:
        """Forget what nobody has used for too long."""
        with self._lock:
            self._expire()

    def __len__(self) -> int:
        with self._lock:
            return sum(len(own.kept) for own in self._tenants.values())

    @property
    def bytes(self) -> int:
        """Bytes that all take, about."""
        return self._bytes

    def _expire(self) -> None:
        now = self._clock()
        if now - self._looked_at < _LOOK_S:
            return
        self._looked_at, since = now, now - self._settings.keep_s
        for tenant, own in tuple(self._tenants.items()):
            while own.kept and next(iter(own.kept.values()))[1] < since:
                self._bytes -= own.drop_oldest()
            if not own.kept:
                del self._tenants[tenant]


class _Tenant:
    """One tenant's responses with when each was used last, the one that was longest ago first."""

    __slots__ = ("bytes", "kept")

    def __init__(self) -> None:
        self.kept: OrderedDict[str, tuple[Kept, float]] = OrderedDict()
        self.bytes = 0

    def put(self, kept: Kept, now: float) -> int:
        """Keep one; by how many bytes there are more now."""
        gone = self.drop(kept.id) if kept.id in self.kept else 0
        self.kept[kept.id] = (kept, now)
        self.bytes += kept.size
        return kept.size - gone

    def use(self, name: str, now: float) -> None:
        self.kept[name] = (self.kept[name][0], now)
        self.kept.move_to_end(name)

    def drop_oldest(self) -> int:
        return self.drop(next(iter(self.kept)))

    def drop(self, name: str) -> int:
        """Forget one; the bytes it took."""
        kept, _ = self.kept.pop(name)
        self.bytes -= kept.size
        return kept.size
