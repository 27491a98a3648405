"""Reads what was counted of a request whose prompt was not kept: tokens, times, and the labels beside them.

Many logs leave prompts out, by default or by law. What counters in a row prove is `counted`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptcache.counters import CounterRecord
from promptcache.providers import find_model
from promptcache.quick_values import changed
from promptcache.usage import Usage
from promptcache_gateway.diagnose.exchange import (
    LoggedExchange,
    NotUnderstoodError,
    first_of,
    known_by,
    read_time,
    text_of,
)
from promptcache_gateway.observe.rules import rules_for

_TIME = ("time", "timestamp", "received_at", "start_time", "startTime", "created_at", "created", "ts", "at")
_SESSION = ("session_id", "sessionId", "session", "conversation_id", "conversation", "thread_id", "chat_id")
_SESSIONS = frozenset(_SESSION)
_FAILED = 400
_MOST_TOKENS = 10**9


def read_counts(entry: Mapping[str, Any], usage: Usage | None = None, **known: Any) -> LoggedExchange | None:
    """The request that a line of counters stands for; None where it counts no prompt.

    Args:
        entry: the line, with its labels; counts stand in it, or under ``usage``.
        usage: the counts, where a format has read them from elsewhere.
        known: what a format knows of the request (`LoggedExchange`'s attributes).

    Raises:
        NotUnderstoodError: one of its counts is negative or absurd, so that none of them is believed.
    """
    told = usage if usage is not None else Usage.from_response(entry)
    flat = _flat(entry)
    found = CounterRecord.from_mapping(flat, told if usage is None and flat is entry else None)
    found = _with_usage(found, usage)
    if found.total_input is None and found.read is None and found.write is None:
        return None
    for count in (found.total_input, found.uncached, found.read, found.write, *told.raw.values()):
        if type(count) is int and count < 0:
            raise NotUnderstoodError("a count of tokens is negative; its usage is not believed")
    if max(found.total_input or 0, found.read or 0) > _MOST_TOKENS:
        raise NotUnderstoodError("a count of tokens is beyond any prompt's; its usage is not believed")
    time = known.pop("time", None)
    time = read_time(first_of(entry, *_TIME)) if time is None else time
    model = text_of(known.pop("model", None)) or found.model or ""
    found = _with_facts(found, model, time, _lifetime(told, found.ttl_s))
    sent, tenant = found.start_s if time is None else time, text_of(entry.get("tenant")) or "default"
    name, whole = text_of(first_of(entry, "id", "request_id")), _whole(told, found)
    exchange = LoggedExchange(
        {"model": model},
        whole,
        sent,
        template=text_of(entry.get("template")),
        tenant=tenant,
        id=name,
        session=None if _SESSIONS.isdisjoint(entry) else text_of(first_of(entry, *_SESSION)),
        status=_status(entry),
        counts=found,
        known_by=known_by("counters", name, sent, whole, tenant),
    )
    if not known:
        return exchange
    return changed(exchange, **{key: value for key, value in known.items() if value is not None})


def _flat(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The line with the members of its request beside its own."""
    request = entry.get("request")
    return {**request, **entry} if isinstance(request, Mapping) else entry


def _with_usage(found: CounterRecord, usage: Usage | None) -> CounterRecord:
    if usage is None:
        return found
    return changed(
        found,
        total_input=usage.total_input,
        uncached=usage.uncached,
        read=usage.cache_read,
        write=usage.cache_write,
    )


def _with_facts(found: CounterRecord, model: str, time: float | None, lives: float | None) -> CounterRecord:
    """The counters with the time and what is known of the model, where the line says nothing of it."""
    facts, rules = find_model(model) if model else None, rules_for("hosted", model) if model else None
    return changed(
        found,
        model=model or None,
        start_s=time if found.start_s is None else found.start_s,
        ttl_s=rules.lifetime_s if lives is None and rules is not None else lives,
        step=facts.step if found.step is None and facts is not None else found.step,
        min_tokens=facts.min_tokens if found.min_tokens is None and facts is not None else found.min_tokens,
    )


def _lifetime(usage: Usage, labelled: float | None) -> float | None:
    """Seconds that what was written is kept for: the longest of the lifetimes that the usage names."""
    if labelled is not None:
        return labelled
    if usage.cache_write_12h:
        return 43_200.0
    if usage.cache_write_1h:
        return 3_600.0
    if usage.cache_write_30m:
        return 1_800.0
    return 300.0 if usage.cache_write_5m else None


def _whole(usage: Usage, found: CounterRecord) -> Usage:
    """The usage, or the same from names that only counters have."""
    if usage.total_input is not None or found.total_input is None:
        return usage
    counts: dict[str, Any] = {"prompt_tokens": found.total_input}
    if found.read is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": min(found.read, found.total_input)}
    return Usage.from_response({"usage": counts})


def _status(entry: Mapping[str, Any]) -> int:
    status = first_of(entry, "status", "status_code")
    if isinstance(status, int) and not isinstance(status, bool):
        return status
    return _FAILED if status in {"failure", "error"} else 200
