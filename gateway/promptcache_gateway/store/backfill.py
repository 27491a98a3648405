"""Causes by the hour of a past that is older than their table, added up from the requests that are kept.

A database of an older version knows the cause of every request, and nothing by the hour. Only hours before
the first one in the table are filled, so that nothing is counted twice. Running totals are another module's
(`totals`).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import func, insert, select

from promptcache_gateway.store.portable import whole
from promptcache_gateway.store.schema import cause_hours, requests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

_SECONDS = 3_600
_SEVERAL = "%,%"  # in the JSON of losses: more than one
_BATCH = 1_000

Key = tuple[str, str, int, str]
"""Tenant, template, hour and code."""


class _Sum:
    """What a code did in an hour of a template."""

    __slots__ = ("attribution", "count", "lost", "usd")

    def __init__(self) -> None:
        self.attribution, self.count, self.lost = "unknown", 0, 0
        self.usd: float | None = None

    def add(self, attribution: str, count: int, lost: int, usd: float | None) -> None:
        """Add requests, tokens and money, which may be unknown; the latest attribution stands."""
        self.attribution = attribution
        self.count += count
        self.lost += lost
        if usd is not None:
            self.usd = (self.usd or 0.0) + usd


def fill_cause_hours(connection: Connection) -> None:
    """Fill the hours before the first one that the table knows; all of them where it is empty."""
    end: int | None = connection.execute(select(func.min(cause_hours.c.hour))).scalar_one_or_none()
    sums: dict[Key, _Sum] = defaultdict(_Sum)
    for read in (_singles, _several):
        for key, known in read(connection, end):
            sums[key].add(*known)
    rows = [
        {
            **dict(zip(("tenant", "name", "hour", "code"), key, strict=True)),
            "attribution": found.attribution,
            "requests": found.count,
            "lost_tokens": found.lost,
            "lost_usd": found.usd,
        }
        for key, found in sorted(sums.items())
    ]
    for start in range(0, len(rows), _BATCH):
        connection.execute(insert(cause_hours), rows[start : start + _BATCH])


def _singles(connection: Connection, end: int | None) -> Iterator[tuple[Key, tuple[Any, ...]]]:
    """Requests with one loss at most, which the database adds up."""
    columns = requests.c
    hour = whole(columns.time / float(_SECONDS)).label("hour")
    keys = columns.tenant, columns.template, hour, columns.cause, columns.attribution
    sums = func.count(columns.seq), func.sum(columns.lost_tokens), func.sum(columns.lost_usd)
    told = columns.cause.is_not(None), columns.losses.not_like(_SEVERAL), *_before(end)
    for row in connection.execute(select(*keys, *sums).where(*told).group_by(*keys)):
        tenant, name, at, code, attribution, count, lost, usd = row
        yield (tenant, name, int(at), code), (attribution, count, int(lost or 0), usd)


def _several(connection: Connection, end: int | None) -> Iterator[tuple[Key, tuple[Any, ...]]]:
    """Requests that several causes cost tokens. Money is split as the tokens are."""
    columns = requests.c
    hour = whole(columns.time / float(_SECONDS)).label("hour")
    known = columns.cause, columns.attribution, columns.losses, columns.lost_tokens, columns.lost_usd
    told = columns.cause.is_not(None), columns.losses.like(_SEVERAL), *_before(end)
    for row in connection.execute(select(columns.tenant, columns.template, hour, *known).where(*told)):
        tenant, name, at, cause, attribution, losses, lost, usd = row
        for code, share in ({cause: 0} | orjson.loads(losses)).items():
            money = None if usd is None or not lost else usd * share / lost
            yield (tenant, name, int(at), code), (attribution, int(code == cause), int(share), money)


def _before(end: int | None) -> tuple[Any, ...]:
    return () if end is None else (requests.c.time < float(end * _SECONDS),)
