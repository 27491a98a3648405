"""What the dashboard draws: curves over time, sparklines, and where in the prompt requests diverge.

Numbers come from the store. Excerpts of prompts come from memory, and are absent once they left it.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import JSONResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import APIRouter

    from promptcache_gateway.observe import Journal

Window = Literal["hour", "day", "week", "month"]


def add_charts(router: APIRouter, prefix: str, journal: Journal) -> None:
    """Add ``timeline``, ``sparklines`` and ``divergences`` to the admin API."""

    @router.get(f"{prefix}/timeline")
    async def timeline(
        window: Window = "day", template: str | None = None, tenant: str | None = None
    ) -> JSONResponse:
        """Tokens and money step by step: minutes of an hour, hours of a day or week, days of a month."""
        series = journal.store.series
        found = await _read(
            journal, lambda: series.timeline(window, time.time(), template=template, tenant=tenant)
        )
        if not journal.diagnosing:  # that nobody saw a loss does not say that there was none
            found["lost_tokens"] = [lost or None for lost in found["lost_tokens"]]
        return JSONResponse(found)

    @router.get(f"{prefix}/sparklines")
    async def sparklines(window: Window = "day", tenant: str | None = None) -> JSONResponse:
        """Each template's token hit rate step by step."""
        series = journal.store.series
        return JSONResponse(
            await _read(journal, lambda: series.sparklines(window, time.time(), tenant=tenant))
        )

    @router.get(f"{prefix}/divergences")
    async def divergences(
        template: Annotated[str, Query(min_length=1)], tenant: str | None = None
    ) -> JSONResponse:
        """Where a template's latest requests leave their predecessors, a sample of each while in memory."""
        series = journal.store.series
        found = await _read(journal, lambda: series.divergences(template, tenant=tenant))
        samples = journal.recent.samples(template, tenant)
        for place in found["places"]:
            place["sample"] = samples.get((place["cause"], place["path"]))
        return JSONResponse(found)


async def _read(journal: Journal, question: Callable[[], Any]) -> Any:
    """Ask the store off the event loop, after what is queued has been written."""

    def ask() -> Any:
        journal.store.flush()
        return question()

    return await asyncio.to_thread(ask)
