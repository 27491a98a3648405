"""One request of a log, in whatever format it was written: what was sent, what the provider counted, when.

A plain value, and the few readings (times, lists of messages) that formats share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from promptcache.quick_values import quick

if TYPE_CHECKING:
    from collections.abc import Hashable

    from promptcache.counters import CounterRecord
    from promptcache.usage import Usage

_MILLISECONDS_FROM = 1e11  # as seconds this would be the year 5138
_MICROSECONDS_FROM = 1e14
_TOO_LATE = 1e17


@quick
@dataclass(frozen=True, slots=True)
class LoggedExchange:
    """One request and what is known of its answer. Unknown is None, never 0.

    Attributes:
        body: the request's body, in one of the known shapes.
        usage: the provider's own counts.
        time: Unix time in seconds at which it was sent.
        ttft_ms: milliseconds to the first output.
        template: the name its caller gave.
        tenant: whom it belongs to.
        id: the log's own name for it.
        status: the HTTP status of the answer.
        whole: False where the log leaves out parts of the prompt (a transcript without the tools).
        counts: what is known where the log holds no prompt at all, but what was counted; else None. The body
            is the model alone then.
        session: the conversation it says that it belongs to.
        known_by: what no other request has, its id above all; one that has the same is a copy of it. None:
            the log does not tell it from others.
    """

    body: Mapping[str, Any]
    usage: Usage | None = None
    time: float | None = None
    ttft_ms: float | None = None
    template: str | None = None
    tenant: str = "default"
    id: str | None = None
    status: int = 200
    whole: bool = True
    counts: CounterRecord | None = None
    session: str | None = None
    known_by: Hashable | None = None


class NotUnderstoodError(ValueError):
    """A line that holds no request of a known form. The message never quotes a prompt."""


def read_time(value: object) -> float | None:
    """Unix seconds from a number (seconds, milliseconds or microseconds) or an ISO 8601 text; None: neither.

    >>> read_time("2026-11-29T12:00:00Z"), read_time(1795953600000), read_time("soon")
    (1795953600.0, 1795953600.0, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        if not 0 < value < _TOO_LATE:
            return None
        if value >= _MICROSECONDS_FROM:
            return value / 1e6
        return value / 1e3 if value >= _MILLISECONDS_FROM else float(value)
    try:
        moment = datetime.fromisoformat(str(value).strip())
    except ValueError:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def milliseconds_between(started: float | None, ended: float | None) -> float | None:
    """From one Unix time in seconds to another, never below 0; None where one is not known."""
    return None if started is None or ended is None else max(0.0, ended - started) * 1000


def is_request(value: object) -> bool:
    """Whether a value is a request's body of a known shape."""
    return isinstance(value, Mapping) and (
        isinstance(value.get("messages"), list)
        or isinstance(value.get("input"), list | str)
        or isinstance(value.get("prompt"), list | str)
    )


def first_of(entry: Mapping[str, Any], *names: str) -> Any:
    """The first of some members that is there and not null."""
    for name in names:
        value = entry.get(name)
        if value is not None:
            return value
    return None


def text_of(value: object) -> str | None:
    """A value that is a text, else None."""
    return value if isinstance(value, str) and value else None


def known_by(log: str, name: object, time: float | None, usage: Usage | None, tenant: str) -> Hashable | None:
    """What tells a request from others where its name alone may not: a label of the log's writer, say.

    Args:
        log: the format.
        name: its id, a text or a number.
        time: Unix time in seconds at which it was sent.
        usage: what was counted.
        tenant: whom it belongs to.
    """
    if not isinstance(name, str | int) or isinstance(name, bool) or (time is None and usage is None):
        return None
    counts = None if usage is None else (usage.total_input, usage.cache_read, usage.cache_write, usage.output)
    return log, tenant, name, time, counts
