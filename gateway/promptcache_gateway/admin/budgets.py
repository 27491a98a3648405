"""``GET /promptcache/v1/budgets``: what each key and tenant may spend, has spent, and has left."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from promptcache_gateway.admin.asking import PREFIX
from promptcache_gateway.admin.routes import AdminRoute
from promptcache_gateway.tenancy.budget_view import budget_rows
from promptcache_gateway.tenancy.budgets import Budget
from promptcache_gateway.tenancy.key_file import KeyFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.observe import Journal
    from promptcache_gateway.settings import Settings


def create_budgets(journal: Journal, settings: Callable[[], Settings]) -> APIRouter:
    """The route, for the admin API; ``settings``: those of the moment."""
    router = APIRouter(route_class=AdminRoute)

    @router.get(f"{PREFIX}/budgets")
    async def budgets() -> JSONResponse:
        """Every budget with what is left of it. Requests without a known cost are counted apart."""

        def ask() -> list[dict[str, Any]]:
            journal.store.flush()
            now, told = time.time(), settings()
            spent = journal.store.spending(Budget(1.0, "month").first_day(now))
            tenants = {name: limits.budget for name, limits in told.tenants.items()}
            return budget_rows(KeyFile(told.key_file).read(), tenants, spent, now)

        return JSONResponse(await asyncio.to_thread(ask))

    return router
