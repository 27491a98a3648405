"""The control plane: health, the admin API, metrics and the dashboard, on FastAPI.

It is where convenience counts and microseconds do not. Errors have the data plane's shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.exceptions import HTTPException

from promptcache._version import __version__
from promptcache_gateway.admin import create_router
from promptcache_gateway.admin.budgets import create_budgets
from promptcache_gateway.dashboard import mount
from promptcache_gateway.errors import ApiError, internal_error, invalid_request
from promptcache_gateway.health import Health, live
from promptcache_gateway.template_sources import TemplateSources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from promptcache_gateway.observe import Observer
    from promptcache_gateway.settings import Settings
    from promptcache_gateway.template_sources import SourceSettings
    from promptcache_gateway.upstreams.base import Upstream

OPENAPI_PATH = "/promptcache/v1/openapi.json"


def create_control_app(
    observer: Observer,
    upstreams: Sequence[Upstream],
    sources: SourceSettings | None = None,
    settings: Callable[[], Settings] | None = None,
    told: Health | None = None,
) -> FastAPI:
    """Make the application of everything that is not a provider's API."""
    app = FastAPI(
        title="promptcache gateway",
        version=__version__,
        openapi_url=OPENAPI_PATH,
        docs_url=None,  # FastAPI's pages load scripts from elsewhere
        redoc_url=None,
    )
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(Exception, _unexpected)

    @app.get("/health")
    async def health() -> JSONResponse:
        """503 where no upstream can take requests; what is known of each, and null where nothing is yet."""
        status, body = (told or Health(upstreams)).report()
        return JSONResponse(body, status_code=status)

    @app.get("/health/live")
    async def alive() -> JSONResponse:
        """200 where the process answers, whatever its upstreams do."""
        status, body = live()
        return JSONResponse(body, status_code=status)

    @app.get("/", include_in_schema=False)
    async def root() -> RedirectResponse:
        return RedirectResponse("dashboard")

    app.include_router(create_router(observer, upstreams, TemplateSources(sources)))
    if settings is not None and observer.journal is not None:
        app.include_router(create_budgets(observer.journal, settings))
    mount(app)
    return app


def _respond(error: ApiError, headers: Any = None) -> JSONResponse:
    return JSONResponse(error.to_dict(), status_code=error.status, headers=headers)


async def _api_error(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    assert isinstance(error, ApiError)
    return _respond(error, {name.decode(): value.decode() for name, value in error.headers()})


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = {404: "unknown_url", 405: "method_not_allowed"}.get(error.status_code)
    detail = str(error.detail)
    if error.status_code == 404 and detail == "Not Found":
        detail = f"There is no {request.method} {request.url.path[:200]} here."
    return _respond(ApiError(error.status_code, detail, code=code), error.headers)


async def _validation_error(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"][1:])
    return _respond(invalid_request(f"Invalid value for '{path}': {first['msg']}.", path, "invalid_value"))


async def _unexpected(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001
    return _respond(internal_error(None))
