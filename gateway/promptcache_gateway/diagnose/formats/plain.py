"""Our own format, and bare bodies: a request, with whatever stands beside it of its answer and its time.

Own: ``{"request": BODY, "response": ANSWER, "usage": {…}, "time": …, "ttft_ms": …, "template": …,
"tenant": …, "id": …, "status": …}``, everything but the request optional. A bare OpenAI or Anthropic body may
carry ``usage`` and a time beside its own members.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.usage import Usage
from promptcache_gateway.diagnose.exchange import (
    LoggedExchange,
    NotUnderstoodError,
    first_of,
    is_request,
    known_by,
    read_time,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_REQUEST = ("request", "request_body", "body", "req", "kwargs")
_RESPONSE = ("response", "response_body", "resp", "completion", "result")
_TIME = (
    "time",
    "timestamp",
    "received_at",
    "requested_at",
    "start_time",
    "startTime",
    "created_at",
    "ts",
    "at",
)
_BESIDE = frozenset({"usage", "response", "template", "tenant", "ttft_ms", "status", *_TIME})


class Plain:
    """Bodies with or without what belongs to them."""

    name = "plain"
    about = "request bodies, or {request, response, usage, time, …}"

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """Whether a body is there, by itself or under a name of ours."""
        return is_request(entry) or _request_of(entry) is not None

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The one request."""
        inner = _request_of(entry)
        body = inner if inner is not None else entry
        if not is_request(body):
            raise NotUnderstoodError("no request of a known form")
        if "embed" in str(body.get("model")).lower() and "messages" not in body:
            raise NotUnderstoodError("an embedding is no prompt that would be cached")
        if inner is None:
            body = {key: value for key, value in entry.items() if key not in _BESIDE}
        metadata = body.get("metadata")
        named = metadata.get("promptcache_template") if isinstance(metadata, Mapping) else None
        status = first_of(entry, "status", "status_code")
        usage, time = _usage_of(entry), read_time(first_of(entry, *_TIME))
        tenant = text_of(entry.get("tenant")) or "default"
        return [
            LoggedExchange(
                body=body,
                usage=usage,
                time=time,
                ttft_ms=_number(first_of(entry, "ttft_ms")),
                template=text_of(entry.get("template")) or text_of(named),
                tenant=tenant,
                id=text_of(entry.get("id")),
                known_by=known_by(self.name, _name_of(entry), time, usage, tenant),
                status=status if isinstance(status, int) and not isinstance(status, bool) else 200,
            )
        ]

    def end(self) -> Iterable[LoggedExchange]:
        """Nothing: every entry stands for itself."""
        return ()


def _request_of(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    value = first_of(entry, *_REQUEST)
    if value is None:
        return None
    value = _decoded(value)
    if isinstance(value, Mapping) and not is_request(value):
        value = _decoded(first_of(value, "body", "json"))
    return value if is_request(value) else None


def _decoded(value: object) -> Any:
    """A body that was logged as text is JSON inside JSON."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
    return value


def _name_of(entry: Mapping[str, Any]) -> object:
    """Its own id, else its answer's."""
    response = first_of(entry, *_RESPONSE)
    return first_of(entry, "id") or (response.get("id") if isinstance(response, Mapping) else None)


def _usage_of(entry: Mapping[str, Any]) -> Usage | None:
    response = _decoded(first_of(entry, *_RESPONSE))
    if (
        isinstance(response, Mapping)
        and "usage" not in response
        and isinstance(response.get("body"), Mapping)
    ):
        response = response["body"]
    if isinstance(entry.get("usage"), Mapping):
        return Usage.from_response({"usage": entry["usage"]})
    if isinstance(response, list):
        return Usage.from_stream(response)
    if isinstance(response, Mapping) and any(key.lower().startswith("usage") for key in response):
        return Usage.from_response(response)
    return None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
