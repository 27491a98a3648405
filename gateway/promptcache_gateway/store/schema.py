"""The tables, and how a database of an older version becomes one of this.

What is kept: counts, times, codes and paths of every request; running totals for each template, which
outlive the requests; totals by the hour; digests by which learned templates are found again. No text
of a prompt, of an answer or of a key is kept anywhere.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    inspect,
    select,
    update,
)

VERSION = 1
"""The schema's version; raise it with a step in `_STEPS`."""

metadata = MetaData()

schema_version = Table("schema_version", metadata, Column("version", Integer, nullable=False))

requests = Table(
    "requests",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("id", String, nullable=False, unique=True),
    Column("time", Float, nullable=False),
    Column("template", String, nullable=False),
    Column("learned", Boolean, nullable=False),
    Column("tenant", String, nullable=False),
    Column("upstream", String, nullable=False),
    Column("model", String, nullable=False),
    Column("dialect", String, nullable=False),
    Column("status", Integer, nullable=False),
    Column("error", String),
    Column("prompt_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("cache_write_tokens", Integer),
    Column("uncached_tokens", Integer),
    Column("output_tokens", Integer),
    Column("reported", Boolean, nullable=False),
    Column("ttft_ms", Float),
    Column("duration_ms", Float, nullable=False),
    Column("response_id", String),
    Column("saved_usd", Float),
    Column("cause", String),
    Column("causes", String, nullable=False),  # ",PC101,PC301,": one comma on each side of every code
    Column("hit", Boolean),
    Column("path", String),
    Column("char_offset", Integer),
    Column("token_offset", Integer),
    Column("expected_cached_tokens", Integer),
    Column("reusable_tokens", Integer),
    Column("lost_tokens", Integer),
    Column("lost_usd", Float),
    Column("losses", String, nullable=False),  # JSON: tokens by code
    Column("estimated", Boolean, nullable=False),
    Column("compared_with", String),
    Column("summary", String, nullable=False),
    Column("remedy", String),
    Column("attribution", String, nullable=False),
    Index("requests_by_template", "template", "seq"),
    Index("requests_by_cause", "cause", "seq"),
)


def _counters() -> list[Column[int] | Column[float]]:
    """What is summed up over requests. Sums of money stay NULL until a price is known."""
    whole = (
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
    return [
        *(Column(name, Integer, nullable=False, default=0) for name in whole),
        Column("ttft_hit_ms", Float, nullable=False, default=0.0),
        Column("ttft_miss_ms", Float, nullable=False, default=0.0),
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
    Column("hour", Integer, primary_key=True),  # Unix time // 3600
    *_counters(),
)

template_causes = Table(
    "template_causes",
    metadata,
    Column("tenant", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("code", String, primary_key=True),
    Column("attribution", String, nullable=False),
    Column("requests", Integer, nullable=False),
    Column("lost_tokens", Integer, nullable=False),
    Column("lost_usd", Float),
    Column("first_seen", Float, nullable=False),
    Column("last_seen", Float, nullable=False),
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


class ForeignDatabaseError(Exception):
    """The database belongs to another program."""


_STEPS = {1: metadata.create_all}


def migrate(connection: Connection) -> int:
    """Bring the database to this version inside the caller's transaction; the version it had.

    A newer database than this program knows is left alone: the caller sees its version and refuses.

    Raises:
        ForeignDatabaseError: the file holds tables, and they are not ours.
    """
    present = inspect(connection).get_table_names()
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
