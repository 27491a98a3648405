"""What each tenant and key spent, day by day of UTC: budgets survive a restart, and the requests' own bounds.

A request whose cost is not known is counted apart; it adds to the money what it is estimated at, if it is.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from promptcache.quick_values import quick
from promptcache_gateway.store.database import open_database
from promptcache_gateway.store.portable import insert_into, without_nul
from promptcache_gateway.store.schema import requests, spending

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from promptcache_gateway.observe.record import RequestRecord

DAY_S = 86_400
_IDS_AT_ONCE = 500
_SUMS = ("usd", "requests", "unpriced")


@quick
@dataclass(frozen=True, slots=True)
class Spent:
    """One day of one tenant's key.

    Attributes:
        tenant: whose.
        key: the key's id, empty where no key of the file was shown.
        day: days since 1970-01-01, UTC.
        usd: the costs that are known, and those that are estimated.
        requests: all requests that used tokens.
        unpriced: those of them whose cost is not known, estimated or not; the built-in engine's cost nothing.
    """

    tenant: str
    key: str
    day: int
    usd: float
    requests: int
    unpriced: int


def spent_by(record: RequestRecord) -> Spent | None:
    """What one request adds; None where no token was used."""
    used, usd = record.prompt_tokens or record.output_tokens or record.estimated_tokens, record.charged_usd
    if usd is None and not used:
        return None
    known = record.free or (record.cost_usd is not None and record.estimated_tokens is None)
    day = int(record.time // DAY_S)
    return Spent(record.tenant, record.key_id or "", day, usd or 0.0, 1, int(not known))


def add_spending(connection: Connection, records: Iterable[RequestRecord]) -> None:
    """Add a batch of requests to the days they came in."""
    sums: dict[tuple[str, str, int], list[float]] = defaultdict(lambda: [0.0, 0, 0])
    for record in records:
        spent = spent_by(record)
        if spent is not None:
            total = sums[spent.tenant, spent.key, spent.day]
            total[0] += spent.usd
            total[1] += spent.requests
            total[2] += spent.unpriced
    if not sums:
        return
    rows = [  # in one order, always: see `totals`
        {"tenant": without_nul(tenant), "key_id": key, "day": day, **dict(zip(_SUMS, total, strict=True))}
        for (tenant, key, day), total in sorted(sums.items())
    ]
    connection.execute(_statement(connection.dialect.name), rows)


@cache
def _statement(dialect: str) -> Any:
    """Insert a day, or add to it. Built once: that takes as long as all else in a small batch."""
    statement = insert_into(spending, dialect)
    added = {name: spending.c[name] + statement.excluded[name] for name in _SUMS}
    return statement.on_conflict_do_update(index_elements=("tenant", "key_id", "day"), set_=added)


class SpendingReader:
    """Reads from a database that another process writes. Call it from one thread at a time.

    Args:
        address: a file, or ``postgresql://…``.
    """

    def __init__(self, address: Path | str) -> None:
        self._address = address
        self._engine: Engine | None = None

    def __call__(self, since_day: int) -> list[Spent]:
        """Everything spent from a day on; raises `DatabaseUnusableError`."""
        return read_spending(self._opened(), since_day)

    def written(self, ids: Sequence[str]) -> set[str]:
        """Those of some requests that are in the database; raises `DatabaseUnusableError`."""
        return read_written(self._opened(), ids)

    def _opened(self) -> Engine:
        if self._engine is None:
            self._engine = open_database(self._address)
        return self._engine

    def close(self) -> None:
        """Let go of the database."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None


def read_spending(engine: Engine, since_day: int) -> list[Spent]:
    """Everything spent from a day on."""
    columns = spending.c
    statement = select(
        columns.tenant, columns.key_id, columns.day, columns.usd, columns.requests, columns.unpriced
    ).where(columns.day >= since_day)
    with engine.connect() as connection:
        return [Spent(*row) for row in connection.execute(statement)]


def read_written(engine: Engine, ids: Sequence[str]) -> set[str]:
    """Those of some requests, by id, that are written; what they spent is so with them."""
    found: set[str] = set()
    with engine.connect() as connection:
        for begin in range(0, len(ids), _IDS_AT_ONCE):
            some = select(requests.c.id).where(requests.c.id.in_(ids[begin : begin + _IDS_AT_ONCE]))
            found.update(connection.execute(some).scalars())
    return found
