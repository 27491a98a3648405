"""The tables, and how a database of an older version becomes one of this.

What is kept: counts, times, codes and paths of every request; running totals for each template, which
outlive the requests; totals by the hour; digests by which learned templates are found again. No text
of a prompt, of an answer or of a key is kept anywhere, but for responses where the operator asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    inspect,
    select,
    update,
)

from promptcache_gateway.store.portable import COUNT, POSTGRESQL, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = 6
"""The schema's version; raise it with a step in `_STEPS`."""

metadata = MetaData()

schema_version = Table("schema_version", metadata, Column("version", COUNT, nullable=False))

requests = Table(
    "requests",
    metadata,
    Column("seq", COUNT, primary_key=True, autoincrement=True),
    Column("id", String, nullable=False, unique=True),
    Column("time", Float, nullable=False),
    Column("template", String, nullable=False),
    Column("learned", Boolean, nullable=False),
    Column("tenant", String, nullable=False),
    Column("upstream", String, nullable=False),
    Column("model", String, nullable=False),
    Column("dialect", String, nullable=False),
    Column("status", COUNT, nullable=False),
    Column("error", String),
    Column("prompt_tokens", COUNT),
    Column("cached_tokens", COUNT),
    Column("cache_write_tokens", COUNT),
    Column("uncached_tokens", COUNT),
    Column("output_tokens", COUNT),
    Column("reported", Boolean, nullable=False),
    Column("ttft_ms", Float),
    Column("duration_ms", Float, nullable=False),
    Column("response_id", String),
    Column("saved_usd", Float),
    Column("cost_usd", Float),
    Column("key_id", String),
    Column("changes", String),  # JSON: what was changed of the request on its way; NULL: nothing
    Column("cause", String),
    Column("causes", String, nullable=False),  # ",PC101,PC301,": one comma on each side of every code
    Column("hit", Boolean),
    Column("path", String),
    Column("char_offset", COUNT),
    Column("token_offset", COUNT),
    Column("expected_cached_tokens", COUNT),
    Column("reusable_tokens", COUNT),
    Column("lost_tokens", COUNT),
    Column("lost_usd", Float),
    Column("losses", String, nullable=False),  # JSON: tokens by code
    Column("places", String),  # JSON: where each of several causes stands; NULL: one at most, as above
    Column("estimated", Boolean, nullable=False),
    Column("compared_with", String),
    Column("summary", String, nullable=False),
    Column("remedy", String),
    Column("attribution", String, nullable=False),
    Index("requests_by_template", "template", "seq"),
    Index("requests_by_cause", "cause", "seq"),
)


SUMMED_COUNTS = (
    "requests",
    "failed",
    "reported",
    "hits",
    "misses",
    "prompt_tokens",
    "reported_prompt_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "uncached_tokens",
    "output_tokens",
    "reusable_tokens",
    "lost_tokens",
    "ttft_hit_count",
    "ttft_miss_count",
)
SUMMED_MS = ("ttft_hit_ms", "ttft_miss_ms")
"""What is summed up over requests, beside money: whole numbers, and milliseconds."""


def _counters() -> list[Column[int] | Column[float]]:
    """What is summed up over requests. Sums of money stay NULL until a price is known."""
    return [
        *(Column(name, COUNT, nullable=False, default=0) for name in SUMMED_COUNTS),
        *(Column(name, Float, nullable=False, default=0.0) for name in SUMMED_MS),
        Column("lost_usd", Float),
        Column("saved_usd", Float),
    ]


templates = Table(
    "templates",
    metadata,
    Column("tenant", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("learned", Boolean, nullable=False),
    Column("first_seen", Float, nullable=False),
    Column("last_seen", Float, nullable=False),
    *_counters(),
)

hours = Table(
    "hours",
    metadata,
    Column("tenant", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("hour", COUNT, primary_key=True),  # Unix time // 3600
    *_counters(),
)

_REQUESTS_BY_TIME = Index("requests_by_time", requests.c.time)
_HOURS_BY_HOUR = Index("hours_by_hour", hours.c.hour)

template_causes = Table(
    "template_causes",
    metadata,
    Column("tenant", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("code", String, primary_key=True),
    Column("attribution", String, nullable=False),
    Column("requests", COUNT, nullable=False),
    Column("lost_tokens", COUNT, nullable=False),
    Column("lost_usd", Float),
    Column("first_seen", Float, nullable=False),
    Column("last_seen", Float, nullable=False),
)

cause_hours = Table(
    "cause_hours",
    metadata,
    Column("tenant", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("hour", COUNT, primary_key=True),  # Unix time // 3600
    Column("code", String, primary_key=True),
    Column("attribution", String, nullable=False),
    Column("requests", COUNT, nullable=False),
    Column("lost_tokens", COUNT, nullable=False),
    Column("lost_usd", Float),
    Index("cause_hours_by_hour", "hour"),
)

learned_templates = Table(
    "learned_templates",
    metadata,
    Column("tenant", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("key", String, nullable=False),
    Column("openings", LargeBinary, nullable=False),
    Column("chunks", LargeBinary, nullable=False),
)


template_names = Table(
    "template_names",
    metadata,
    Column("tenant", String, primary_key=True),
    Column("own", String, primary_key=True),
    Column("shown", String, nullable=False),
)


spending = Table(
    "spending",
    metadata,
    Column("tenant", String, primary_key=True),
    Column("key_id", String, primary_key=True),  # "" where no key of the file was shown
    Column("day", COUNT, primary_key=True),  # Unix time // 86400: a day of UTC
    Column("usd", Float, nullable=False),
    Column("requests", COUNT, nullable=False),
    Column("unpriced", COUNT, nullable=False),
)

kept_responses = Table(
    "kept_responses",
    metadata,
    Column("tenant", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("previous", String),  # the response it goes on from
    Column("created_at", Float, nullable=False),
    Column("used_at", Float, nullable=False),
    Column("size", COUNT, nullable=False),
    Column("input", LargeBinary, nullable=False),  # JSON: what was asked anew
    Column("response", LargeBinary, nullable=False),  # JSON: the response object
    Index("kept_responses_by_use", "tenant", "used_at"),
)


class ForeignDatabaseError(Exception):
    """The database belongs to another program."""


def _index_by_time(connection: Connection) -> None:
    """Make the indexes that version 2 reads curves by; a new database has them already."""
    for index in (_REQUESTS_BY_TIME, _HOURS_BY_HOUR):
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
