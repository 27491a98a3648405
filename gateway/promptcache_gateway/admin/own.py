"""``GET /promptcache/v1/own/…``: what one tenant sees of its templates and requests.

A key that is no admin's is led here from ``templates`` and ``requests`` (`tenancy.own_paths`); an admin may
look at it for any ``tenant``. It shows nothing of others: no field that rests on what is cached for them, and
where PC808 says that a prefix is there for another tenant, what would be said without that: PC801.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from promptcache.causes import get_cause
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
from promptcache_gateway.admin.routes import AdminRoute
from promptcache_gateway.errors import ApiError
from promptcache_gateway.store.reader import by_loss
from promptcache_gateway.store.span import Window  # noqa: TC001 - FastAPI reads it

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.observe import Journal, Observer

_ISOLATED, _FIRST = "PC808", "PC801"
_SHOWN = (
    "id",
    "time",
    "template",
    "learned",
    "tenant",
    "model",
    "dialect",
    "status",
    "error",
    "usage",
    "ttft_ms",
    "duration_ms",
    "response_id",
    "saved_usd",
    "cost_usd",
    "changes",
    "diagnosis",
    "outline",
    "raw_usage",
    "provider_verdict",
)
_UNKNOWN = ("token_offset", "expected_cached_tokens", "reusable_tokens", "lost_tokens", "lost_usd")

_Tenant = Annotated[str, Query(min_length=1, max_length=256)]


def create_own(observer: Observer, journal: Journal) -> APIRouter:
    """The routes, for the admin API."""
    router = APIRouter(route_class=AdminRoute)
    _add_templates(router, journal)
    _add_requests(router, observer, journal)
    return router


def _add_templates(router: APIRouter, journal: Journal) -> None:
    @router.get(f"{PREFIX}/own/templates")
    async def templates(tenant: _Tenant, window: Window | None = None) -> JSONResponse:
        """A tenant's templates with their totals, most money lost first; ``window`` as for an admin."""
        found = [own_template(row) for row in await list_templates(journal, tenant, window)]
        return JSONResponse(sorted(found, key=by_loss))

    @router.get(f"{PREFIX}/own/templates/{{name:path}}")
    async def template(name: str, tenant: _Tenant, window: Window | None = None) -> JSONResponse:
        """One of a tenant's templates, and the same by the hour; ``window`` as for an admin."""
        found = await find_template(journal, name, tenant, window)
        hours = await list_hours(journal, name, tenant)
        return JSONResponse({**own_template(found), "hours": [_own_hour(hour) for hour in hours]})


def _add_requests(router: APIRouter, observer: Observer, journal: Journal) -> None:
    @router.get(f"{PREFIX}/own/requests")
    async def requests(
        tenant: _Tenant,
        template: str | None = None,
        cause: str | None = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
        before: str | None = None,
    ) -> JSONResponse:
        """A tenant's requests, newest first, a page at a time."""
        code = code_of(cause)
        if code == _ISOLATED:
            return JSONResponse({"data": [], "next": None})
        rows, following = await ask(
            journal,
            lambda: journal.store.read.requests(
                template=template,
                cause=code,
                or_first=_ISOLATED if code == _FIRST else None,
                tenant=tenant,
                limit=limit,
                before=cursor_of(before),
            ),
        )
        shown = [own_request(row) for row in rows]
        return JSONResponse({"data": shown, "next": None if following is None else str(following)})

    @router.get(f"{PREFIX}/own/requests/{{request_id}}")
    async def request(request_id: str, tenant: _Tenant) -> JSONResponse:
        """One of a tenant's requests; another's is not there."""
        found = await find_request(observer, journal, request_id)
        if found is None or found["tenant"] != tenant:
            raise ApiError(404, f"There is no request {request_id[:64]!r} here.", code="not_found")
        return JSONResponse(own_request(found))


def own_request(found: Mapping[str, Any]) -> dict[str, Any]:
    """A request as its tenant sees it."""
    shown = {name: found[name] for name in _SHOWN if name in found}
    return {**shown, "diagnosis": _own_diagnosis(found["diagnosis"])}


def _own_diagnosis(told: Mapping[str, Any]) -> dict[str, Any]:
    if _ISOLATED not in told["causes"]:
        return dict(told)
    if told["cause"] == _ISOLATED:
        first = get_cause(_FIRST)
        unknown = dict.fromkeys((*_UNKNOWN, "compared_with"))
        said = {
            "summary": first.title,
            "remedy": first.remedy,
            "attribution": "expected",
            "losses": {},
            "places": [],
        }
        return {**told, **unknown, **said, "cause": _FIRST, "causes": [_FIRST]}
    places = [place for place in told["places"] if place["code"] != _ISOLATED]
    others = {code: lost for code, lost in told["losses"].items() if code != _ISOLATED}
    lost, share = told["lost_tokens"], told["losses"].get(_ISOLATED, 0)
    usd = told["lost_usd"]
    return {
        **told,
        "causes": [code for code in told["causes"] if code != _ISOLATED],
        "losses": others,
        "places": places,
        "expected_cached_tokens": None,
        "reusable_tokens": None,
        "lost_tokens": None if lost is None else lost - share,
        "lost_usd": usd * (lost - share) / lost if usd is not None and lost else usd,
    }


def _own_hour(hour: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in hour.items() if name not in _UNKNOWN}
    return {**kept, "causes": [cause for cause in hour["causes"] if cause["code"] != _ISOLATED]}


def own_template(row: Mapping[str, Any]) -> dict[str, Any]:
    """A template's totals as its tenant sees them."""
    causes = {cause["code"]: dict(cause) for cause in row["causes"]}
    isolated = causes.pop(_ISOLATED, None)
    if isolated is None:
        return dict(row)
    first = causes.setdefault(
        _FIRST, {**isolated, "code": _FIRST, "requests": 0, "lost_tokens": 0, "lost_usd": None}
    )
    first["requests"] += isolated["requests"]
    first["attribution"] = "expected"
    first["first_seen"] = min(first["first_seen"], isolated["first_seen"])
    first["last_seen"] = max(first["last_seen"], isolated["last_seen"])
    lost, usd = row["lost_tokens"], row["lost_usd"]
    gone = isolated["lost_usd"] or 0.0
    return {
        **row,
        "lost_tokens": None if lost is None else max(0, lost - isolated["lost_tokens"]),
        "lost_usd": None if usd is None else max(0.0, usd - gone),
        "causes": list(causes.values()),
    }
