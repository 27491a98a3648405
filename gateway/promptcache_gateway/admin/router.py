"""The admin API under ``/promptcache/v1``, and ``/metrics``.

What was recorded is read from the store; a request that has only just ended may still be in memory,
with the excerpts that are never written down. Shapes are those of the public face's documentation.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from promptcache.causes import CAUSES
from promptcache_gateway.admin.asking import (
    MAX_PAGE,
    PREFIX,
    ask,
    code_of,
    cursor_of,
    find_request,
    find_template,
    list_hours,
    list_templates,
)
from promptcache_gateway.admin.cache import engine_stats, engine_view, reset_caches, warm_cache
from promptcache_gateway.admin.charts import add_charts
from promptcache_gateway.admin.costs import add_costs
from promptcache_gateway.admin.failure_words import failure_words
from promptcache_gateway.admin.feed import feed
from promptcache_gateway.admin.own import create_own
from promptcache_gateway.admin.prefixes import PrefixHolder, prefix_tree
from promptcache_gateway.admin.renaming import add_renaming
from promptcache_gateway.admin.replicas import add_replicas
from promptcache_gateway.admin.routes import AdminRoute
from promptcache_gateway.admin.tenants import add_tenants
from promptcache_gateway.errors import ApiError, invalid_request
from promptcache_gateway.metrics import CONTENT_TYPE
from promptcache_gateway.store.span import Window  # noqa: TC001 - FastAPI reads it
from promptcache_gateway.template_sources import TemplateSources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache_gateway.observe import Journal, Observer
    from promptcache_gateway.upstreams.base import Upstream

_MAX_WARM_BYTES = 32 * 1024 * 1024


def create_router(
    observer: Observer, upstreams: Sequence[Upstream] = (), sources: TemplateSources | None = None
) -> APIRouter:
    """The admin API over an observer that has a journal."""
    sources = TemplateSources() if sources is None else sources
    journal = observer.journal
    assert journal is not None, "the admin API reads the journal"
    if upstreams:
        journal.metrics.watch_engines(lambda: engine_stats(upstreams))
    router = APIRouter(route_class=AdminRoute)
    router.include_router(create_own(observer, journal))
    _add_templates(router, journal, sources)
    add_charts(router, PREFIX, journal)
    add_renaming(router, PREFIX, observer, journal)
    add_costs(router, PREFIX, journal, sources)
    _add_requests(router, observer, journal, sources)
    _add_events(router, journal)
    _add_cache(router, observer, upstreams)
    add_tenants(router, PREFIX, observer, journal, upstreams)
    add_replicas(router, PREFIX, upstreams, journal.metrics)

    @router.get("/metrics")
    async def metrics() -> Response:
        """Everything counted, in Prometheus' text format."""
        return Response(journal.metrics.render(), media_type=CONTENT_TYPE)

    @router.get(f"{PREFIX}/causes")
    async def causes() -> JSONResponse:
        """The catalogue of causes."""
        return JSONResponse([_cause(code) for code in CAUSES])

    return router


def _add_templates(router: APIRouter, journal: Journal, sources: TemplateSources) -> None:
    @router.get(f"{PREFIX}/templates")
    async def templates(tenant: str | None = None, window: Window | None = None) -> JSONResponse:
        """Every template's totals, most money lost first; with ``window`` those of its hours of the clock."""
        return JSONResponse(await list_templates(journal, tenant, window))

    @router.get(f"{PREFIX}/templates/{{name:path}}")
    async def template(name: str, tenant: str | None = None, window: Window | None = None) -> JSONResponse:
        """One template's totals, and the same by the hour; ``window`` as for all of them."""
        found = await find_template(journal, name, tenant, window)
        hours = await list_hours(journal, name, tenant)
        causes = [cause["code"] for cause in found["causes"]]
        source = await asyncio.to_thread(sources.about, name, causes)
        return JSONResponse({**found, "source": source, "hours": hours})


