"""Everything that can go wrong in the gateway, as one tree.

    GatewayError
    ├── StartupError            the gateway cannot start: one line on stderr, exit 2
    │   ├── SettingsError       an option, a variable or a line of promptcache.toml is wrong
    │   └── PortBusyError       the address is taken or not ours
    └── ApiError                a request is answered with an error in the API's own shape

Texts say what happened and ``remedy`` says what to do. None of them ever holds prompt text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from promptcache.errors import PromptCacheError

if TYPE_CHECKING:
    from collections.abc import Mapping


class GatewayError(PromptCacheError):
    """Root of the gateway's errors; ``message`` and ``remedy`` are one sentence each."""


class StartupError(GatewayError):
    """The gateway cannot start."""


class SettingsError(StartupError):
    """A setting is unknown, has the wrong type or a value that cannot work.

    Attributes:
        setting: the setting's name (``engine.page_size``), and where it was told as far as that is known
            (``--port``, ``promptcache.toml: serve.port``, a variable).
        problem: what is wrong with it.
    """

    def __init__(self, setting: str, message: str, *, remedy: str = "") -> None:
        super().__init__(f"{setting}: {message}", remedy=remedy)
        self.setting = setting
        self.problem = message


class PortBusyError(StartupError):
    """The address cannot be listened on.

    Attributes:
        host: the address that was tried.
        port: the port that was tried.
    """

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(
            f"cannot listen on {host}:{port}: {reason}.",
            remedy="Choose another address with --port or --host, or stop what uses this one.",
        )
        self.host = host
        self.port = port


class ApiError(GatewayError):
    """A request that is answered with an error instead of a completion.

    Attributes:
        status: the HTTP status.
        kind: OpenAI's ``type`` (``"invalid_request_error"``).
        param: the request's field that is at fault, as a path, or None.
        code: a short stable name (``"model_not_found"``), or None.
        retry_after: seconds after which a retry may succeed, or None.
        unanswered: asking again is safe: not a byte of an answer came, or the question changes nothing.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        retry_after: int | None = None,
        unanswered: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code
        self.retry_after = retry_after
        self.unanswered = unanswered

    def to_dict(self) -> dict[str, Any]:
        """The body in OpenAI's shape: ``{"error": {message, type, param, code}}``."""
        fields = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": fields}

    def to_json(self) -> bytes:
        """``to_dict`` as JSON bytes."""
        return orjson.dumps(self.to_dict())

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Headers that belong to this error: ``retry-after`` where a retry can help."""
        if self.retry_after is None:
            return []
        return [(b"retry-after", str(self.retry_after).encode())]


def invalid_request(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    """400: the request is not what the API describes; ``param`` is the path of the fault."""
    return ApiError(400, message, param=param, code=code)


def body_too_large(limit: int) -> ApiError:
    """413: the body is larger than the gateway takes."""
    return ApiError(
        413,
        f"The request body is larger than {limit:,} bytes, the most this gateway accepts.",
        code="request_too_large",
    )


def too_many_requests(limit: int) -> ApiError:
    """503: the gateway answers as many requests as it may."""
    return ApiError(
        503,
        f"This gateway is answering {limit:,} requests, the most it may at a time.",
        kind="server_error",
        code="overloaded",
        retry_after=1,
    )


_OURS = frozenset(
    {
        *("caller_gone", "caller_stalled", "request_timeout", "overloaded", "out_of_files", "shutting_down"),
        *("engine_unavailable", "engine_error", "deadline_exceeded", "internal_error", "fleet_busy"),
        *("upstream_unreachable", "upstream_timeout", "upstream_disconnected", "upstream_torn"),
        *("upstream_unreadable", "upstream_answer_too_large", "upstream_circuit_open"),
    }
)
"""What the gateway says of itself: an upstream that says so speaks of its own failure."""
_LONGEST_CODE = 64


def their_code(error: Mapping[str, Any]) -> str | None:
    """The code, or else the type, of an upstream's error; None where neither is its own."""
    codes = (str(code)[:_LONGEST_CODE] for code in (error.get("code"), error.get("type")) if code)
    return next((code for code in codes if code not in _OURS), None)


def stopping() -> ApiError:
    """503: the gateway ends, and with it what still runs."""
    return ApiError(
        503, "The gateway is being stopped.", kind="server_error", code="shutting_down", retry_after=1
    )


OUT_OF_FILES = "out_of_files"


def out_of_files() -> ApiError:
    """503: this process may open no further connection, which is no upstream's fault."""
    return ApiError(
        503,
        "This gateway has as many connections open as its process may have ('ulimit -n').",
        kind="server_error",
        code=OUT_OF_FILES,
        retry_after=1,
    )


def header_too_large(limit: int) -> ApiError:
    """431: the head of the request is larger than the gateway takes."""
    return ApiError(
        431,
        f"The request's headers are larger than {limit:,} bytes, the most this gateway accepts.",
        code="headers_too_large",
    )


def too_slow(what: str, seconds: float) -> ApiError:
    """408: a part of the request did not come in time."""
    return ApiError(
        408, f"The request's {what} did not arrive within {seconds:g} seconds.", code="request_timeout"
    )


def unauthorized() -> ApiError:
    """401: no key, or a key this gateway does not know."""
    return ApiError(
        401,
        "This gateway needs an API key it knows: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'.",
        kind="authentication_error",
        code="invalid_api_key",
    )


def needs_admin() -> ApiError:
    """403: a key that may call models, at a route that shows what all tenants do."""
    return ApiError(
        403,
        "This needs an admin key: make one with 'promptcache keys create NAME --admin'.",
        kind="permission_error",
        code="admin_key_required",
    )


def unknown_model(model: str, known: list[str]) -> ApiError:
    """404: the upstream does not serve that model; the answer lists those it does."""
    listed = ", ".join(f"'{name}'" for name in known)
    return ApiError(
        404,
        f"The model {model[:200]!r} does not exist here." + (f" Available: {listed}." if known else ""),
        param="model",
        code="model_not_found",
    )


def too_many_tokens(prompt: int, answer: int, limit: int, field: str) -> ApiError:
    """400: the prompt and the answer asked for do not fit the context together, as OpenAI and vLLM say it."""
    return invalid_request(
        f"The context holds {limit} tokens. {prompt + answer} were asked for: {prompt} in the {field} and "
        f"{answer} for the answer. Shorten one of them.",
        field,
        "context_length_exceeded",
    )


def cannot_count(upstream: str) -> ApiError:
    """501: an upstream whose API has no call that counts a prompt's tokens."""
    return ApiError(
        501,
        f"The upstream {upstream} cannot count a prompt's tokens without answering it.",
        kind="server_error",
        code="unsupported",
    )


def forbidden(message: str, code: str) -> ApiError:
    """403: a browser was led here by a page that has no business with this gateway."""
    return ApiError(403, message, kind="permission_error", code=code)


def internal_error(request_id: str | None) -> ApiError:
    """500: a defect of the gateway; the log has its place under the request's id."""
    suffix = f" The log has it under {request_id}." if request_id else ""
    return ApiError(
        500, f"The gateway failed on this request.{suffix}", kind="server_error", code="internal_error"
    )
