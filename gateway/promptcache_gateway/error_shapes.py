"""The gateway's own errors in the shape of the API that the caller speaks: a body, or a stream's last event.

What went wrong is `ApiError`'s; here is only how OpenAI's and Anthropic's APIs say it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from promptcache_gateway.errors import ApiError
    from promptcache_gateway.exchange import Dialect

_INDEX = re.compile(r"\[(\d+)\]")

# Anthropic's error types by status (anthropic.types.ErrorObject).
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    415: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def anthropic_type(status: int) -> str:
    """Anthropic's ``type`` of an error with this HTTP status."""
    known = _ANTHROPIC_TYPES.get(status)
    if known is not None:
        return known
    return "invalid_request_error" if 400 <= status < 500 else "api_error"


def error_body(error: ApiError, dialect: Dialect, request_id: str | None = None) -> bytes:
    """The body of an error answer.

    Args:
        error: what went wrong.
        dialect: the API the caller speaks.
        request_id: the gateway's id of the request; Anthropic's shape has a place for it.
    """
    if dialect != "anthropic.messages":
        return error.to_json()
    return orjson.dumps(_anthropic(error, request_id))


def error_event(error: ApiError, dialect: Dialect, request_id: str | None = None) -> bytes:
    """The last server-sent event of a stream that goes wrong after its 200 was sent."""
    if dialect == "anthropic.messages":
        return b"event: error\ndata: " + orjson.dumps(_anthropic(error, request_id)) + b"\n\n"
    if dialect == "openai.responses":
        fields = {"type": "error", "code": error.code, "message": error.message, "param": error.param}
        return b"event: error\ndata: " + orjson.dumps(fields) + b"\n\n"
    return b"data: " + error.to_json() + b"\n\n"


def _with_dots(message: str, param: str | None) -> str:
    """The message with the place of the fault as Anthropic writes it: ``messages.2.content.0``."""
    if param is None or "[" not in param:
        return message
    dotted = _INDEX.sub(r".\1", param)
    return message.replace(f"'{param}'", f"'{dotted}'")


def _anthropic(error: ApiError, request_id: str | None) -> dict[str, Any]:
    said = {"type": anthropic_type(error.status), "message": _with_dots(error.message, error.param)}
    fields: dict[str, Any] = {"type": "error", "error": said}
    return fields if request_id is None else {**fields, "request_id": request_id}
