"""Counters without prompts: a provider's ``usage``, flat or under its name, with the labels beside it.

Labels that tell are the model, times, ``session_id``, a hash of the prefix (``prefix_sha``), ``append_only``,
``route``, ``cache_key`` and ``marks_at_tokens``; see `promptcache.counters.CounterRecord`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.diagnose.counts import read_counts
from promptcache_gateway.diagnose.exchange import NotUnderstoodError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptcache_gateway.diagnose.exchange import LoggedExchange


class Counters:
    """Lines that hold counts and no prompt."""

    name = "counters"
    about = "usage counts without prompts"

    def __init__(self) -> None:
        self._known: tuple[Mapping[str, Any], LoggedExchange | NotUnderstoodError | None] | None = None

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """Whether it counts the tokens of a prompt."""
        self._known = (entry, _counts_of(entry))
        return self._known[1] is not None

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The one request."""
        same = self._known is not None and self._known[0] is entry
        found = self._known[1] if same and self._known is not None else _counts_of(entry)
        if found is None:
            raise NotUnderstoodError("no counts of a prompt")
        if isinstance(found, NotUnderstoodError):
            raise found
        return [found]

    def end(self) -> Iterable[LoggedExchange]:
        """Nothing: every entry stands for itself."""
        return ()


def _counts_of(entry: Mapping[str, Any]) -> LoggedExchange | NotUnderstoodError | None:
    try:
        return read_counts(entry)
    except NotUnderstoodError as problem:
        return problem
