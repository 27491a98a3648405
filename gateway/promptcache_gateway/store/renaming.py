"""Gives what was recorded of a template another name, added to what there is under that name already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Table, and_, delete, insert, select, update

from promptcache_gateway.store.schema import (
    cause_hours,
    hours,
    requests,
    template_causes,
    template_names,
    templates,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, Engine

_TABLES = (templates, hours, template_causes, cause_hours)
_EARLIER, _LATER = frozenset({"first_seen"}), frozenset({"last_seen"})
_MONEY = frozenset({"lost_usd", "saved_usd"})


def tenants_of(engine: Engine, name: str) -> list[str]:
    """The tenants that have a template of this name."""
    with engine.connect() as connection:
        return list(connection.scalars(select(templates.c.tenant).where(templates.c.name == name)))


def read_renames(engine: Engine) -> list[tuple[str, str, str]]:
    """Every rename: tenant, own name, name shown."""
    columns = template_names.c
    with engine.connect() as connection:
        rows = connection.execute(select(columns.tenant, columns.own, columns.shown))
        return [(row[0], row[1], row[2]) for row in rows]


def rename_template(engine: Engine, tenant: str, name: str, to: str, owns: Mapping[str, str]) -> int:
    """Rename what was recorded, and keep which own names are shown as what; how many requests there were.

    Args:
        engine: the database.
        tenant: whose template it is.
        name: what it was called.
        to: what it is called from now on.
        owns: the name to show for each own name that is concerned.
    """
    with engine.begin() as connection:
        for table in _TABLES:
            _move(connection, table, tenant, name, to)
        mine = and_(template_names.c.tenant == tenant, template_names.c.own.in_(list(owns)))
        connection.execute(delete(template_names).where(mine))
        kept = [{"tenant": tenant, "own": own, "shown": shown} for own, shown in owns.items() if own != shown]
        if kept:
            connection.execute(insert(template_names), kept)
        theirs = and_(requests.c.tenant == tenant, requests.c.template == name)
        return connection.execute(update(requests).where(theirs).values(template=to)).rowcount


def _move(connection: Connection, table: Table, tenant: str, name: str, to: str) -> None:
    """Give a table's rows the other name; rows that then have one key become one."""
    mine = and_(table.c.tenant == tenant, table.c.name == name)
    for row in connection.execute(select(table).where(mine)).mappings().all():
        values = {str(key): value for key, value in row.items()} | {"name": to}
        key = and_(*(column == values[column.name] for column in table.primary_key.columns))
        there = connection.execute(select(table).where(key)).mappings().first()
        if there is None:
            connection.execute(insert(table), [values])
        else:
            merged = {column: _merged(column, there[column], values[column]) for column in _data(table)}
            connection.execute(update(table).where(key).values(**merged))
    connection.execute(delete(table).where(mine))


def _data(table: Table) -> list[str]:
    keys = {column.name for column in table.primary_key.columns}
    return [column.name for column in table.columns if column.name not in keys]


def _merged(column: str, one: Any, other: Any) -> Any:
    if column in _EARLIER:
        return min(one, other)
    if column in _LATER:
        return max(one, other)
    if column == "learned":
        return one and other
    if column == "attribution":
        return max(one, other)
    if column in _MONEY and (one is None or other is None):
        return other if one is None else one
    return one + other
