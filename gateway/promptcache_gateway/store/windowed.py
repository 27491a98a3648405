"""Templates and their causes in a window of time, from the totals by the hour.

The shapes are those of `promptcache_gateway.store.reader`. When something was first and last seen is told of
all time: hours know no moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Table, func, select

from promptcache_gateway.store.portable import all_true
from promptcache_gateway.store.reader import by_cost, by_loss, template_json
from promptcache_gateway.store.schema import cause_hours, hours, template_causes, templates
from promptcache_gateway.store.totals import COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Select

Json = dict[str, Any]

_SUMMED = (*COUNTED, "lost_usd", "saved_usd")
_NOTHING: Json = {**dict.fromkeys(COUNTED, 0), "lost_usd": None, "saved_usd": None}
_LOST = ("requests", "lost_tokens", "lost_usd")


@dataclass(frozen=True, slots=True)
class _Asked:
    """From which hour of the clock on, whose templates, and which one; None: all."""

    hour: int
    tenant: str | None
    name: str | None

    def of(self, statement: Select[Any], table: Table) -> Select[Any]:
        if self.tenant is not None:
            statement = statement.where(table.c.tenant == self.tenant)
        return statement if self.name is None else statement.where(table.c.name == self.name)


def templates_since(
    engine: Engine, since: float, *, tenant: str | None = None, name: str | None = None
) -> list[Json]:
    """The templates that had a request since then, most money lost first; one that is named, also without.

    Args:
        engine: the database.
        since: Unix time in seconds; the hour of the clock that it is in counts as a whole.
        tenant: whose; None: everybody's, those with one name added up.
        name: which one; None: all.
    """
    asked = _Asked(int(since // 3600), tenant, name)
    with engine.connect() as connection:
        rows = _sums(connection, hours, ("name",), _SUMMED, asked)
        seen = {row["name"]: row for row in _seen(connection, templates, ("name",), asked)}
        causes = _causes(connection, asked)
    if name is not None and not rows:
        rows = [{"name": name, **_NOTHING}]
    known = (row for row in rows if row["name"] in seen)
    found = [template_json({**seen[row["name"]], **row}, causes.get(row["name"], [])) for row in known]
    return sorted(found, key=by_loss)


def _causes(connection: Connection, asked: _Asked) -> dict[str, list[Json]]:
    keys = ("name", "code")
    times = {(row["name"], row["code"]): row for row in _seen(connection, template_causes, keys, asked)}
    found: dict[str, list[Json]] = {}
    for row in _sums(connection, cause_hours, keys, _LOST, asked):
        entry = {**times.get((row["name"], row["code"]), {}), **row}
        found.setdefault(entry.pop("name"), []).append(entry)
    for entries in found.values():
        entries.sort(key=by_cost, reverse=True)
    return found


def _sums(
    connection: Connection, table: Table, keys: Sequence[str], summed: Iterable[str], asked: _Asked
) -> list[Json]:
    named = [table.c[each] for each in keys]
    sums = [func.sum(table.c[each]).label(each) for each in summed]
    statement = asked.of(select(*named, *sums).where(table.c.hour >= asked.hour), table)
    return [_plain(row) for row in connection.execute(statement.group_by(*named)).mappings()]


def _seen(connection: Connection, table: Table, keys: Sequence[str], asked: _Asked) -> list[Json]:
    """When it was seen, and what else hours do not know."""
    columns = table.c
    learned, attribution = ("learned", all_true), ("attribution", func.max)
    more, merged = learned if table is templates else attribution
    named = [columns[each] for each in keys]
    times = (
        func.min(columns.first_seen).label("first_seen"),
        func.max(columns.last_seen).label("last_seen"),
        merged(columns[more]).label(more),
    )
    statement = asked.of(select(*named, *times), table).group_by(*named)
    return [_plain(row) for row in connection.execute(statement).mappings()]


def _plain(row: Any) -> Json:
    return {str(key): value for key, value in row.items()}
