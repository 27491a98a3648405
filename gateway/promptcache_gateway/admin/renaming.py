"""``POST templates/rename`` and ``templates/merge``: what a template is called from now on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Body
from fastapi.responses import JSONResponse

from promptcache_gateway.errors import ApiError, invalid_request
from promptcache_gateway.observe.template_name import clean_name

if TYPE_CHECKING:
    from fastapi import APIRouter

    from promptcache_gateway.observe import Journal, Observer

_Name = Annotated[str, Body(min_length=1, max_length=512)]


def add_renaming(router: APIRouter, prefix: str, observer: Observer, journal: Journal) -> None:
    """Add the two routes to the admin API."""

    @router.post(f"{prefix}/templates/rename")
    async def rename(name: _Name, to: _Name, tenant: Annotated[str | None, Body()] = None) -> JSONResponse:
        """Call a template otherwise. 409 where there is one of that name: `merge` makes them one."""
        wanted = clean_name(to)
        if wanted is None or wanted != to:
            raise invalid_request("is no name that a template can be given.", "to", "invalid_value")
        return JSONResponse(await asyncio.to_thread(_rename, name, wanted, tenant, merge=False))

    @router.post(f"{prefix}/templates/merge")
    async def merge(name: _Name, into: _Name, tenant: Annotated[str | None, Body()] = None) -> JSONResponse:
        """Make a template a part of another one: its requests, past and future, count as that one's."""
        return JSONResponse(await asyncio.to_thread(_rename, name, into, tenant, merge=True))

    def _rename(name: str, to: str, tenant: str | None, *, merge: bool) -> dict[str, Any]:
        store = journal.store
        store.flush()
        tenants = [own for own in store.tenants_of(name) if tenant in {None, own}]
        there = set(store.tenants_of(to))
        if tenants and name == to:
            said = "cannot be merged into itself" if merge else "is called that already"
            problem = f"The template {name[:128]!r} {said}."
            raise invalid_request(problem, "into" if merge else "to", "invalid_value")
        if not tenants:
            raise ApiError(404, f"There is no template named {name[:128]!r} to rename.", code="not_found")
        if merge and not there.intersection(tenants):
            raise ApiError(404, f"There is no template named {to[:128]!r} to merge into.", code="not_found")
        taken = any(observer.renames.is_taken(own, to, name) for own in tenants)
        if taken or (not merge and there.intersection(tenants)):
            raise ApiError(409, f"There is a template named {to[:128]!r} already.", code="name_taken")
        moved = 0
        for own in tenants:
            owns = observer.rename(own, name, to)
            store.flush()  # what ended meanwhile was recorded under the old name
            moved += store.rename_template(own, name, to, owns)
        return {"name": to, "requests": moved, "tenants": len(tenants)}
