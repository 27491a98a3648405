"""What counters in a row prove of each of its requests, where prompts were not kept.

A cause is named only where labels or the counts themselves leave no other: equal hashes, times, breakpoints,
a prompt that grows in every turn while the same tokens are read. Of everything else nobody is blamed. The
rules are the SDK's (`promptcache.counters`); what makes a row is `counted`'s business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptcache.causes import get_cause
from promptcache.counters import CounterRecord, diagnose_sequence, find_plateau
from promptcache.providers import find_model
from promptcache.quick_values import changed
from promptcache_gateway.diagnose.conversations import explain_pairs, find_turns, is_one_conversation
from promptcache_gateway.observe.diagnosis import Attribution, Diagnosis

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXPECTED = frozenset({"PC604", "PC801", "PC802"})
_UPSTREAMS = frozenset({"PC804", "PC809", "PC811"})
_OF_A_ROW = frozenset({"PC601", "PC607", "PC608", "PC610", "PC804", "PC811"})
"""Codes that a row of counters proves by its labels."""
_IN_ONE = frozenset({"PC502", "PC610"})  # of one conversation that grows

_UNREAD: Final = Diagnosis(
    summary="Only counters are known of it, and they prove no cause.", attribution="unknown"
)
_READ: Final = changed(_UNREAD, hit=True)


def judge_row(
    records: Sequence[CounterRecord], *, named: bool = False, begins: bool = True
) -> list[Diagnosis]:
    """A diagnosis of each of a row's requests.

    Args:
        records: what was counted, in order.
        named: the log itself says that they are one conversation.
        begins: none of the row came before them.
    """
    found = [
        _alone(record) or together
        for record, together in zip(records, _together(records, named=named), strict=True)
    ]
    if not begins and found[0].cause == "PC801":
        found[0] = _nothing(records[0])
    return found


def _alone(record: CounterRecord) -> Diagnosis | None:
    """What a request's own counts say."""
    if record.read is None:
        return _found("PC810", record, "The log does not say how much was read from the cache.")
    size, least = record.total_input, record.min_tokens
    if not record.read and not record.write and size is not None and least is not None and size < least:
        return _found("PC604", record, f"{size} tokens are fewer than the {least} the cache takes.", lost=0)
    return None


def _together(records: Sequence[CounterRecord], *, named: bool) -> list[Diagnosis]:
    """What they say in a row; where they say nothing, no cause."""
    row = diagnose_sequence([record for record in records if record.read is not None])
    if (
        len({record.model for record in records}) == 1
        and row.cause in _OF_A_ROW
        and "requests" not in row.details
        and _is_proved(str(row.cause), records, named)
    ):
        return _all_of(str(row.cause), records)
    pinned = _pinned(records, named=named)
    single = _one_by_one(records, named=named)
    return [pinned.get(number, diagnosis) for number, diagnosis in enumerate(single)]


def _is_proved(code: str, records: Sequence[CounterRecord], named: bool) -> bool:  # noqa: FBT001
    """Whether a row's labels prove what its counts look like: conversations may each have their server."""
    related = named or all(record.append_only for record in records[1:])
    return code != "PC804" or related or all(record.identity is not None for record in records)


def _all_of(code: str, records: Sequence[CounterRecord]) -> list[Diagnosis]:
    """A row's one cause, of every request in it that missed but the first."""
    found = []
    for number, record in enumerate(records):
        missed = not record.read or code == "PC610"
        if not number:
            found.append(_first(record))
        elif missed:
            found.append(_found(code, record, "", lost=_lost(records[number - 1], record, code)))
        else:
            found.append(_nothing(record))
    return found


def _lost(previous: CounterRecord, record: CounterRecord, code: str) -> int | None:
    """What of the request before could have been read; None where that is not sure to be in this one."""
    if record.total_input is None or previous.total_input is None or record.read is None:
        return None
    same = record.identity is not None and record.identity == previous.identity
    if not same and record.append_only is not True and code not in _IN_ONE:
        return None
    whole = min(previous.total_input, record.total_input - 1)
    return max(0, whole // (record.step or 1) * (record.step or 1) - record.read)


def _pinned(records: Sequence[CounterRecord], *, named: bool) -> dict[int, Diagnosis]:
    """The requests of a plateau in one conversation; empty where there is none, or it may be several.

    A provider that keeps only what is marked, and wrote nothing, has no breakpoint behind what is read:
    nothing there need have changed. Where the log names the conversation, side calls between its turns are
    left out of it.
    """
    found = _pinned_among(records, range(len(records)), named=named)
    return _pinned_among(records, find_turns(records), named=named) if named and not found else found


def _pinned_among(
    every: Sequence[CounterRecord], numbers: Sequence[int], *, named: bool
) -> dict[int, Diagnosis]:
    """The same, of some of a row's requests."""
    records = [every[number] for number in numbers]
    if find_plateau(records) is None:
        return {}
    plateau = find_plateau([changed(record, t=at) for at, record in enumerate(records)])
    if plateau is None:
        return {}
    first, last = int(plateau.from_t or 0), int(plateau.to_t or 0)
    if not is_one_conversation(records, last - first + 1, plateau.cached_tokens, named=named):
        return {}
    if all(record.write == 0 and _is_marked_only(record) for record in records[first : last + 1]):
        return {}
    told = (
        f"Reads stay at {plateau.cached_tokens} tokens while the prompt grows: it changes right behind them."
    )
    return {
        numbers[at]: _found("PC502", records[at], told, lost=_lost(records[at - 1], records[at], "PC502"))
        for at in range(first + 1, last + 1)
    }


def _is_marked_only(record: CounterRecord) -> bool:
    facts = find_model(record.model) if record.model else None
    return facts is not None and facts.control == "marks"


def _one_by_one(records: Sequence[CounterRecord], *, named: bool) -> list[Diagnosis]:
    """Each request by the one it goes on from, where the log says how they belong together."""
    found = []
    for number, (record, (previous, code)) in enumerate(
        zip(records, explain_pairs(records, named=named), strict=True)
    ):
        if previous is None or code is None:
            found.append(_nothing(record) if number or record.read else _first(record))
        else:
            found.append(_found(code, record, "", lost=_lost(previous, record, code)))
    return found


def _first(record: CounterRecord) -> Diagnosis:
    if record.read:
        return _nothing(record)
    return _found("PC801", record, "The first request of a row: there was nothing to reuse.", lost=0)


def _nothing(record: CounterRecord) -> Diagnosis:
    """Nothing is proved; what was read was read."""
    return _READ if record.read else _UNREAD


def _found(code: str, record: CounterRecord, summary: str, *, lost: int | None = None) -> Diagnosis:
    cause = get_cause(code)
    reusable = None if lost is None else (record.read or 0) + lost
    return Diagnosis(
        cause=code,
        causes=(code,),
        hit=None if code == "PC810" else False,
        reusable_tokens=reusable,
        lost_tokens=lost,
        losses={code: lost} if lost else {},
        estimated=bool(lost),
        summary=summary or f"{cause.title}.",
        remedy=cause.remedy,
        attribution=_whose(code),
    )


def _whose(code: str) -> Attribution:
    if code == "PC810":
        return "unknown"
    if code in _EXPECTED:
        return "expected"
    return "upstream" if code in _UPSTREAMS else "caller"
