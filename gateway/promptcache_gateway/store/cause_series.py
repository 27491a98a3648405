"""What each cause cost, step by step: beside the curves of `series`, by the hour or by the minute.

Hours come from the totals by the hour. Minutes come from the requests themselves: where a loss has one cause
the database adds it up, and the few with several are split here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import func, select

from promptcache_gateway.store.portable import whole
from promptcache_gateway.store.schema import cause_hours, requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import ColumnElement, Connection, Select

    from promptcache_gateway.store.span import Span

Json = dict[str, Any]
Part = tuple[int, str, int, int, float | None]
"""A step, a code, and what the code did in it: requests, tokens lost, money lost."""

_HOUR = 3_600
_SEVERAL = "%,%"  # in the JSON of losses: more than one


def causes_by_step(connection: Connection, span: Span, template: str | None, tenant: str | None) -> Json:
    """For each code its ``requests``, ``lost_tokens`` and ``lost_usd``, a list with a number for each step.

    A request counts under its first cause. Money is None in steps for which no price is known.
    """
    parts = _by_minute if span.step_s < _HOUR else _by_hour
    found: Json = {}
    for step, code, count, lost, usd in parts(connection, span, template, tenant):
        if not 0 <= step < span.steps or not (count or lost):
            continue  # a request stamped in the future belongs to no step
        columns = found.setdefault(code, _empty(span.steps))
        columns["requests"][step] += count
        columns["lost_tokens"][step] += lost
        if usd is not None:
            columns["lost_usd"][step] = (columns["lost_usd"][step] or 0.0) + usd
    return dict(sorted(found.items(), key=lambda one: (-sum(one[1]["lost_tokens"]), one[0])))


def _empty(steps: int) -> Json:
    return {"requests": [0] * steps, "lost_tokens": [0] * steps, "lost_usd": [None] * steps}


def _by_hour(connection: Connection, span: Span, template: str | None, tenant: str | None) -> Iterable[Part]:
    columns = cause_hours.c
    keys = ((columns.hour * _HOUR - span.start) // span.step_s).label("step"), columns.code
    sums = func.sum(columns.requests), func.sum(columns.lost_tokens), func.sum(columns.lost_usd)
    statement = select(*keys, *sums).where(columns.hour >= span.start // _HOUR)
    statement = _of(statement, columns.name, columns.tenant, template, tenant)
    return [_part(row) for row in connection.execute(statement.group_by(*keys))]


def _by_minute(
    connection: Connection, span: Span, template: str | None, tenant: str | None
) -> Iterator[Part]:
    columns = requests.c
    # Not the bare column: its index would be taken, and hold all of the template's past.
    name = columns.template.concat("")
    step = whole((columns.time - span.start) / span.step_s).label("step")
    sums = func.count(columns.seq), func.sum(columns.lost_tokens), func.sum(columns.lost_usd)
    broken = (columns.time >= span.start, columns.cause.is_not(None))
    single = select(step, columns.cause, *sums).where(*broken, columns.losses.not_like(_SEVERAL))
    single = _of(single, name, columns.tenant, template, tenant).group_by(step, columns.cause)
    yield from map(_part, connection.execute(single))
    several = select(step, columns.cause, columns.losses, columns.lost_tokens, columns.lost_usd)
    several = several.where(*broken, columns.losses.like(_SEVERAL))
    for row in connection.execute(_of(several, name, columns.tenant, template, tenant)):
        yield from _split(*row)


def _split(step: int, cause: str, losses: str, lost: int | None, usd: float | None) -> Iterator[Part]:
    """The parts of a request that several causes cost tokens. Money is split as the tokens are."""
    for code, share in orjson.loads(losses).items():
        money = None if usd is None or not lost else usd * share / lost
        yield step, code, int(code == cause), share, money


def _part(row: Any) -> Part:
    step, code, count, lost, usd = row
    return int(step), code, count, lost or 0, usd


def _of(
    statement: Select[Any],
    name: ColumnElement[Any],
    owner: ColumnElement[Any],
    template: str | None,
    tenant: str | None,
) -> Select[Any]:
    if template is not None:
        statement = statement.where(name == template)
    return statement if tenant is None else statement.where(owner == tenant)
