"""Counters of made-up traffic, no prompt beside them, with the cause that they must be known by.

A simulated cache in whole steps counts what a conversation reads, writes and computes anew; a fault pins what
it reads, moves its entries, or keeps them from being read. What the log says beside the counts is what such
logs do say: a label, a time, a route, a hash.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptcache.counters import CounterRecord

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.gateway.observe.traffic import Author

STEP = 128


@dataclass(frozen=True)
class Counted:
    """Counters in a row and the cause they point at; None where nothing is to be told.

    ``pinned`` is the plateau: its first and last label and the tokens read all along.
    """

    records: list[CounterRecord]
    cause: str | None = None
    pinned: tuple[int, int, int] | None = None


def _whole(tokens: int) -> int:
    return tokens // STEP * STEP


def _sizes(dice: random.Random, turns: int) -> list[int]:
    """Prompt tokens of a conversation, turn by turn."""
    size = dice.randrange(1_500, 9_000)
    sizes = []
    for _ in range(turns):
        sizes.append(size)
        size += dice.randrange(STEP * 2, 1_200)
    return sizes


def _conversation(dice: random.Random, turns: int | None = None) -> list[CounterRecord]:
    """A conversation that only appends, within its entries' lifetime."""
    found: list[CounterRecord] = []
    now, last = 0.0, 0
    for t, size in enumerate(_sizes(dice, turns or dice.randrange(4, 12)), 1):
        found.append(_record(t, size, _whole(last), now))
        last = size
        now += dice.uniform(5, 200)
    return found


def _record(t: int, size: int, read: int, now: float) -> CounterRecord:
    return CounterRecord(
        t=t,
        start_s=now,
        first_byte_s=now + 0.5,
        end_s=now + 2.0,
        ttl_s=300.0,
        model="m",
        append_only=True if t > 1 else None,
        total_input=size,
        uncached=size - read,
        read=read,
        write=0,
        step=STEP,
        min_tokens=1_024,
    )


def appends(author: Author) -> Counted:
    """Everything that was sent before is read."""
    return Counted(_conversation(author.random))


def one_long_answer(author: Author) -> Counted:
    """A first request, another conversation, and nothing amiss."""
    records = _conversation(author.random, 3)
    return Counted(records[: author.random.randrange(1, 3)])


def short_prompts(author: Author) -> Counted:
    """Nothing is cached below the minimum, and nobody is to blame."""
    dice = author.random
    sizes = sorted(dice.randrange(100, 1_000) for _ in range(dice.randrange(3, 8)))
    return Counted([_record(t, size, 0, 10.0 * t) for t, size in enumerate(sizes, 1)], "PC604")


def nobody_tells(author: Author) -> Counted:
    """The upstream does not say what it read."""
    records = _conversation(author.random)
    return Counted([replace(one, read=None, uncached=None) for one in records], "PC810")


def rewritten_behind_the_head(author: Author) -> Counted:
    """From some turn on the history changes at one place: what is read stays where it is."""
    dice = author.random
    records = _conversation(dice, dice.randrange(6, 12))
    start, end = 1, dice.randrange(4, len(records))
    pinned = records[start].read or 0
    made = [
        replace(one, read=pinned, uncached=(one.total_input or 0) - pinned, append_only=None)
        if start <= at <= end
        else one
        for at, one in enumerate(records)
    ]
    return Counted(made, "PC502", (start + 1, end + 1, pinned))


def written_and_never_read(author: Author) -> Counted:
    """Each body carries its breakpoint on something that is new."""
    made = [
        replace(one, write=one.total_input, read=0, uncached=0, identity=f"{author.random.getrandbits(64):x}")
        for one in _conversation(author.random, author.random.randrange(3, 7))
    ]
    return Counted(made, "PC601")


def all_at_once(author: Author) -> Counted:
    """One prefix, sent several times before the first answer began."""
    size = author.random.randrange(2_000, 9_000)
    made = [
        replace(
            _record(t, size, 0, 0.1 * t),
            write=size,
            uncached=0,
            identity="one",
            append_only=None,
            first_byte_s=4.0,
            end_s=9.0,
        )
        for t in range(1, author.random.randrange(3, 9))
    ]
    return Counted(made, "PC608")


def keys_that_differ(author: Author) -> Counted:
    """One prefix, written anew under each key."""
    size = author.random.randrange(2_000, 9_000)
    made = [
        replace(_record(t, size, 0, 20.0 * t), write=size, uncached=0, identity="one", key=f"user-{t}")
        for t in range(1, author.random.randrange(3, 7))
    ]
    return Counted(made, "PC607")


def marks_that_stand_still(author: Author) -> Counted:
    """The breakpoint stays where it was while the conversation grows."""
    records = _conversation(author.random, author.random.randrange(4, 9))
    mark = (records[0].total_input or 0) - author.random.randrange(50, 400)
    made = [
        replace(one, marks=(mark,), read=mark if at else 0, uncached=(one.total_input or 0) - mark)
        for at, one in enumerate(records)
    ]
    return Counted(made, "PC610")


def from_one_server_to_another(author: Author) -> Counted:
    """Requests miss exactly where they go to another replica."""
    records = _conversation(author.random, author.random.randrange(6, 11))
    made: list[CounterRecord] = []
    for at, one in enumerate(records):
        route = "a" if at % 4 < 2 else "b"
        moved = bool(made) and made[-1].route != route
        read = 0 if moved or not at else one.read
        made.append(replace(one, route=route, read=read, uncached=(one.total_input or 0) - (read or 0)))
    return Counted(made, "PC804")


COUNTED: tuple[Callable[[Author], Counted], ...] = (
    appends,
    one_long_answer,
    short_prompts,
    nobody_tells,
    rewritten_behind_the_head,
    written_and_never_read,
    all_at_once,
    keys_that_differ,
    marks_that_stand_still,
    from_one_server_to_another,
)
"""Logs of counters with what they must be known by."""
