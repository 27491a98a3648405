"""What was recorded, read back in the shapes of the admin API. Writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection, Engine, Select, Table, func, or_, select

from promptcache_gateway.observe.templates import MIXED
from promptcache_gateway.store.learned import LearnedRow
from promptcache_gateway.store.portable import all_true
from promptcache_gateway.store.schema import (
    cause_hours,
    hours,
    learned_templates,
    requests,
    template_causes,
    templates,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Json = dict[str, Any]

_SUMMED = [column.name for column in templates.columns if column.name not in {"tenant", "name", "learned"}]
_USAGE = (
    "prompt_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "uncached_tokens",
    "output_tokens",
    "reported",
)
_DIAGNOSIS = (
    "cause",
    "causes",
    "hit",
    "path",
    "char_offset",
    "token_offset",
    "expected_cached_tokens",
    "reusable_tokens",
    "lost_tokens",
    "lost_usd",
    "losses",
    "places",
    "estimated",
    "before",
    "after",
    "compared_with",
    "summary",
    "remedy",
    "attribution",
)
_OWN = (
    "id",
    "time",
    "template",
    "learned",
    "tenant",
    "upstream",
    "model",
    "dialect",
    "status",
    "error",
)
_TIMES = ("ttft_ms", "duration_ms", "response_id", "saved_usd", "cost_usd", "key_id")

OWN_COLUMNS = (*_OWN, *_USAGE, *_TIMES)
"""Columns of a request that are a record's own fields."""

_WRITTEN_APART = frozenset({"before", "after", "causes", "losses", "places"})
DIAGNOSIS_COLUMNS = tuple(name for name in _DIAGNOSIS if name not in _WRITTEN_APART)
"""Columns of a request that are its diagnosis's fields as they are."""


