"""Langfuse's exports: observations of the type GENERATION, from its API, its interface or its blob exports.

They stand by themselves, within their traces (``observations``), or on a page of the API (``data``).

Source: Langfuse's reference of the type ``Observation``. ``input`` is what the integration logged, mostly the
list of messages or an object with messages and tools; ``usageDetails`` counts each token under one name only,
so that cached tokens are not in ``input`` as well. Integrations that count them twice all the same are known
by their own ``total``.
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

_KINDS = frozenset(
    (
        "GENERATION",
        "SPAN",
        "EVENT",
        "AGENT",
        "TOOL",
        "CHAIN",
        "RETRIEVER",
        "EVALUATOR",
        "EMBEDDING",
        "GUARDRAIL",
    )
)
_READ = ("cache_read_input_tokens", "input_cached_tokens", "input_cache_read", "cache_read", "cached_tokens")
_USAGE = ("usageDetails", "usage_details", "usage")
_DIGITS = 18
_WRITE = ("cache_creation_input_tokens", "input_cache_creation", "input_cache_write", "cache_creation")


class Langfuse:
    """Langfuse's observations."""

    name = "langfuse"
    about = "Langfuse: exported observations"

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """By the trace an observation belongs to, in either spelling; or it holds such observations."""
        return _is_observation(entry) or any(_is_observation(one) for one in _held(entry))

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The requests of its generations; spans and events are no requests and are passed over.

        Raises:
            NotUnderstoodError: at the end, where one of them holds no request.
        """
        problem: NotUnderstoodError | None = None
        for one in [entry] if _is_observation(entry) else _held(entry):
            try:
                yield from _generation(one) if _is_observation(one) else ()
            except NotUnderstoodError as error:
                problem = problem or error
        if problem is not None:
            raise problem

    def end(self) -> Iterable[LoggedExchange]:
        """Nothing: every entry stands for itself."""
        return ()


def _is_observation(entry: object) -> bool:
    """Whether it is one; exports leave out inputs where they were not asked for."""
    return (
        isinstance(entry, Mapping)
        and bool(first_of(entry, "traceId", "trace_id"))
        and str(entry.get("type")).upper() in _KINDS
    )


def _held(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The observations of a trace, or those of a page: of its traces, too."""
    held = first_of(entry, "observations", "data")
    found: list[Mapping[str, Any]] = []
    for one in held if isinstance(held, list) else ():
        if isinstance(one, Mapping):
            inner = one.get("observations")
            several = inner if isinstance(inner, list) else [one]
            found += [each for each in several if isinstance(each, Mapping)]
    return found


def _generation(entry: Mapping[str, Any]) -> list[LoggedExchange]:
    if str(entry.get("type")).upper() != "GENERATION":
        return []
    started = read_time(first_of(entry, "startTime", "start_time"))
    first_output = read_time(first_of(entry, "completionStartTime", "completion_start_time"))
    waited = milliseconds_between(started, first_output)
    failed = entry.get("level") == "ERROR"
    known: dict[str, Any] = {
        "time": started,
        "ttft_ms": waited,
        "template": text_of(first_of(entry, "promptName", "prompt_name")),
        "id": text_of(entry.get("id")),
        "tenant": text_of(first_of(entry, "projectId", "project_id")),
        "status": 500 if failed else 200,
    }
    if known["id"] is not None:
        known["known_by"] = (
            "langfuse",
            known["id"],
        )  # exported by itself and in its trace, or again when changed
    known = {key: value for key, value in known.items() if value is not None}
    usage = None if failed else _usage(entry)
    try:
        return [LoggedExchange(body=_body(entry), usage=usage, **known)]
    except NotUnderstoodError:
        model = text_of(first_of(entry, "model", "providedModelName", "provided_model_name"))
        counted = None if usage is None else read_counts(entry, usage, model=model, **known)
        if counted is None:
            raise
        return [counted]


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
    given = (_decoded(entry.get(name)) for name in _USAGE)
    details = next((each for each in given if isinstance(each, Mapping) and each), None)
    if details is None:
        return None
    prompt, output = _count(details, ("input",)), _count(details, ("output",))
    if prompt is None:
        usage = Usage.from_response({"usage": details})
        return None if usage.total_input is None else usage
    read, write = _count(details, _READ), _count(details, _WRITE)
    if read is None and write is None:
        return Usage.from_response({"usage": {"prompt_tokens": prompt, "completion_tokens": output}})
    if _counts_twice(details, prompt, cached := (read or 0) + (write or 0)):
        prompt -= cached
    counts = {
        "input_tokens": prompt,
        "cache_read_input_tokens": read or 0,
        "cache_creation_input_tokens": write or 0,
        "output_tokens": output,
    }
    return Usage.from_response({"usage": counts})


def _count(details: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    value = first_of(details, *names)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        return int(value)  # a database's wide integers are exported as texts
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _counts_twice(details: Mapping[str, Any], prompt: int, cached: int) -> bool:
    """Whether the cached tokens are in ``input`` as well: then the total is right without them."""
    total = _count(details, ("total",))
    output = _count(details, ("output",)) or 0
    outputs = sum(_count(details, (name,)) or 0 for name in details if name.startswith("output"))
    return 0 < cached <= prompt and total in {prompt + output, prompt + outputs}


def _decoded(value: object) -> Any:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value
