"""Turns the admin API's failures into errors in the API's shape, wherever the router is mounted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from sqlalchemy.exc import DataError, SQLAlchemyError

from promptcache_gateway.errors import ApiError, invalid_request
from promptcache_gateway.failures import log_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.requests import Request
    from starlette.responses import Response


class AdminRoute(APIRoute):
    """A route whose `ApiError` and bad parameters become ``{"error": {message, type, param, code}}``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler with its errors answered."""
        answer = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await answer(request)
            except ApiError as error:
                return _respond(error)
            except RequestValidationError as error:
                return _respond(_invalid(error))
            except DataError:
                return _respond(
                    invalid_request("A value is not one the database can hold.", code="invalid_value")
                )
            except SQLAlchemyError as error:
                log_failure(f"reading the database for {request.url.path[:80]!r}", error)
                return _respond(_no_database())

        return guarded


def _respond(error: ApiError) -> JSONResponse:
    headers = {name.decode(): value.decode() for name, value in error.headers()}
    return JSONResponse(error.to_dict(), status_code=error.status, headers=headers)


def _no_database() -> ApiError:
    return ApiError(
        503,
        "The database does not answer. Requests to models are served all the same.",
        kind="server_error",
        code="database_unavailable",
        retry_after=5,
    )


def _invalid(error: RequestValidationError) -> ApiError:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    return invalid_request(f"Invalid value for '{name}': {first['msg']}.", name, "invalid_value")
