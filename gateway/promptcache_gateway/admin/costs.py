"""``GET costs``: what each fault cost in the last days, by template and source, for the linter to show."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse

if TYPE_CHECKING:
    from fastapi import APIRouter

    from promptcache_gateway.observe import Journal
    from promptcache_gateway.template_sources import TemplateSources

_DAY_S = 86_400.0


def add_costs(router: APIRouter, prefix: str, journal: Journal, sources: TemplateSources) -> None:
    """Add ``costs`` to the admin API."""

    @router.get(f"{prefix}/costs")
    async def costs(
        days: Annotated[float, Query(gt=0, le=366)] = 7.0, tenant: str | None = None
    ) -> JSONResponse:
        """Losses by template and cause; save it and give it to ``promptcache lint --costs FILE``."""
        until = time.time()

        def ask() -> list[dict[str, Any]]:
            journal.store.flush()
            return journal.store.costs.between(until - days * _DAY_S, until, tenant=tenant)

        found = await asyncio.to_thread(ask)
        listed = [{**entry, "source": sources.file(entry["name"])} for entry in found]
        return JSONResponse({"days": days, "until": until, "templates": listed})
