"""Requests, and kept responses, in the order they came, a page at a time: no export holds them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Select, select, tuple_

from promptcache_gateway.store.reader import request_json
from promptcache_gateway.store.schema import kept_responses, requests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

_PAGE = 1_000
_KEPT_PAGE = 50  # each may be some megabytes


@dataclass(frozen=True, slots=True)
class Selection:
    """Which requests; None: all.

    Attributes:
        tenant: of this tenant.
        template: of this template.
        since: received at this Unix time or later.
        until: received before this Unix time.
    """

    tenant: str | None = None
    template: str | None = None
    since: float | None = None
    until: float | None = None

    def narrow_kept(self, statement: Select[Any]) -> Select[Any]:
        """The statement over `kept_responses`, for these only; they have no template."""
        if self.tenant is not None:
            statement = statement.where(kept_responses.c.tenant == self.tenant)
        if self.since is not None:
            statement = statement.where(kept_responses.c.created_at >= self.since)
        if self.until is not None:
            statement = statement.where(kept_responses.c.created_at < self.until)
        return statement

    def narrow(self, statement: Select[Any]) -> Select[Any]:
        """The statement over `requests`, for these requests only."""
        if self.tenant is not None:
            statement = statement.where(requests.c.tenant == self.tenant)
        if self.template is not None:
            statement = statement.where(requests.c.template == self.template)
        if self.since is not None:
            statement = statement.where(requests.c.time >= self.since)
        if self.until is not None:
            statement = statement.where(requests.c.time < self.until)
        return statement


def exported(engine: Engine, selection: Selection) -> Iterator[dict[str, Any]]:
    """The requests in the admin API's shape, oldest first."""
    after = 0
    while True:
        page = selection.narrow(select(requests).where(requests.c.seq > after))
        with engine.connect() as connection:
            rows = connection.execute(page.order_by(requests.c.seq).limit(_PAGE)).mappings().all()
        for row in rows:
            yield request_json(dict(row))
        if len(rows) < _PAGE:
            return
        after = rows[-1]["seq"]


def exported_responses(engine: Engine, selection: Selection) -> Iterator[dict[str, Any]]:
    """Kept responses as ``{id, tenant, previous_response_id, created_at, input, response}``, oldest first."""
    columns = kept_responses.c
    place = (columns.created_at, columns.tenant, columns.id)
    after: tuple[float, str, str] = (-1.0, "", "")
    while True:
        page = selection.narrow_kept(select(kept_responses).where(tuple_(*place) > after))
        with engine.connect() as connection:
            rows = connection.execute(page.order_by(*place).limit(_KEPT_PAGE)).mappings().all()
        for row in rows:
            yield {
                "id": row["id"],
                "tenant": row["tenant"],
                "previous_response_id": row["previous"],
                "created_at": row["created_at"],
                "input": orjson.loads(row["input"]),
                "response": orjson.loads(row["response"]),
            }
        if len(rows) < _KEPT_PAGE:
            return
        after = (rows[-1]["created_at"], rows[-1]["tenant"], rows[-1]["id"])
