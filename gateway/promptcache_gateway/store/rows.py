"""A batch as rows of the database: requests, and templates that were learned. Sums are `totals`'."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Boolean, Connection, exists, select

from promptcache_gateway.exchange import changes_json
from promptcache_gateway.store.portable import POSTGRESQL, SCHEMA, insert_into, without_nul
from promptcache_gateway.store.reader import DIAGNOSIS_COLUMNS, OWN_COLUMNS
from promptcache_gateway.store.schema import learned_templates, requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.observe.record import RequestRecord
    from promptcache_gateway.store.learned import LearnedRow

_COLUMNS = (*OWN_COLUMNS, *DIAGNOSIS_COLUMNS, "causes", "losses", "changes", "places")
_FLAGS = frozenset(name for name in _COLUMNS if isinstance(requests.c[name].type, Boolean))
_TOGETHER = 20  # rows of one statement: within the 999 values that an old SQLite takes
_own_fields, _diagnosis_fields = attrgetter(*OWN_COLUMNS), attrgetter(*DIAGNOSIS_COLUMNS)


def insert_requests(connection: Connection, records: Sequence[RequestRecord]) -> None:
    """Insert the requests; one whose id is there already changes nothing.

    Columns that nobody of the batch has a value for are left out. SQLite's driver looks for a converter for
    each None and each flag that it is given, which takes longer than all else in a row.
    """
    if not records:
        return
    dialect, nothing = connection.dialect.name, (None,) * len(records)
    told = dict(zip(_COLUMNS, zip(*map(_row, records), strict=True), strict=True))
    told = {name: column for name, column in told.items() if column != nothing}
    if dialect == POSTGRESQL:
        told = {name: tuple(map(without_nul, column)) for name, column in told.items()}
    else:
        told |= {name: _as_numbers(told[name]) for name in _FLAGS & told.keys()}
    columns, rows = tuple(told), list(zip(*told.values(), strict=True))
    together = 0 if dialect == POSTGRESQL else len(rows) - len(rows) % _TOGETHER
    if together:
        # After each statement the thread has to wait until a busy event loop lets it go on.
        groups = [tuple(chain(*rows[at : at + _TOGETHER])) for at in range(0, together, _TOGETHER)]
        connection.exec_driver_sql(_insert(dialect, columns, _TOGETHER), groups)
    if rows[together:]:
        connection.exec_driver_sql(_insert(dialect, columns), rows[together:])


def insert_learned(connection: Connection, templates: Sequence[LearnedRow]) -> None:
    """Insert learned templates that are not there yet."""
    for template in templates:
        values = {name: without_nul(value) for name, value in template.packed().items()}
        statement = insert_into(learned_templates, connection.dialect.name).values(values)
        connection.execute(statement.on_conflict_do_nothing())


def is_written(connection: Connection, record: RequestRecord) -> bool:
    """Whether a request is in the database."""
    return bool(connection.execute(select(exists().where(requests.c.id == record.id))).scalar())


def _as_numbers(flags: tuple[bool | None, ...]) -> tuple[int | None, ...]:
    return tuple([None if flag is None else int(flag) for flag in flags])


@lru_cache(maxsize=64)
def _insert(dialect: str, columns: tuple[str, ...], rows: int = 1) -> str:
    """For so many rows. Written out: a row of values costs half as much as a mapping that is put in order."""
    table, mark = (f"{SCHEMA}.requests", "%s") if dialect == POSTGRESQL else ("requests", "?")
    values = ", ".join([f"({', '.join([mark] * len(columns))})"] * rows)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {values} ON CONFLICT (id) DO NOTHING"  # noqa: S608 - our own names


def _row(record: RequestRecord) -> tuple[Any, ...]:
    """A record as a row in the order of `_COLUMNS`; the excerpts stay behind."""
    diagnosis = record.diagnosis
    causes = "," + ",".join(diagnosis.causes) + "," if diagnosis.causes else ""
    losses = orjson.dumps(dict(diagnosis.losses)).decode() if diagnosis.losses else "{}"
    changes = orjson.dumps(changes_json(record.changes)).decode() if record.changes else None
    places = None
    if len(diagnosis.places) > 1:
        told = [place.to_dict(excerpts=False) for place in diagnosis.places]
        places = orjson.dumps(told).decode()
    return (*_own_fields(record), *_diagnosis_fields(diagnosis), causes, losses, changes, places)
