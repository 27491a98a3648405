"""The tables.

What is kept: counts, times, codes and paths of every request; running totals for each template, which
outlive the requests; totals by the hour; digests by which learned templates are found again. No text
of a prompt, of an answer or of a key is kept anywhere, but for responses where the operator asks for it. How
a database of an older version becomes one of this is `migrations`' business.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
)

from promptcache_gateway.store.portable import COUNT

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

REQUESTS_BY_TIME = Index("requests_by_time", requests.c.time)
HOURS_BY_HOUR = Index("hours_by_hour", hours.c.hour)

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
