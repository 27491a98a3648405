"""Turns the admin API's failures into errors in the API's shape, wherever the router is mounted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from promptcache_gateway.errors import ApiError, invalid_request

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

        return guarded


def _respond(error: ApiError) -> JSONResponse:
    headers = {name.decode(): value.decode() for name, value in error.headers()}
    return JSONResponse(error.to_dict(), status_code=error.status, headers=headers)


def _invalid(error: RequestValidationError) -> ApiError:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    return invalid_request(f"Invalid value for '{name}': {first['msg']}.", name, "invalid_value")