class Reader:
    """Questions to the database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def templates(self, *, tenant: str | None = None, name: str | None = None) -> list[Json]:
        """Every template's totals, most money lost first; tenants with one name are added up."""
        sums = [_merge(templates, column) for column in _SUMMED]
        statement = select(templates.c.name, all_true(templates.c.learned).label("learned"), *sums)
        statement = _of(statement.group_by(templates.c.name), templates, tenant, name)
        with self._engine.connect() as connection:
            rows = connection.execute(statement).mappings().all()
        causes = self._causes(tenant, name)
        found = [template_json(dict(row), causes.get(row["name"], [])) for row in rows]
        return sorted(found, key=by_loss)

    def hours(self, name: str, *, tenant: str | None = None, limit: int = 168) -> list[Json]:
        """One template's totals by the hour, oldest first."""
        sums = [_merge(hours, column) for column in _SUMMED if column not in {"first_seen", "last_seen"}]
        statement = _of(select(hours.c.hour, *sums), hours, tenant, name)
        statement = statement.group_by(hours.c.hour).order_by(hours.c.hour.desc()).limit(limit)
        with self._engine.connect() as connection:
            rows = connection.execute(statement).mappings().all()
            since = rows[-1]["hour"] if rows else 0
            causes = _causes_by_hour(connection, name, tenant, since)
        return [
            {"time": row["hour"] * 3600, **_totals(dict(row)), "causes": causes.get(row["hour"], [])}
            for row in reversed(rows)
        ]

    def requests(
        self,
        *,
        template: str | None = None,
        cause: str | None = None,
        or_first: str | None = None,
        tenant: str | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> tuple[list[Json], int | None]:
        """Requests, newest first, and the cursor of the next page (None on the last).

        ``cause`` counts wherever it is among a request's causes, ``or_first`` only where it is the first.
        """
        statement = select(requests).order_by(requests.c.seq.desc()).limit(limit + 1)
        if template is not None:
            statement = statement.where(requests.c.template == template)
        if tenant is not None:
            statement = statement.where(requests.c.tenant == tenant)
        if cause is not None:
            among = requests.c.causes.contains(f",{cause},", autoescape=True)
            statement = statement.where(or_(among, requests.c.cause == or_first) if or_first else among)
        if before is not None:
            statement = statement.where(requests.c.seq < before)
        with self._engine.connect() as connection:
            rows = connection.execute(statement).mappings().all()
        following = rows[limit - 1]["seq"] if len(rows) > limit else None
        return [request_json(dict(row)) for row in rows[:limit]], following

    def request(self, request_id: str) -> Json | None:
        """One request, or None."""
        with self._engine.connect() as connection:
            statement = select(requests).where(requests.c.id == request_id)
            row = connection.execute(statement).mappings().first()
        return None if row is None else request_json(dict(row))

    def learned(self) -> list[LearnedRow]:
        """Every learned template."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(learned_templates)).mappings()
            return [LearnedRow.unpacked(dict(row)) for row in rows]

    def known_causes(self) -> set[tuple[str, str, str]]:
        """Tenant, template and code of every cause that was ever seen."""
        columns = (template_causes.c.tenant, template_causes.c.name, template_causes.c.code)
        with self._engine.connect() as connection:
            return {(row[0], row[1], row[2]) for row in connection.execute(select(*columns))}

    def _causes(self, tenant: str | None, name: str | None) -> dict[str, list[Json]]:
        columns = template_causes.c
        statement = select(
            columns.name,
            columns.code,
            func.max(columns.attribution).label("attribution"),
            func.sum(columns.requests).label("requests"),
            func.sum(columns.lost_tokens).label("lost_tokens"),
            func.sum(columns.lost_usd).label("lost_usd"),
            func.min(columns.first_seen).label("first_seen"),
            func.max(columns.last_seen).label("last_seen"),
        ).group_by(columns.name, columns.code)
        found: dict[str, list[Json]] = {}
        with self._engine.connect() as connection:
            for row in connection.execute(_of(statement, template_causes, tenant, name)).mappings():
                entry = {str(name): value for name, value in row.items()}
                found.setdefault(entry.pop("name"), []).append(entry)
        for rows in found.values():
            rows.sort(key=by_cost, reverse=True)
        return found


def _causes_by_hour(
    connection: Connection, name: str, tenant: str | None, since: int
) -> dict[int, list[Json]]:
    """What each cause cost a template in each hour, the costliest first."""
    columns = cause_hours.c
    sums = [func.sum(columns[each]).label(each) for each in ("requests", "lost_tokens", "lost_usd")]
    attribution = func.max(columns.attribution).label("attribution")
    statement = select(columns.hour, columns.code, attribution, *sums).where(columns.hour >= since)
    statement = _of(statement, cause_hours, tenant, name).group_by(columns.hour, columns.code)
    found: dict[int, list[Json]] = {}
    for row in connection.execute(statement).mappings():
        entry = {str(key): value for key, value in row.items()}
        found.setdefault(entry.pop("hour"), []).append(entry)
    for rows in found.values():
        rows.sort(key=by_cost, reverse=True)
    return found


def template_json(row: Mapping[str, Any], causes: Iterable[Json]) -> Json:
    """One template as the admin API shows it."""
    return {
        "name": row["name"],
        "learned": bool(row["learned"]),
        "mixed": row["name"] in MIXED,
        **_totals(row),
        "first_seen": row["first_seen"],
        "last_seen": row["last_seen"],
        "causes": list(causes),
    }


def request_json(row: Mapping[str, Any]) -> Json:
    """One request as the admin API shows it; what is kept in memory only is not in the database."""
    values = {**row, "before": None, "after": None}
    values["causes"] = [code for code in row["causes"].split(",") if code]
    values["losses"] = orjson.loads(row["losses"])
    values["places"] = _places(row, values["losses"])
    return {
        **{name: values[name] for name in _OWN},
        "usage": {name: values[name] for name in _USAGE},
        **{name: values[name] for name in _TIMES},
        "changes": orjson.loads(row["changes"]) if row["changes"] else [],
        "diagnosis": {name: values[name] for name in _DIAGNOSIS},
    }


def _places(row: Mapping[str, Any], losses: Mapping[str, int]) -> list[Json]:
    """Where each cause stands. Of a single one that is the request's own place."""
    if row["places"]:
        told: list[Json] = orjson.loads(row["places"])
        return told
    if row["path"] is None or row["cause"] is None:
        return []
    place = {name: row[name] for name in ("path", "char_offset", "token_offset")}
    lost = None if row["lost_tokens"] is None else losses.get(row["cause"], 0)
    return [{"code": row["cause"], **place, "lost_tokens": lost, "before": None, "after": None}]


def _totals(row: Mapping[str, Any]) -> Json:
    """Sums and rates. A rate is None where nothing was reported: unknown is not zero."""
    reported = row["reported_prompt_tokens"]
    known = row["reported"] > 0
    return {
        "requests": row["requests"],
        "failed_requests": row["failed"],
        "reported_requests": row["reported"],
        "hits": row["hits"],
        "misses": row["misses"],
        "prompt_tokens": row["prompt_tokens"],
        "reported_prompt_tokens": reported,
        "cached_tokens": row["cached_tokens"] if known else None,
        "cache_write_tokens": row["cache_write_tokens"] if known else None,
        "uncached_tokens": row["uncached_tokens"] if known else None,
        "output_tokens": row["output_tokens"],
        "hit_rate": _rate(row["cached_tokens"], reported),
        "achievable_hit_rate": _rate(row["reusable_tokens"], reported),
        "write_amplification": _amplification(row) if known else None,
        "lost_tokens": row["lost_tokens"] if known else None,
        "lost_usd": row["lost_usd"],
        "saved_usd": row["saved_usd"],
        "ttft_ms": {
            "hit": _mean(row["ttft_hit_ms"], row["ttft_hit_count"]),
            "miss": _mean(row["ttft_miss_ms"], row["ttft_miss_count"]),
        },
    }


def _amplification(row: Mapping[str, Any]) -> float | None:
    """Tokens written to the cache for each token that was new, 1 at best where all is written.

    New is what of a prompt could not have been reused. None where nothing was written, or nothing was new.
    """
    new = row["reported_prompt_tokens"] - row["reusable_tokens"]
    return row["cache_write_tokens"] / new if row["cache_write_tokens"] and new > 0 else None


def _rate(part: int, whole: int) -> float | None:
    return min(1.0, part / whole) if whole else None


def _mean(total: float, count: int) -> float | None:
    return total / count if count else None


def by_loss(row: Json) -> tuple[float, int, int, str]:
    """Where a template stands among others: by the money it lost, then by tokens lost, then by size."""
    return (-(row["lost_usd"] or 0.0), -(row["lost_tokens"] or 0), -row["prompt_tokens"], row["name"])


def by_cost(row: Json) -> tuple[float, int, int]:
    """What a cause cost: money, then tokens, then requests."""
    return (row["lost_usd"] or 0.0, row["lost_tokens"], row["requests"])


def _merge(table: Table, name: str) -> Any:
    column = table.c[name]
    merged = {"first_seen": func.min(column), "last_seen": func.max(column)}.get(name, func.sum(column))
    return merged.label(name)


def _of(statement: Select[Any], table: Table, tenant: str | None, name: str | None) -> Select[Any]:
    if tenant is not None:
        statement = statement.where(table.c.tenant == tenant)
    return statement if name is None else statement.where(table.c.name == name)
