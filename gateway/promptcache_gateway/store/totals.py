"""Sums a batch of records up, and adds the sums to the running totals in the database.

One statement for each template, hour and cause of a batch, however many requests it holds.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Table, case, func

from promptcache_gateway.store.portable import greater, insert_into, lesser, without_nul
from promptcache_gateway.store.schema import (
    SUMMED_COUNTS,
    SUMMED_MS,
    cause_hours,
    hours,
    template_causes,
    templates,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from promptcache_gateway.observe.record import RequestRecord

_MONEY = frozenset({"lost_usd", "saved_usd"})

Key = tuple[Any, ...]
Row = dict[str, Any]


COUNTED = (*SUMMED_COUNTS, *SUMMED_MS)
"""The counters that are added up; money, which may be unknown, is added apart."""


def add_totals(connection: Connection, records: Iterable[RequestRecord]) -> None:
    """Add a batch to the totals of its templates, hours and causes."""
    groups: dict[Key, list[RequestRecord]] = defaultdict(list)
    by_template: dict[Key, Row] = defaultdict(dict)
    by_hour: dict[Key, Row] = {}
    by_cause: dict[Key, Row] = defaultdict(dict)
    by_cause_hour: dict[Key, Row] = defaultdict(dict)
    for record in records:
        groups[record.tenant, record.template, int(record.time // 3600)].append(record)
        for code, row in causes_of(record) if record.diagnosis.causes else ():
            seen = {"first_seen": record.time, "last_seen": record.time}
            _add(by_cause[record.tenant, record.template, code], row | seen)
            _add(by_cause_hour[record.tenant, record.template, int(record.time // 3600), code], row)
    for key, group in groups.items():
        by_hour[key] = row = _summed(group)
        times = [record.time for record in group]
        seen = {"first_seen": min(times), "last_seen": max(times), "learned": group[-1].learned}
        _add(by_template[key[:2]], row | seen)
    _upsert(connection, templates, ("tenant", "name"), by_template)
    _upsert(connection, hours, ("tenant", "name", "hour"), by_hour)
    _upsert(connection, template_causes, ("tenant", "name", "code"), by_cause)
    _upsert(connection, cause_hours, ("tenant", "name", "hour", "code"), by_cause_hour)


def _summed(group: Sequence[RequestRecord]) -> Row:
    """The counters of some records, added up column by column."""
    columns = zip(*[counts_of(record) for record in group], strict=True)
    row: Row = dict(zip(COUNTED, map(sum, columns), strict=True))
    row["lost_usd"] = _sum_known(record.diagnosis.lost_usd for record in group)
    row["saved_usd"] = _sum_known(record.saved_usd for record in group)
    return row


def _sum_known(amounts: Iterable[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def counts_of(record: RequestRecord) -> tuple[float, ...]:
    """One record as `COUNTED` counters. Rates take only what was reported: unknown is not zero."""
    diagnosis = record.diagnosis
    reported = record.reported and record.prompt_tokens is not None
    prompt, cached = record.prompt_tokens or 0, record.cached_tokens or 0
    reusable = diagnosis.reusable_tokens if diagnosis.reusable_tokens is not None else cached
    hit, miss = diagnosis.hit is True, diagnosis.hit is False
    ttft = record.ttft_ms if reported else None
    return (
        1,
        int(record.failed),
        int(reported),
        int(hit),
        int(miss),
        prompt,
        prompt if reported else 0,
        cached if reported else 0,
        record.cache_write_tokens or 0,
        record.uncached_tokens or 0,
        record.output_tokens or 0,
        min(reusable, prompt) if reported else 0,
        diagnosis.lost_tokens or 0,
        int(ttft is not None and hit),
        int(ttft is not None and miss),
        ttft if ttft is not None and hit else 0.0,
        ttft if ttft is not None and miss else 0.0,
    )


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
        # In one order, always: two gateways that write to one database must not wait for each other.
        ordered = sorted(rows.items(), key=_key)
        values = [{**dict(zip(keys, map(without_nul, key), strict=True)), **row} for key, row in ordered]
        connection.execute(_statement(table, keys, tuple(values[0]), connection.dialect.name), values)


def _key(item: tuple[Key, Row]) -> Key:
    return item[0]


@cache
def _statement(table: Table, keys: tuple[str, ...], columns: tuple[str, ...], dialect: str) -> Any:
    """Insert a row, or add it to the one that is there. Built once: it is the same for every batch."""
    statement = insert_into(table, dialect)
    added = {name: _merged(table, statement.excluded, name) for name in columns if name not in keys}
    return statement.on_conflict_do_update(index_elements=keys, set_=added)


def _merged(table: Table, excluded: Any, name: str) -> Any:
    old, new = table.c[name], excluded[name]
    if name == "first_seen":
        return lesser(old, new)
    if name == "last_seen":
        return greater(old, new)
    if name in {"learned", "attribution"}:
        return new
    if name in _MONEY:
        return case((new.is_(None), old), else_=func.coalesce(old, 0.0) + new)
    return old + new
