"""Requests in the order they came, a page at a time, so that no export holds them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, select

from promptcache_gateway.store.reader import request_json
from promptcache_gateway.store.schema import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

_PAGE = 1_000


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
