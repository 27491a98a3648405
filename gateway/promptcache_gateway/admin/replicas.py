"""``replicas`` of the admin API: the fleets as they are, and what templates got of what their caches held.

``POST replicas/drain`` gives a replica no more requests, ``POST replicas/resume`` gives it some again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Protocol, runtime_checkable

from fastapi import Body
from fastapi.responses import JSONResponse

from promptcache_gateway.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import APIRouter

    from promptcache_gateway.metrics import Metrics
    from promptcache_gateway.upstreams.base import Upstream

_Name = Annotated[str, Body(min_length=1, max_length=512)]


@runtime_checkable
class Fleet(Protocol):
    """An upstream with replicas."""

    name: str

    def view(self) -> dict[str, Any]:
        """What an operator wants to see."""
        ...

    def drain(self, replica: str, *, on: bool) -> bool:
        """Give a replica no more requests, or some again; False where there is none of that name."""
        ...


def add_replicas(router: APIRouter, prefix: str, upstreams: Sequence[Upstream], metrics: Metrics) -> None:
    """Add the three routes to the admin API."""

    @router.get(f"{prefix}/replicas")
    async def replicas() -> JSONResponse:
        """Every fleet with its replicas; and by template what was cached anywhere, chosen, delivered."""
        fleets = [upstream.view() for upstream in upstreams if isinstance(upstream, Fleet)]
        return JSONResponse({"fleets": fleets, "templates": template_rows(metrics.routing_totals())})

    @router.post(f"{prefix}/replicas/drain")
    async def drain(upstream: _Name, replica: _Name) -> JSONResponse:
        """Send a replica nothing more; what it answers goes on to its end."""
        return JSONResponse(_drain(upstream, replica, on=True))

    @router.post(f"{prefix}/replicas/resume")
    async def resume(upstream: _Name, replica: _Name) -> JSONResponse:
        """Send a drained replica requests again."""
        return JSONResponse(_drain(upstream, replica, on=False))

    def _drain(name: str, replica: str, *, on: bool) -> dict[str, Any]:
        for upstream in upstreams:
            if upstream.name == name and isinstance(upstream, Fleet) and upstream.drain(replica, on=on):
                return {"upstream": name, "replica": replica, "draining": on}
        raise ApiError(404, f"{name[:128]!r} has no replica {replica[:128]!r}.", code="not_found")


def template_rows(totals: Mapping[tuple[str, str], Mapping[str, float]]) -> list[dict[str, Any]]:
    """The numbers of each template and upstream, tokens; and where what was not delivered was lost.

    ``workload`` was cached nowhere, ``routing`` elsewhere than was chosen, ``eviction`` not any longer where
    it was thought to be.
    """
    rows = []
    for (template, upstream), told in sorted(totals.items()):
        prompt, available, chosen, delivered = (
            round(told.get(stage, 0)) for stage in ("prompt", "available", "chosen", "delivered")
        )
        rows.append(
            {
                "template": template,
                "upstream": upstream,
                "prompt_tokens": prompt,
                "available_tokens": available,
                "chosen_tokens": chosen,
                "delivered_tokens": delivered,
                "shortfall": {
                    "workload": max(0, prompt - available),
                    "routing": max(0, available - chosen),
                    "eviction": max(0, chosen - delivered),
                },
            }
        )
    return rows
