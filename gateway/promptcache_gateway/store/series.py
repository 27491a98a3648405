"""What was recorded, over time and by place in the prompt: the curves and bars of the dashboard.

Curves come from the totals by the hour, and the last hour's, minute by minute, from the requests
themselves. A step in which nothing happened is there with zeros: a gap in the traffic is seen as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import orjson
from sqlalchemy import Engine, Select, case, func, select

from promptcache_gateway.store.cause_series import causes_by_step
from promptcache_gateway.store.fronts import mostly_in_front
from promptcache_gateway.store.portable import any_true, lesser, whole
from promptcache_gateway.store.schema import hours, requests
from promptcache_gateway.store.span import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, RowMapping

    from promptcache_gateway.store.span import Window

Json = dict[str, Any]

_HOUR = 3_600
_LATEST = 5_000  # requests of a template among which divergences are counted
_COUNTS = (
    "requests",
    "prompt_tokens",
    "reported_prompt_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "uncached_tokens",
    "reusable_tokens",
    "lost_tokens",
)
_MONEY = ("lost_usd", "saved_usd")
_RATE = ("reported_prompt_tokens", "cached_tokens")


class Series:
    """Questions about time and place to the database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def timeline(
        self, window: Window, now: float, *, template: str | None = None, tenant: str | None = None
    ) -> Json:
        """Counters step by step, a list for each: ``{start, step_s, time: [...], requests: [...], ...}``.

        ``causes`` holds the same of each cause: ``{"PC101": {requests, lost_tokens, lost_usd}, ...}``.
        Money is None in steps for which no price is known.
        """
        span = Span.ending_at(window, now)
        rows = self._rows(span, None, template, tenant, (*_COUNTS, *_MONEY))
        with self._engine.connect() as connection:
            causes = causes_by_step(connection, span, template, tenant)
        told = {"window": window, "start": span.start, "step_s": span.step_s}
        return {**told, **_columns(span, rows), "causes": causes}

    def sparklines(self, window: Window, now: float, *, tenant: str | None = None) -> Json:
        """Each template's token hit rate step by step, None where nothing was reported."""
        span = Span.ending_at(window, now)
        found: dict[str, list[float | None]] = {}
        for row in self._rows(span, "name", None, tenant, _RATE):
            line = found.setdefault(row["name"], [None] * span.steps)
            reported = row["reported_prompt_tokens"]
            if 0 <= row["step"] < span.steps and reported:
                line[row["step"]] = round(min(1.0, row["cached_tokens"] / reported), 4)
        return {"window": window, "start": span.start, "step_s": span.step_s, "hit_rate": found}

    def divergences(self, template: str, *, tenant: str | None = None) -> Json:
        """Where the latest requests of a template leave their predecessors, what costs most first.

        ``tokens`` are the mean of what stands in front of the place; ``prompt_tokens`` is the mean length of
        all the requests looked at.
        """
        latest = select(requests).where(requests.c.template == template)
        if tenant is not None:
            latest = latest.where(requests.c.tenant == tenant)
        rows = latest.order_by(requests.c.seq.desc()).limit(_LATEST).subquery().c
        overall = select(
            func.count(rows.seq).label("requests"),
            func.avg(rows.prompt_tokens).label("prompt_tokens"),
            func.avg(rows.cached_tokens).label("cached_tokens"),
            func.avg(rows.reusable_tokens).label("reusable_tokens"),
        )
        places = (
            select(
                rows.cause,
                rows.path,
                func.max(rows.attribution).label("attribution"),
                func.count(rows.seq).label("requests"),
                func.avg(rows.token_offset).label("tokens"),
                any_true(rows.estimated).label("estimated"),
                func.sum(rows.lost_tokens).label("lost_tokens"),
                func.sum(rows.lost_usd).label("lost_usd"),
                func.max(rows.time).label("last_seen"),
            )
            .where(rows.cause.is_not(None), rows.path.is_not(None))
            .group_by(rows.cause, rows.path)
        )
        with self._engine.connect() as connection:
            about = connection.execute(overall).mappings().one()
            found = [_place(row) for row in connection.execute(places).mappings()]
            several = connection.execute(select(rows.places).where(rows.places.is_not(None))).scalars()
            behind = mostly_in_front(orjson.loads(each) for each in several)
        found.sort(key=lambda row: (row["lost_usd"] or 0, row["lost_tokens"] or 0), reverse=True)
        return {**about, "places": found, "behind": behind}

    def _rows(
        self,
        span: Span,
        by: Literal["name"] | None,
        template: str | None,
        tenant: str | None,
        summed: tuple[str, ...],
    ) -> Sequence[Mapping[str, Any]]:
        ask = _from_requests if span.step_s < _HOUR else _from_hours
        with self._engine.connect() as connection:
            rows = connection.execute(ask(span, by, template, tenant, summed)).mappings()
            return [{str(name): value for name, value in row.items()} for row in rows]


