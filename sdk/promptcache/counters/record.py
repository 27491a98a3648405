"""`CounterRecord`: what a log line tells about one request when the prompt itself is not there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache.quick_values import quick
from promptcache.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CounterRecord"]

_READ = ("cache_read", "read")
_WRITE = ("cache_creation", "cache_write", "write")
_IDENTITY = ("body_sha", "sha_prefix", "prefix_sha", "sha")
_ROUTE = ("route", "backend", "replica", "account")
_KEY = ("cache_key", "prompt_cache_key", "cache_salt", "salt", "tenant")
_STEP = ("step", "block_size")
_LARGEST_EXACT = 2**53
_LABELS = frozenset(
    {
        *("t", "start_s", "first_byte_s", "end_s", "ttl_s", "append_only", "marks_at_tokens"),
        *("min_cacheable_tokens", *_STEP, *_READ, *_WRITE, *_IDENTITY, *_ROUTE, *_KEY),
    }
)
"""All that is read beside the model and the provider's own counts; most lines have none of it."""


@quick
@dataclass(frozen=True, slots=True)
class CounterRecord:
    """One request as its counters show it; None where the log says nothing.

    ``t`` is the request's number or time label; ``start_s``, ``first_byte_s`` and ``end_s`` are seconds,
    ``ttl_s`` the entry's lifetime. ``identity`` is a hash of the body or prefix, ``route`` where it was sent,
    ``key`` the cache key, salt or tenant. ``marks`` are breakpoints as token positions. Counts are tokens.
    """

    t: int | float | str | None = None
    start_s: float | None = None
    first_byte_s: float | None = None
    end_s: float | None = None
    ttl_s: float | None = None
    model: str | None = None
    route: str | None = None
    key: str | None = None
    identity: str | None = None
    append_only: bool | None = None
    total_input: int | None = None
    uncached: int | None = None
    read: int | None = None
    write: int | None = None
    marks: tuple[int, ...] = ()
    step: int | None = None
    min_tokens: int | None = None

    @classmethod
    def from_mapping(cls, line: Mapping[str, Any], usage: Usage | None = None) -> CounterRecord:
        """Read a log line: times and labels beside the usage, flat or under ``usage``.

        ``usage`` is what `Usage.from_response` makes of the line, where somebody has read it already.
        """
        usage = Usage.from_response(line) if usage is None else usage
        if _LABELS.isdisjoint(line):
            return cls(
                model=_text(line, ("model",)),
                total_input=_total(line, usage, usage.cache_read, usage.cache_write),
                uncached=usage.uncached if usage.reported else _count(line, ("input_tokens",)),
                read=usage.cache_read,
                write=usage.cache_write,
            )
        read, write = _count(line, _READ), _count(line, _WRITE)
        read = usage.cache_read if read is None else read
        write = usage.cache_write if write is None else write
        return cls(
            t=label if isinstance(label := line.get("t"), int | float | str) else None,
            start_s=_seconds(line, "start_s"),
            first_byte_s=_seconds(line, "first_byte_s"),
            end_s=_seconds(line, "end_s"),
            ttl_s=_seconds(line, "ttl_s"),
            model=_text(line, ("model",)),
            route=_text(line, _ROUTE),
            key=_text(line, _KEY),
            identity=_text(line, _IDENTITY),
            append_only=flag if isinstance(flag := line.get("append_only"), bool) else None,
            total_input=_total(line, usage, read, write),
            uncached=usage.uncached if usage.reported else _count(line, ("input_tokens",)),
            read=read,
            write=write,
            marks=_positions(line.get("marks_at_tokens")),
            step=_count(line, _STEP),
            min_tokens=_count(line, ("min_cacheable_tokens",)),
        )

    @property
    def cached_after(self) -> int | None:
        """Tokens a cache can hold once this request is done: all of its input."""
        if self.total_input is not None:
            return self.total_input
        if self.read is None and self.write is None:
            return None
        return (self.read or 0) + (self.write or 0)


def _total(line: Mapping[str, Any], usage: Usage, read: int | None, write: int | None) -> int | None:
    if usage.reported and usage.total_input is not None:
        return usage.total_input
    total = _count(line, ("total_input", "prompt_tokens"))
    if total is not None:
        return total
    uncached = _count(line, ("input_tokens",))
    if uncached is not None:
        return uncached + (read or 0) + (write or 0)
    return _count(line, ("total_tokens",)) if usage.total_input is None else usage.total_input


def _count(line: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = line.get(name)
        if value is not None and isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_EXACT:
            return int(value)  # as tables write whole numbers
    return None


def _seconds(line: Mapping[str, Any], name: str) -> float | None:
    value = line.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(line: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = line.get(name)
        if value is not None:
            return str(value)
    return None


def _positions(marks: object) -> tuple[int, ...]:
    return tuple(mark for mark in marks if isinstance(mark, int)) if isinstance(marks, list) else ()
