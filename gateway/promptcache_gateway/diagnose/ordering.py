"""Hands a log's requests on in the order in which they were sent, within bounded memory.

Logs are written when answers end, and exports begin with the newest. Compared in the order of such a file, a
request would be held against ones that came after it. Requests are therefore gathered and sorted, some
thousands at a time; what no longer fits into the order is said to be late. Judging is `replay`'s business.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from promptcache.quick_values import quick
from promptcache_gateway.diagnose.bounded import keep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_gateway.diagnose.exchange import LoggedExchange

GATHERED = 4096
GATHERED_BYTES = 64 << 20

Place = Literal["next", "late", "anew"]
"""Behind all of its tenant's; before some of them; first of a stretch that lies before all that were read."""

MAX_TENANTS = 65_536
"""Whose latest times are remembered."""


@quick
@dataclass(frozen=True, slots=True)
class Placed:
    """One request and how it stands to those handed on before it; ``line`` is its place in the log."""

    line: int
    exchange: LoggedExchange
    place: Place = "next"


@quick
@dataclass(frozen=True, slots=True)
class _Waiting:
    time: float
    line: int
    exchange: LoggedExchange


class TimeOrder:
    """Sorts requests by the time they were sent; those without a time stay behind the one before them.

    Args:
        most: requests gathered at a time.
        most_bytes: bytes of the log they were read from.
    """

    def __init__(self, most: int = GATHERED, most_bytes: int = GATHERED_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._waiting: list[_Waiting] = []
        self._bytes = 0
        self._last_read = float("-inf")
        self._latest: OrderedDict[str, float] = OrderedDict()  # by tenant: others' requests are no evidence
        self._backwards = False

    def add(self, line: int, exchange: LoggedExchange, size: int) -> Iterator[Placed]:
        """Take a request that ``size`` bytes of the log stand for; yields those whose turn has come."""
        if exchange.time is not None:
            self._last_read = exchange.time
        self._waiting.append(_Waiting(self._last_read, line, exchange))
        self._bytes += size
        if len(self._waiting) >= self._most or self._bytes >= self._most_bytes:
            self._backwards = self._backwards or _newest_first(self._waiting)
            yield from self._hand_on(len(self._waiting) if self._backwards else -(-len(self._waiting) // 2))

    def rest(self) -> Iterator[Placed]:
        """The log has ended; yields all that are left."""
        yield from self._hand_on(len(self._waiting))

    def _hand_on(self, count: int) -> Iterator[Placed]:
        ordered = sorted(self._waiting, key=lambda one: one.time)
        turn, self._waiting = ordered[:count], ordered[count:]
        self._bytes = self._bytes * len(self._waiting) // max(1, len(ordered))
        if turn and self._backwards:
            yield Placed(turn[0].line, turn[0].exchange, "anew")
            turn = turn[1:]
        for one in turn:
            late = self._is_late(one)
            yield Placed(one.line, one.exchange, "late" if late and not self._backwards else "next")

    def _is_late(self, one: _Waiting) -> bool:
        tenant = one.exchange.tenant
        latest = self._latest.get(tenant, one.time)
        keep(self._latest, tenant, max(latest, one.time), MAX_TENANTS)
        return one.time < latest


def _newest_first(requests: list[_Waiting]) -> bool:
    """Whether times mostly fall from one request to the next."""
    falls = sum(second.time < first.time for first, second in pairwise(requests))
    rises = sum(second.time > first.time for first, second in pairwise(requests))
    return falls > rises
