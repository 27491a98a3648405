"""``DELETE /promptcache/v1/tenants/{name}``: forget a tenant, in memory and in the database."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fastapi.responses import JSONResponse

from promptcache_gateway.admin.prefixes import PrefixHolder
from promptcache_gateway.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import APIRouter

    from promptcache_gateway.observe import Journal, Observer
    from promptcache_gateway.upstreams.base import Upstream

_MAX_NAME = 256


def add_tenants(
    router: APIRouter, prefix: str, observer: Observer, journal: Journal, upstreams: Sequence[Upstream] = ()
) -> None:
    """Add the route to the admin API."""

    @router.delete(f"{prefix}/tenants/{{name:path}}")
    async def forget(name: str) -> JSONResponse:
        """Delete everything that was recorded of a tenant; says how many requests that were."""
        if not name or len(name) > _MAX_NAME:
            raise ApiError(404, "There is no tenant of that name.", code="not_found")

        def work() -> int:
            journal.store.flush()
            observer.forget(name)
            for upstream in upstreams:
                if isinstance(upstream, PrefixHolder):
                    upstream.latest_prompts.forget(name)
            return journal.store.delete_tenant(name)

        return JSONResponse({"tenant": name, "requests": await asyncio.to_thread(work)})
