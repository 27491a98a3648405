"""Which counters belong together: requests that go on from one another, and models that took one over.

Several things run under one session: a conversation, and side calls of other models that name it or sum it
up. Sizes that grow are no proof of a conversation by themselves, logs are sorted and questions differ in
length. What follows from a pair is `counted`'s business.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from promptcache.counters import miss_reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.counters import CounterRecord

_GROWS, _GROWS_NAMED = 6, 5
"""So many requests, each longer than the last, are one conversation where the log has other signs of it."""
_MOSTLY_GROWS = 0.8
_STEP = 128
_LEAST_TURNS = 2  # before a change of models, and from it on: fewer are a side call


def is_one_conversation(records: Sequence[CounterRecord], pinned: int, read: int, *, named: bool) -> bool:
    """Whether requests mostly grow from one to the next, too many are pinned for chance, and a sign says so.

    A sign is a session's name, or a request that read all of the one before it and more than the pinned.

    Args:
        records: a row's.
        pinned: how many of them read the same.
        read: how many tokens those read.
        named: the log says that they are one conversation.
    """
    if all(record.append_only for record in records[1:]):
        return True
    sizes = [record.total_input or 0 for record in records]
    grown = sum(one < other for one, other in pairwise(sizes))
    if pinned < (_GROWS_NAMED if named else _GROWS) or grown < _MOSTLY_GROWS * (len(sizes) - 1):
        return False
    return named or any(_read_all_of(one, other, read) for one, other in pairwise(records))


def find_turns(records: Sequence[CounterRecord]) -> list[int]:
    """Which requests of a session can be turns of the conversation whose reads are the most frequent ones.

    Those of its model that are longer than what it reads: a shorter prompt does not hold that prefix and is
    a side call. None where nothing is left out or nothing was read.
    """
    reads = Counter((record.model, record.read) for record in records if record.read)
    if not reads:
        return []
    ((model, read), _), *_ = reads.most_common(1)
    found = [
        number
        for number, record in enumerate(records)
        if record.model == model and (record.total_input or 0) > (read or 0)
    ]
    return found if len(found) < len(records) else []


def _read_all_of(previous: CounterRecord, record: CounterRecord, shared: int) -> bool:
    """Whether a request read what the one before it left behind, to the step: more than all share."""
    if record.read is None or previous.total_input is None or record.read <= max(shared, previous.read or 0):
        return False
    return 0 <= previous.total_input - record.read < (record.step or _STEP)


def explain_pairs(
    records: Sequence[CounterRecord], *, named: bool
) -> list[tuple[CounterRecord | None, str | None]]:
    """For each request the one that it goes on from, and the cause of a miss that is proved by the two.

    Args:
        records: a row's, in order.
        named: the log says that they are one session.
    """
    found: list[tuple[CounterRecord | None, str | None]] = []
    last: dict[str | None, CounterRecord] = {}
    longest: dict[str | None, float] = {}
    routes: set[str | None] = set()
    for number, record in enumerate(records):
        direct = records[number - 1] if number else None
        previous = direct if direct is None or _is_sure(direct, record) else last.get(record.model)
        if previous is None and direct is not None and named and _took_over(records, number):
            previous = direct
        lives = max(longest.get(record.model, 0.0), record.ttl_s or 0.0)
        code = None if previous is None else _cause(previous, record, routes, lives)
        if previous is not None and code is not None and not _belongs(previous, record, code, named=named):
            code = None
        found.append((previous, code))
        last[record.model], longest[record.model] = record, lives
        routes.add(record.route)
    return found


def _is_sure(previous: CounterRecord, record: CounterRecord) -> bool:
    """Whether the log itself says that a request goes on from another."""
    same = record.identity is not None and record.identity == previous.identity
    return same or record.append_only is True


def _cause(
    previous: CounterRecord, record: CounterRecord, routes: set[str | None], longest: float
) -> str | None:
    """The cause of a miss by the request before it, where no entry's lifetime speaks against it.

    Args:
        previous: what it goes on from.
        record: what may have missed.
        routes: where the row has been before.
        longest: seconds that the longest-lived entry of its model in the row is kept for.
    """
    reason = miss_reason(previous, record, known_route=record.route == previous.route)
    code = reason.cause
    if code in {"PC804", "PC809"}:
        code = "PC809" if record.route in routes else "PC804"
    if code == "PC802" and reason.gap_s is not None and reason.gap_s <= longest:
        return None
    lives = previous.ttl_s
    if code == "PC809" and reason.gap_s is not None and lives is not None and reason.gap_s > lives:
        return None
    return code


def _belongs(previous: CounterRecord, record: CounterRecord, code: str, *, named: bool) -> bool:
    """Whether a request is known to go on from one before it, so that a cause is proved.

    A conversation's name is enough to say that it paused or changed its model; that nothing in it changed it
    does not say.
    """
    if _is_sure(previous, record):
        return True
    if not named or record.append_only is not None or record.identity is not None:
        return False
    return code in {"PC503", "PC802"} and _is_long_enough(previous)


def _took_over(records: Sequence[CounterRecord], number: int) -> bool:
    """Whether a model goes on with what another had to itself until then, and not beside it."""
    before, record = records[number - 1], records[number]
    if before.total_input is None or record.total_input is None or record.total_input < before.total_input:
        return False
    if not _is_long_enough(record) or any(one.model == before.model for one in records[number:]):
        return False
    turns_before = sum(one.model == before.model for one in records[:number])
    turns = sum(one.model == record.model for one in records[number:])
    return min(turns_before, turns) >= _LEAST_TURNS


def _is_long_enough(record: CounterRecord) -> bool:
    """Whether the provider's cache takes a prompt of that length."""
    size, least = record.total_input, record.min_tokens
    return size is None or least is None or size >= least
