"""Langfuse's exports: observations of the type GENERATION, from its API, its interface or its blob exports.

Source: Langfuse's reference of the type ``Observation``. ``input`` is what the integration logged, mostly the
list of messages or an object with messages and tools; ``usageDetails`` counts each token under one name only,
so that cached tokens are not in ``input`` as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.usage import Usage
from promptcache_gateway.diagnose.counts import read_counts
from promptcache_gateway.diagnose.exchange import (
    LoggedExchange,
    NotUnderstoodError,
    first_of,
    is_request,
    milliseconds_between,
    read_time,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_READ = ("cache_read_input_tokens", "input_cached_tokens", "input_cache_read", "cache_read", "cached_tokens")
_WRITE = ("cache_creation_input_tokens", "input_cache_creation", "input_cache_write", "cache_creation")


class Langfuse:
    """Langfuse's observations."""

    name = "langfuse"
    about = "Langfuse: exported observations"

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """By the trace an observation belongs to, in either spelling."""
        return bool(first_of(entry, "traceId", "trace_id")) and "input" in entry and "type" in entry

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The one request of a generation; spans and events are no requests and are passed over."""
        if str(entry.get("type")).upper() != "GENERATION":
            return ()
        started = read_time(first_of(entry, "startTime", "start_time"))
        first_output = read_time(first_of(entry, "completionStartTime", "completion_start_time"))
        waited = milliseconds_between(started, first_output)
        failed = entry.get("level") == "ERROR"
        known: dict[str, Any] = {
            "time": started,
            "ttft_ms": waited,
            "template": text_of(first_of(entry, "promptName", "prompt_name")),
            "id": text_of(entry.get("id")),
            "status": 500 if failed else 200,
        }
        usage = None if failed else _usage(entry)
        try:
            return [LoggedExchange(body=_body(entry), usage=usage, **known)]
        except NotUnderstoodError:
            model = text_of(first_of(entry, "model", "providedModelName", "provided_model_name"))
            counted = None if usage is None else read_counts(entry, usage, model=model, **known)
            if counted is None:
                raise
            return [counted]

    def end(self) -> Iterable[LoggedExchange]:
        """Nothing: every entry stands for itself."""
        return ()


def _body(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    given = _decoded(entry.get("input"))
    parameters = _decoded(first_of(entry, "modelParameters", "model_parameters"))
    body: dict[str, Any] = dict(parameters) if isinstance(parameters, Mapping) else {}
    body["model"] = text_of(first_of(entry, "model", "providedModelName", "provided_model_name")) or ""
    if isinstance(given, Mapping):
        body.update({key: value for key, value in given.items() if value is not None})
    elif isinstance(given, list) and all(isinstance(message, Mapping) for message in given):
        body["messages"] = given
    elif isinstance(given, str) and given:
        body["prompt"] = given
    if not is_request(body):
        raise NotUnderstoodError("the generation's input is no list of messages")
    return body


def _usage(entry: Mapping[str, Any]) -> Usage | None:
    details = _decoded(first_of(entry, "usageDetails", "usage_details"))
    if not isinstance(details, Mapping) or not isinstance(details.get("input"), int):
        return None
    read, write = _count(details, _READ), _count(details, _WRITE)
    output = details.get("output")
    if read is None and write is None:
        return Usage.from_response(
            {"usage": {"prompt_tokens": details["input"], "completion_tokens": output}}
        )
    counts = {
        "input_tokens": details["input"],
        "cache_read_input_tokens": read or 0,
        "cache_creation_input_tokens": write or 0,
        "output_tokens": output,
    }
    return Usage.from_response({"usage": counts})


def _count(details: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    value = first_of(details, *names)
    return value if isinstance(value, int) else None


def _decoded(value: object) -> Any:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value
