"""How a database of an older version becomes one of this: step by step, in one transaction.

The tables are `schema`'s, and what a step fills in from what is there is `backfill`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, inspect, select, update

from promptcache_gateway.store.backfill import fill_cause_hours
from promptcache_gateway.store.portable import POSTGRESQL, SCHEMA
from promptcache_gateway.store.schema import (
    HOURS_BY_HOUR,
    REQUESTS_BY_TIME,
    cause_hours,
    kept_responses,
    metadata,
    requests,
    schema_version,
    spending,
    template_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

VERSION = 7
"""The schema's version; raise it with a step in `_STEPS`."""


class ForeignDatabaseError(Exception):
    """The database belongs to another program."""


def _index_by_time(connection: Connection) -> None:
    """Make the indexes that version 2 reads curves by; a new database has them already."""
    for index in (REQUESTS_BY_TIME, HOURS_BY_HOUR):
        index.create(connection, checkfirst=True)


def _name_templates(connection: Connection) -> None:
    """Make the table of version 3: what operators call templates; a new database has it already."""
    template_names.create(connection, checkfirst=True)


def _note_money(connection: Connection) -> None:
    """Add what version 4 records: costs, keys, changes, and the table of spending."""
    _add_columns(connection, "cost_usd", "key_id", "changes")
    spending.create(connection, checkfirst=True)


def _note_places(connection: Connection) -> None:
    """Add what version 5 records: where each of several causes stands, and causes by the hour."""
    _add_columns(connection, "places")
    cause_hours.create(connection, checkfirst=True)


def _add_columns(connection: Connection, *names: str) -> None:
    """Add columns to the requests of an older version; a new database has them already."""
    schema = SCHEMA if connection.dialect.name == POSTGRESQL else None
    table = requests.name if schema is None else f"{schema}.{requests.name}"
    there = {column["name"] for column in inspect(connection).get_columns(requests.name, schema)}
    for name in names:
        if name not in there:
            kind = requests.c[name].type.compile(connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


def _keep_responses(connection: Connection) -> None:
    """Make the table of version 6: responses that conversations go on from."""
    kept_responses.create(connection, checkfirst=True)


_STEPS: dict[int, Callable[[Connection], None]] = {
    1: metadata.create_all,
    2: _index_by_time,
    3: _name_templates,
    4: _note_money,
    5: _note_places,
    6: _keep_responses,
    7: fill_cause_hours,
}


def migrate(connection: Connection, schema: str | None = None) -> int:
    """Bring the database to this version inside the caller's transaction; the version it had.

    ``schema`` is where the tables are, in a database that has several. A newer database than this program
    knows is left alone: the caller sees its version and refuses.

    Raises:
        ForeignDatabaseError: the file holds tables, and they are not ours.
    """
    present = inspect(connection).get_table_names(schema)
    if present and schema_version.name not in present:
        raise ForeignDatabaseError
    schema_version.create(connection, checkfirst=True)
    found: int | None = connection.execute(select(schema_version.c.version)).scalar_one_or_none()
    if found is None:
        connection.execute(insert(schema_version).values(version=0))
    for step in range((found or 0) + 1, VERSION + 1):
        _STEPS[step](connection)
        connection.execute(update(schema_version).values(version=step))
    return found or 0