def _add_requests(router: APIRouter, observer: Observer, journal: Journal, sources: TemplateSources) -> None:
    @router.get(f"{PREFIX}/requests")
    async def requests(
        template: str | None = None,
        cause: str | None = None,
        tenant: str | None = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
        before: str | None = None,
    ) -> JSONResponse:
        """Requests, newest first, a page at a time: ``next`` is the next page's ``before``."""
        rows, following = await ask(
            journal,
            lambda: journal.store.read.requests(
                template=template,
                cause=code_of(cause),
                tenant=tenant,
                limit=limit,
                before=cursor_of(before),
            ),
        )
        return JSONResponse({"data": rows, "next": None if following is None else str(following)})

    @router.get(f"{PREFIX}/requests/{{request_id}}")
    async def request(request_id: str) -> JSONResponse:
        """One request with its diagnosis, and the excerpts while they are in memory."""
        found = await find_request(observer, journal, request_id)
        if found is None:
            raise ApiError(404, f"There is no request {request_id[:64]!r} here.", code="not_found")
        causes = found["diagnosis"]["causes"]
        source = await asyncio.to_thread(sources.about, found["template"], causes)
        failure = failure_words(found["status"], found["error"])
        return JSONResponse({**found, "source": source, "failure": failure})


def _add_events(router: APIRouter, journal: Journal) -> None:
    async def describe(name: str) -> Mapping[str, Any] | None:
        found = await list_templates(journal, None, None, name)
        return found[0] if found else None

    @router.get(f"{PREFIX}/events")
    async def events(last_event_id: Annotated[str | None, Header()] = None) -> StreamingResponse:
        """What happens, as server-sent events: ``request``, ``template`` and ``alert``."""
        after = (
            int(last_event_id)
            if last_event_id and last_event_id.isascii() and last_event_id.isdigit()
            else None
        )
        return StreamingResponse(
            feed(journal.events, describe, after=after),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )


def _add_cache(router: APIRouter, observer: Observer, upstreams: Sequence[Upstream]) -> None:
    @router.post(f"{PREFIX}/cache/reset")
    async def reset() -> JSONResponse:
        """Empty the cache: 409 while requests use it."""
        success = await reset_caches(observer, upstreams)
        return JSONResponse({"success": success}, status_code=200 if success else 409)

    @router.post(f"{PREFIX}/cache/warm")
    async def warm(
        request: Request, x_promptcache_template: Annotated[str | None, Header()] = None
    ) -> JSONResponse:
        """Compute a request's prompt and keep it, without answering."""
        payload = await _payload(request)
        return JSONResponse(await warm_cache(observer, upstreams, payload, template=x_promptcache_template))

    @router.get(f"{PREFIX}/engine")
    async def engine() -> JSONResponse:
        """The built-in engine's pages and counters."""
        return JSONResponse(engine_view(upstreams))

    @router.get(f"{PREFIX}/engine/tree")
    async def tree() -> JSONResponse:
        """What the engine's latest prompts share, by template, and how much of it is cached now."""
        return JSONResponse(await _tree(observer, upstreams))


async def _tree(observer: Observer, upstreams: Sequence[Upstream]) -> dict[str, Any]:
    for upstream in upstreams:
        if isinstance(upstream, PrefixHolder):
            prompts, journal = await upstream.cached_prompts(), observer.journal
            assert journal is not None
            branches = await asyncio.to_thread(prefix_tree, prompts, journal.recent.template_of)
            return {"available": True, "prompts": len(prompts), "branches": branches}
    return {"available": False, "prompts": 0, "branches": []}


async def _payload(request: Request) -> Mapping[str, Any]:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MAX_WARM_BYTES:
            raise ApiError(413, "The request body is too large.", code="request_too_large")
    try:
        payload = orjson.loads(bytes(body))
    except orjson.JSONDecodeError as error:
        raise invalid_request(f"The body is not valid JSON: {error.msg}.", code="invalid_json") from None
    if not isinstance(payload, dict):
        raise invalid_request("The body must be a JSON object.", code="invalid_type")
    return payload


def _cause(code: str) -> dict[str, str]:
    cause = CAUSES[code]
    return {
        "code": cause.code,
        "name": cause.name,
        "title": cause.title,
        "explanation": cause.explanation,
        "remedy": cause.remedy,
    }
