"""Patterns in counters that prove no cause by themselves, with the causes that may stand behind them.

Without a prompt, a hash or a session nobody can say why nothing was read; that nothing was, and what it cost,
can be said.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from promptcache.providers import find_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.counters import CounterRecord

_LEAST = 5
_MOSTLY = 0.8
_SHORT = frozenset({"PC604"})
_OF_CONTROL = {
    "automatic": _SHORT | {"PC601", "PC602", "PC610"},  # nothing is marked there
    "marks": frozenset({"PC101", "PC102", "PC607", "PC811"}),  # what is marked is written in any case
}
_LARGEST_MINIMUM = 4_096  # of any provider known so far

Kind = Literal["written_never_read", "never_read", "pinned"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a row of counters shows.

    Attributes:
        kind: which pattern it is.
        requests: how many requests show it.
        tokens: written in vain, computed anew, or left unread, in all of them.
        possible: codes that may stand behind it, the likeliest first.
        summary: one sentence for people.
        template: the name under which the requests are counted.
    """

    kind: Kind
    requests: int
    tokens: int
    possible: tuple[str, ...]
    summary: str
    template: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "pattern": self.kind,
            "template": self.template,
            "requests": self.requests,
            "tokens": self.tokens,
            "possible": list(self.possible),
            "summary": self.summary,
        }


def pattern_of(records: Sequence[CounterRecord], template: str) -> Pattern | None:
    """The pattern of a row of at least five requests of a template, or None."""
    told = [one for one in records if one.read is not None and one.total_input is not None]
    if len(told) < _LEAST:
        return None
    return (
        _written_never_read(told, template)
        or _never_read(told, template)
        or _read_to_one_place(told, template)
    )


def _written_never_read(records: list[CounterRecord], template: str) -> Pattern | None:
    if any(one.read or not one.write for one in records):
        return None
    tokens = sum(one.write or 0 for one in records[1:])
    return Pattern(
        "written_never_read",
        len(records),
        tokens,
        _possible(records, "PC601", "PC607", "PC804"),
        "Requests in a row wrote to the cache and none read: each marks something new, or they go to as many"
        " keys, accounts or servers.",
        template,
    )


def _never_read(records: list[CounterRecord], template: str) -> Pattern | None:
    if any(one.read or one.write for one in records):
        return None
    long = [one for one in records if (one.total_input or 0) >= _surely_cached(one)]
    if len(long) < _LEAST:
        return None
    tokens = sum(one.total_input or 0 for one in long[1:])
    return Pattern(
        "never_read",
        len(long),
        tokens,
        _possible(records, "PC101", "PC102", "PC602", "PC604", "PC804", "PC811"),
        "Requests in a row read and wrote nothing, though they are long enough to be cached: they begin"
        " differently, nothing in them is marked, or nothing is reused there.",
        template,
    )


def _possible(records: list[CounterRecord], *codes: str) -> tuple[str, ...]:
    """The codes without those that cannot be at the model's provider."""
    model = records[0].model
    facts = find_model(model) if model else None
    never = _SHORT if facts is None else _OF_CONTROL.get(str(facts.control), frozenset())
    return tuple(code for code in codes if code not in never)


def _surely_cached(record: CounterRecord) -> int:
    """The length from which its upstream caches a prompt, by all that is known of it."""
    facts = find_model(record.model) if record.model else None
    known = (record.min_tokens, *(() if facts is None else (facts.min_tokens, facts.min_tokens_at_most)))
    return next((least for least in known if least is not None), _LARGEST_MINIMUM)


def _read_to_one_place(records: list[CounterRecord], template: str) -> Pattern | None:
    """Most requests read the same tokens and leave the rest of theirs unread."""
    (read, times), *_ = Counter(one.read for one in records).most_common(1)
    pinned = [one for one in records if one.read == read]
    left = sum((one.total_input or 0) - (one.read or 0) for one in pinned)
    few = times < max(_LEAST, _MOSTLY * len(records))
    if not read or few or left <= times * (pinned[0].step or 128):
        return None
    return Pattern(
        "pinned",
        times,
        left,
        _possible(records, "PC401", "PC502", "PC602", "PC610"),
        f"Reads stay at {read:,} tokens: what stands behind them is another each time, or is not marked."
        " Where that is only the question, nothing is amiss.",
        template,
    )
