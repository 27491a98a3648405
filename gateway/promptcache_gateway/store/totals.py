"""Sums a batch of records up, and adds the sums to the running totals in the database.

One statement for each template, hour and cause of a batch, however many requests it holds.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Table, case, func
from sqlalchemy.dialects.sqlite import Insert, insert

from promptcache_gateway.store.schema import hours, template_causes, templates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptcache_gateway.observe.record import RequestRecord

_MONEY = frozenset({"lost_usd", "saved_usd"})

Key = tuple[Any, ...]
Row = dict[str, Any]


def add_totals(connection: Connection, records: Iterable[RequestRecord]) -> None:
    """Add a batch to the totals of its templates, hours and causes."""
    by_template: dict[Key, Row] = defaultdict(dict)
    by_hour: dict[Key, Row] = defaultdict(dict)
    by_cause: dict[Key, Row] = defaultdict(dict)
    for record in records:
        key = (record.tenant, record.template)
        counts = counts_of(record)
        seen = {"first_seen": record.time, "last_seen": record.time}
        _add(by_template[key], counts | seen | {"learned": record.learned})
        _add(by_hour[(*key, int(record.time // 3600))], counts)
        for code, row in causes_of(record):
            _add(by_cause[(*key, code)], row | seen)
    _upsert(connection, templates, ("tenant", "name"), by_template)
    _upsert(connection, hours, ("tenant", "name", "hour"), by_hour)
    _upsert(connection, template_causes, ("tenant", "name", "code"), by_cause)


def counts_of(record: RequestRecord) -> Row:
    """One record as counters. Rates take only what was reported: unknown is not zero."""
    diagnosis = record.diagnosis
    reported = record.reported and record.prompt_tokens is not None
    prompt, cached = record.prompt_tokens or 0, record.cached_tokens or 0
    reusable = diagnosis.reusable_tokens if diagnosis.reusable_tokens is not None else cached
    hit, miss = diagnosis.hit is True, diagnosis.hit is False
    timed = record.ttft_ms is not None and reported
    return {
        "requests": 1,
        "failed": int(record.failed),
        "reported": int(reported),
        "hits": int(hit),
        "misses": int(diagnosis.hit is False),
        "prompt_tokens": prompt,
        "reported_prompt_tokens": prompt if reported else 0,
        "cached_tokens": cached if reported else 0,
        "cache_write_tokens": record.cache_write_tokens or 0,
        "uncached_tokens": record.uncached_tokens or 0,
        "output_tokens": record.output_tokens or 0,
        "reusable_tokens": min(reusable, prompt) if reported else 0,
        "lost_tokens": diagnosis.lost_tokens or 0,
        "ttft_hit_count": int(timed and hit),
        "ttft_miss_count": int(timed and miss),
        "ttft_hit_ms": record.ttft_ms if timed and hit else 0.0,
        "ttft_miss_ms": record.ttft_ms if timed and miss else 0.0,
        "lost_usd": diagnosis.lost_usd,
        "saved_usd": record.saved_usd,
    }


def causes_of(record: RequestRecord) -> list[tuple[str, Row]]:
    """What each cause of one record adds. Money is split as the tokens are.

    A request counts under its first cause only, so that the causes' requests add up to the misses. Another
    cause is there for the tokens that are known to be lost by it.
    """
    diagnosis = record.diagnosis
    lost, usd = diagnosis.lost_tokens, diagnosis.lost_usd
    rows = []
    for code in diagnosis.causes:
        share = diagnosis.losses.get(code, 0)
        if code != diagnosis.cause and not share:
            continue
        money = usd * share / lost if usd is not None and lost else None
        row = {
            "attribution": diagnosis.attribution,
            "requests": int(code == diagnosis.cause),
            "lost_tokens": share,
            "lost_usd": money,
        }
        rows.append((code, row))
    return rows


def _add(total: Row, more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if name == "first_seen":
            total[name] = min(total.get(name, value), value)
        elif name == "last_seen":
            total[name] = max(total.get(name, value), value)
        elif name in {"learned", "attribution"}:
            total[name] = value
        elif name in _MONEY:
            total[name] = _plus(total.get(name), value)
        else:
            total[name] = total.get(name, 0) + value


def _plus(one: float | None, other: float | None) -> float | None:
    if one is None:
        return other
    return one if other is None else one + other


def _upsert(connection: Connection, table: Table, keys: tuple[str, ...], rows: Mapping[Key, Row]) -> None:
    if rows:
        values = [{**dict(zip(keys, key, strict=True)), **row} for key, row in rows.items()]
        connection.execute(_statement(table, keys, tuple(values[0])), values)


@cache
def _statement(table: Table, keys: tuple[str, ...], columns: tuple[str, ...]) -> Insert:
    """Insert a row, or add it to the one that is there. Built once: it is the same for every batch."""
    statement = insert(table)
    added = {name: _merged(table, statement.excluded, name) for name in columns if name not in keys}
    return statement.on_conflict_do_update(index_elements=keys, set_=added)


def _merged(table: Table, excluded: Any, name: str) -> Any:
    old, new = table.c[name], excluded[name]
    if name == "first_seen":
        return func.min(old, new)
    if name == "last_seen":
        return func.max(old, new)
    if name in {"learned", "attribution"}:
        return new
    if name in _MONEY:
        return case((new.is_(None), old), else_=func.coalesce(old, 0.0) + new)
    return old + new
