"""Deletes what lies beyond the bounds.

Totals of templates outlive their requests. Deleted rows leave room that later ones fill, so a file of
SQLite grows up to its bound and stays there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, func, select, text

from promptcache_gateway.store.portable import POSTGRESQL
from promptcache_gateway.store.schema import cause_hours, hours, requests, spending

if TYPE_CHECKING:
    from promptcache_gateway.bounds import Bounds

_DAY_S = 86_400.0
_MIB = 1024 * 1024
_CUT = 10  # a file that is too large gives up a tenth of its requests, and again until it fits


def trim(connection: Connection, bounds: Bounds, now: float) -> None:
    """Delete what lies beyond the bounds; ``now`` is Unix time in seconds."""
    newest = connection.execute(select(func.max(requests.c.seq))).scalar() or 0
    connection.execute(delete(requests).where(requests.c.seq <= newest - bounds.requests))
    if bounds.days is not None:
        connection.execute(delete(requests).where(requests.c.time < now - bounds.days * _DAY_S))
    latest = connection.execute(select(func.max(hours.c.hour))).scalar() or 0
    for table in (hours, cause_hours):
        connection.execute(delete(table).where(table.c.hour <= latest - bounds.hours))
    connection.execute(delete(spending).where(spending.c.day < now // _DAY_S - bounds.hours / 24))
    if bounds.mib is not None and connection.dialect.name != POSTGRESQL:
        _shrink(connection, bounds.mib * _MIB)


def _shrink(connection: Connection, size: int) -> None:
    while used_bytes(connection) > size:
        ends = func.min(requests.c.seq), func.max(requests.c.seq)
        oldest, newest = connection.execute(select(*ends)).one()
        if oldest is None:
            return
        last = oldest + (newest - oldest) // _CUT
        connection.execute(delete(requests).where(requests.c.seq <= last))


def used_bytes(connection: Connection) -> int:
    """Bytes of a SQLite file that hold something."""
    pages, free, size = (
        int(connection.execute(text(f"PRAGMA {name}")).scalar_one())
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size
