"""Deletes everything that was recorded of one tenant, totals and learned templates included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, text

from promptcache_gateway.store.portable import POSTGRESQL
from promptcache_gateway.store.schema import (
    cause_hours,
    hours,
    kept_responses,
    learned_templates,
    requests,
    spending,
    template_causes,
    template_names,
    templates,
)

if TYPE_CHECKING:
    from sqlalchemy import Engine

_TABLES = (
    requests,
    templates,
    hours,
    template_causes,
    cause_hours,
    learned_templates,
    template_names,
    spending,
    kept_responses,
)


def delete_tenant(engine: Engine, tenant: str) -> int:
    """Delete a tenant's records; how many requests there were.

    In SQLite what was deleted is overwritten in the file; PostgreSQL's vacuum does it in its own time.
    """
    in_file = engine.dialect.name != POSTGRESQL
    with engine.connect() as connection:
        if in_file:
            connection.exec_driver_sql("PRAGMA secure_delete=ON")
        found = [
            connection.execute(delete(table).where(table.c.tenant == tenant)).rowcount for table in _TABLES
        ]
        connection.commit()
        if in_file:
            connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
    return found[0]
