"""LiteLLM's logs: the standard logging payload of its callbacks, and rows of its table of spending.

Source: the "StandardLoggingPayload" page of LiteLLM's documentation. ``messages`` is what was sent, the other
parameters stand in ``model_parameters``; a row of the table has the whole body in ``proxy_server_request``.
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


_NO_PROMPT = ("embedding", "moderation", "image", "transcription", "speech", "rerank")
"""Parts of the names of calls that no prompt cache serves."""
_REDACTED = "redacted-by-litellm"


class LiteLLM:
    """LiteLLM's callbacks and table of spending."""

    name = "litellm"
    about = "LiteLLM: standard logging payloads, spend logs"

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """By ``call_type`` beside messages, or the payload wrapped as callbacks get it."""
        if isinstance(entry.get("standard_logging_object"), Mapping):
            return True
        return "call_type" in entry and ("messages" in entry or "proxy_server_request" in entry)

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The one request."""
        entry = first_of(entry, "standard_logging_object") or entry
        if str(entry.get("cache_hit")).lower() == "true":
            raise NotUnderstoodError("answered from LiteLLM's own cache of answers, nothing was sent")
        if any(kind in str(entry.get("call_type")) for kind in _NO_PROMPT):
            raise NotUnderstoodError("no call of a language model")
        started = read_time(entry.get("startTime"))
        first_output = read_time(entry.get("completionStartTime"))
        waited = milliseconds_between(started, first_output)
        failed = entry.get("status") in {"failure", "error"}
        known: dict[str, Any] = {
            "time": started,
            "ttft_ms": waited if entry.get("stream") else None,
            "id": text_of(first_of(entry, "id", "request_id")),
            "tenant": _tenant(entry),
            "status": 500 if failed else 200,
        }
        if known["id"] is not None:
            known["known_by"] = self.name, known["id"], started
        usage = None if failed else _usage(entry)
        try:
            return [LoggedExchange(body=_body(entry), usage=usage, **known)]
        except NotUnderstoodError:
            model = text_of(first_of(entry, "model", "model_group"))
            counted = None if usage is None else read_counts(entry, usage, model=model, **known)
            if counted is None:
                raise
            return [counted]

    def end(self) -> Iterable[LoggedExchange]:
        """Nothing: every entry stands for itself."""
        return ()


def _body(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    sent = _decoded(entry.get("proxy_server_request"))
    if isinstance(sent, Mapping):
        sent = sent.get("body", sent)
    if is_request(sent):
        return sent  # type: ignore[no-any-return]
    messages = _decoded(entry.get("messages"))
    parameters = entry.get("model_parameters")
    body = {**parameters} if isinstance(parameters, Mapping) else {}
    body["model"] = text_of(first_of(entry, "model", "model_group")) or ""
    if isinstance(messages, Mapping):
        body.update(messages)
    elif isinstance(messages, list) and all(isinstance(message, Mapping) for message in messages):
        body["messages"] = messages
    elif isinstance(messages, str) and messages:
        body["prompt"] = messages
    if not is_request(body) or body.get("messages") == [] or _is_redacted(body):
        raise NotUnderstoodError("the messages were not logged (LiteLLM redacts or omits them by setting)")
    return body


def _is_redacted(body: Mapping[str, Any]) -> bool:
    """Whether a constant stands in a prompt's place: requests would look all the same."""
    said = body.get("messages")
    texts = [one.get("content") for one in said] if isinstance(said, list) else [body.get("prompt")]
    return _REDACTED in texts


def _usage(entry: Mapping[str, Any]) -> Usage | None:
    response = _decoded(entry.get("response"))
    if isinstance(response, Mapping) and isinstance(response.get("usage"), Mapping):
        return Usage.from_response(response)
    metadata = _decoded(entry.get("metadata"))
    usage = metadata.get("usage_object") if isinstance(metadata, Mapping) else None
    if isinstance(usage, Mapping):
        return Usage.from_response({"usage": usage})
    if isinstance(entry.get("prompt_tokens"), int):
        counts = {key: entry.get(key) for key in ("prompt_tokens", "completion_tokens", "total_tokens")}
        return Usage.from_response({"usage": counts})
    return None


def _tenant(entry: Mapping[str, Any]) -> str:
    metadata = _decoded(entry.get("metadata"))
    known = metadata if isinstance(metadata, Mapping) else {}
    return text_of(first_of(known, "user_api_key_team_id", "user_api_key_hash")) or "default"


def _decoded(value: object) -> Any:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value
