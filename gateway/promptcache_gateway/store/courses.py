"""What templates read of what they could, and lost in an hour: what a restart must not forget of them.

The latest requests are told as they are. Of templates that have few among those, the totals by the hour say
how it was before. What follows from it is `promptcache_gateway.observe.regressions`' business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, func, select

from promptcache_gateway.store.schema import hours, requests, templates

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEMPLATES = 1_000
_ROWS = 20_000
_CHUNK = 2_000
_HOURS = 24 * 7

Key = tuple[str, str]
Share = tuple[int, int, str | None]
"""Tokens read of the tokens that could be, and the first cause of what was not."""


@dataclass(frozen=True, slots=True)
class Course:
    """One template's requests up to now.

    Attributes:
        tenant: whose it is.
        template: its name.
        requests: how many there were before ``latest``, as far as they are known.
        read: tokens that those read of ``reusable``.
        reusable: tokens that those could have read.
        latest: the latest requests one by one, oldest first.
    """

    tenant: str
    template: str
    requests: int
    read: int
    reusable: int
    latest: tuple[Share, ...]


def read_courses(engine: Engine, each: int) -> Iterator[Course]:
    """The courses of the templates that were seen last, the last one first.

    Args:
        engine: the database.
        each: how many of a template's latest requests are wanted at most.
    """
    columns = templates.c
    order = columns.last_seen.desc(), columns.tenant, columns.name
    names = select(columns.tenant, columns.name).order_by(*order).limit(_TEMPLATES)
    with engine.connect() as connection:
        latest, since = _latest(connection, each)
        for tenant, name in connection.execute(names).all():
            shares = latest.get((tenant, name), [])
            known = len(shares) >= each
            before = (0, 0, 0) if known else _before(connection, (tenant, name), since.get((tenant, name)))
            yield Course(tenant, name, *before, tuple(reversed(shares)))


def read_losses(engine: Engine, hour: int) -> Iterator[tuple[Key, float]]:
    """What templates lost in an hour of the clock, in USD, those that lost most first.

    Args:
        engine: the database.
        hour: hours since 1970.
    """
    columns = hours.c
    statement = select(columns.tenant, columns.name, columns.lost_usd)
    statement = statement.where(columns.hour == hour, columns.lost_usd > 0)
    with engine.connect() as connection:
        rows = connection.execute(statement.order_by(columns.lost_usd.desc()).limit(_TEMPLATES)).all()
    yield from (((tenant, name), float(usd)) for tenant, name, usd in rows)


def _latest(connection: Connection, each: int) -> tuple[dict[Key, list[Share]], dict[Key, float]]:
    """The latest requests that had something to read, newest first, and when the first of them was."""
    columns = requests.c
    wanted = columns.tenant, columns.template, columns.cached_tokens, columns.reusable_tokens
    known = (
        columns.reusable_tokens > 0,
        columns.cached_tokens.is_not(None),
        columns.status < 400,
        columns.error.is_(None),
    )
    newest = connection.execute(select(func.max(columns.seq))).scalar() or 0
    statement = select(*wanted, columns.cause, columns.time).where(columns.seq > newest - _ROWS, *known)
    found: dict[Key, list[Share]] = {}
    since: dict[Key, float] = {}
    rows = connection.execution_options(yield_per=_CHUNK).execute(statement.order_by(columns.seq.desc()))
    for tenant, name, cached, reusable, cause, time in rows:
        shares = found.setdefault((tenant, name), [])
        if len(shares) < each:
            shares.append((min(cached, reusable), reusable, cause))
            since[tenant, name] = time
    return found, since


def _before(connection: Connection, key: Key, since: float | None) -> tuple[int, int, int]:
    """Requests, tokens read and tokens that could be, in the hours before the one of ``since``."""
    columns = hours.c
    of_it = columns.tenant == key[0], columns.name == key[1]
    newest = select(func.max(columns.hour)).where(*of_it)
    until = int(since // 3600) if since is not None else (connection.execute(newest).scalar() or 0) + 1
    counts = columns.hits + columns.misses, columns.reusable_tokens, columns.lost_tokens
    sums = [func.coalesce(func.sum(count), 0) for count in counts]
    during = columns.hour < until, columns.hour >= until - _HOURS
    judged, reusable, lost = connection.execute(select(*sums).where(*of_it, *during)).one()
    return (int(judged), max(0, int(reusable) - int(lost)), int(reusable)) if reusable else (0, 0, 0)
