"""Serves the dashboard's page and files from the installed package, under a strict content policy."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Scope

STATIC = Path(str(files("promptcache_gateway.dashboard") / "static"))
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def mount(app: "FastAPI") -> None:
    """Add ``/dashboard`` and its files to an application.

    All addresses inside the page are relative, so that it also works behind a proxy's path prefix.
    """
    page = (STATIC / "index.html").read_text(encoding="utf-8")

    @app.get("/dashboard", include_in_schema=False)
    async def dashboard() -> HTMLResponse:
        return HTMLResponse(page, headers=SECURITY_HEADERS)

    @app.get("/dashboard/", include_in_schema=False)
    async def without_slash() -> RedirectResponse:
        return RedirectResponse("../dashboard")

    app.mount("/dashboard/static", _DashboardFiles(directory=STATIC), name="dashboard-static")


class _DashboardFiles(StaticFiles):
    """Static files with the page's own security headers; revalidated, so that an upgrade shows at once."""

    async def get_response(self, path: str, scope: "Scope") -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(SECURITY_HEADERS)
        return response