def _from_hours(
    span: Span, by: str | None, template: str | None, tenant: str | None, summed: tuple[str, ...]
) -> Select[Any]:
    keys = _keys((hours.c.hour * _HOUR - span.start) // span.step_s, hours.c.name, by)
    sums = [func.sum(hours.c[name]).label(name) for name in summed]
    statement = select(*keys, *sums).where(hours.c.hour >= span.start // _HOUR)
    if template is not None:
        statement = statement.where(hours.c.name == template)
    if tenant is not None:
        statement = statement.where(hours.c.tenant == tenant)
    return statement.group_by(*keys)


def _from_requests(
    span: Span, by: str | None, template: str | None, tenant: str | None, summed: tuple[str, ...]
) -> Select[Any]:
    columns = requests.c
    known = columns.reported & columns.prompt_tokens.is_not(None)
    reusable = func.coalesce(columns.reusable_tokens, columns.cached_tokens)
    values: dict[str, ColumnElement[Any]] = {
        "requests": func.count(columns.seq),
        "prompt_tokens": _sum(columns.prompt_tokens),
        "reported_prompt_tokens": _sum(case((known, columns.prompt_tokens), else_=0)),
        "cached_tokens": _sum(case((known, columns.cached_tokens), else_=0)),
        "cache_write_tokens": _sum(columns.cache_write_tokens),
        "uncached_tokens": _sum(columns.uncached_tokens),
        "reusable_tokens": _sum(case((known, lesser(reusable, columns.prompt_tokens)), else_=0)),
        "lost_tokens": _sum(columns.lost_tokens),
        "lost_usd": func.sum(columns.lost_usd),
        "saved_usd": func.sum(columns.saved_usd),
    }
    keys = _keys(whole((columns.time - span.start) / span.step_s), columns.template, by)
    statement = select(*keys, *(values[name].label(name) for name in summed))
    statement = statement.where(columns.time >= span.start)
    if template is not None:
        # Not the bare column: its index would be taken, and hold all of the template's past.
        statement = statement.where(columns.template.concat("") == template)
    if tenant is not None:
        statement = statement.where(columns.tenant == tenant)
    return statement.group_by(*keys)


def _keys(step: ColumnElement[Any], name: ColumnElement[Any], by: str | None) -> list[ColumnElement[Any]]:
    return [step.label("step"), *([name.label("name")] if by is not None else [])]


def _sum(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.coalesce(func.sum(column), 0)


def _columns(span: Span, rows: Sequence[Mapping[str, Any]]) -> Json:
    columns: Json = {"time": [span.start + step * span.step_s for step in range(span.steps)]}
    columns |= {name: [0] * span.steps for name in _COUNTS}
    columns |= {name: [None] * span.steps for name in _MONEY}
    for row in rows:
        if 0 <= row["step"] < span.steps:  # a request stamped in the future belongs to no step
            for name in (*_COUNTS, *_MONEY):
                columns[name][row["step"]] = row[name]
    return columns


def _place(row: RowMapping) -> Json:
    found = {str(name): value for name, value in row.items()}
    return {**found, "estimated": bool(row["estimated"])}
