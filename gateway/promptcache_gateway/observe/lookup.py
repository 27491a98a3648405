"""Which of a row's requests a new one continues: a few keys looked up, a few texts compared."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from promptcache.divergence.same_message import same_arguments
from promptcache_gateway.observe.likeness import is_drift, is_respelled
from promptcache_gateway.observe.prompt import TRIVIAL_CHARS
from promptcache_gateway.observe.row import variant_of
from promptcache_gateway.observe.texts import common_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache.segments import Segment
    from promptcache_gateway.observe.prompt import Prompt
    from promptcache_gateway.observe.row import Entry, Row

_NEAR_MESSAGES = 8  # messages before the newest turn that are looked up one by one
_FIRST_MESSAGES = 4  # and behind the instructions: what a history was cut down to begins there
_MUCH_LESS = 0.5
_OTHER_HEADS = 3
_SCANNED = 32  # recent requests whose differing segment is compared character by character


def longest_living(
    row: Row, prompt: Prompt, route: tuple[str, str], not_before: float, at: float
) -> tuple[Entry | None, int]:
    """The request with the longest identical prefix that its route should still hold, and its segments."""
    index = row.routes.get(route, {})
    for depth in range(len(prompt.segments), 0, -1):
        entry = index.get(prompt.exact[depth])
        if entry is not None and entry.lives(not_before, at):
            return entry, depth
    return None, 0


def best_predecessor(row: Row, prompt: Prompt, route: tuple[str, str], not_before: float, at: float) -> Entry:
    """The earlier request that the new one continues, volatile values bridged; the row is not empty.

    Requests of the same conversation come before others, however much of the head those share. Among them
    the longest prefix counts first, volatile values bridged, then the one with most of the messages behind.
    Where a conversation goes to and fro between models, that is the own model's last one; and where another
    request shares as much under the same settings and cache key, it is that one, be it long ago.
    """
    best = _best(row, prompt, route, not_before, at)
    if best.route == route:
        return _of_own_variant(row, prompt, best) or best
    held = [entry for entry in _newest(row) if entry.route == route and entry.lives(not_before, at)]
    return _of_same_conversation(held, prompt, best) or best


def others_of(
    row: Row, prompt: Prompt, best: Entry, route: tuple[str, str], *, not_before: float, at: float
) -> tuple[Entry, ...]:
    """Requests that the new one may continue as well, had its prefix not been written in two ways.

    That is the last one of its conversation where the best goes less far, and where the best has expired, the
    newest that have not. All of them are answered, alive, and were sent under the new one's settings.
    """
    if best.route != route:
        return ()
    further = _going_further(row, prompt, best)
    found = () if further is None else (further,)
    if not best.lives(not_before, at):
        found = (*found, *_with_other_heads(row, prompt))
    own = variant_of(route, prompt.parameters) if found else 0
    return tuple(
        entry
        for entry in found
        if entry.variant == own
        and entry.lives(not_before, at)
        and entry.answered_at is not None
        and entry.answered_at <= at
    )


def keeps_instructions(
    row: Row, prompt: Prompt, best: Entry, route: tuple[str, str], *, not_before: float, at: float
) -> bool:
    """Whether the best has expired, and others keep its instructions alive but for volatile values in them.

    They were sent under the new one's settings.
    """
    head = prompt.head
    if not head or best.lives(not_before, at) or best.prompt.head != head:
        return False
    key = prompt.masked[head]
    newest = row.masked.get(key)
    if newest is None or best.prompt.masked[head] != key or newest.route != route:
        return False
    return newest.lives(not_before, at) and newest.variant == variant_of(route, prompt.parameters)


def _going_further(row: Row, prompt: Prompt, best: Entry) -> Entry | None:
    """The newest request with a late message, all of it in the new one's history but for one text.

    Or for any number of them that say the same, written otherwise.
    """
    known = common_depth(best.prompt.masked, prompt.masked)
    segments, floor = prompt.segments, max(known, prompt.head)
    for at in _some_telling(segments, range(prompt.turn - 1, floor - 1, -1), _NEAR_MESSAGES):
        entry = row.messages.get(hash(segments[at].text))
        if entry is not None and entry is not best and _is_aligned(entry.prompt, prompt):
            return entry
    return None


def _is_aligned(earlier: Prompt, later: Prompt) -> bool:
    """Whether all messages of the earlier one stand in the later one's history, in their places."""
    before = earlier.keys[earlier.head :]
    after = later.keys[later.head : later.head + len(before)]
    if not before or later.head + len(before) > later.turn:
        return False
    unlike = [at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    others = int(earlier.masked[earlier.head] != later.masked[later.head])
    if len(unlike) + others <= 1:
        return len(unlike) + others == 1
    if sorted(before[at] for at in unlike) == sorted(after[at] for at in unlike):
        return True
    for at in unlike:
        others += not _says_the_same(earlier.segments[earlier.head + at], later.segments[later.head + at])
        if others > 1:
            return False
    return True


def _says_the_same(one: Segment, other: Segment) -> bool:
    """Whether a message is another one in other white space, or with its JSON written otherwise."""
    if one.kind != other.kind or one.role != other.role:
        return False
    return is_drift(one.text, other.text) or is_respelled(one, other) or same_arguments(one.body, other.body)


def _with_other_heads(row: Row, prompt: Prompt) -> tuple[Entry, ...]:
    """The newest request of each of the last few other instructions."""
    found: dict[int, Entry] = {}
    for entry in _newest(row):
        head = entry.prompt.masked[entry.prompt.head]
        if head != prompt.masked[prompt.head]:
            found.setdefault(head, entry)
        if len(found) == _OTHER_HEADS:
            break
    return tuple(found.values())


def _newest(row: Row) -> list[Entry]:
    """The row's newest requests, the last one first."""
    return [entry for _, entry in zip(range(_SCANNED), reversed(row.entries), strict=False)]


def _of_own_variant(row: Row, prompt: Prompt, best: Entry) -> Entry | None:
    """The newest request with this one's settings, of those that share as much as the best one does."""
    if best.prompt.parameters == prompt.parameters:
        return None
    own = variant_of(best.route, prompt.parameters)
    newest = row.variants.get(own)
    if newest is None or best.variant == own:
        return None
    whole = min(common_depth(best.prompt.masked, prompt.masked), max(prompt.turn, 1))
    held = (*(entry for entry in _newest(row) if entry.variant == own), newest)
    return next((one for one in held if common_depth(one.prompt.masked, prompt.masked) >= whole), None)


def _of_same_conversation(held: list[Entry], prompt: Prompt, best: Entry) -> Entry | None:
    """Of what the same upstream and model still hold, what shares most of what the best one does."""
    whole = common_depth(best.prompt.masked, prompt.masked)
    found, most = None, min(whole, prompt.head)
    for entry in held:
        depth = common_depth(entry.prompt.masked, prompt.masked)
        if depth > most or (depth == whole and found is None):
            found, most = entry, depth
    return found if prompt.offsets[most] >= prompt.offsets[whole] * _MUCH_LESS else None


def _best(row: Row, prompt: Prompt, route: tuple[str, str], not_before: float, at: float) -> Entry:
    depth, asked = _deepest(row.masked, prompt.masked), max(prompt.turn, 1)
    while depth > asked and prompt.exact[depth] not in row.exact:
        depth -= 1  # of a question only the very same one has come before
    if depth >= asked:  # only the newest turn differs: any holder will do
        holders = (row.exact.get(prompt.exact[depth]), row.masked[prompt.masked[depth]])
        known = [entry for entry in holders if entry is not None]
        return next((entry for entry in known if entry.lives(not_before, at)), known[0])
    siblings = _same_conversation(row, prompt, depth)
    ranks = [
        (
            common_depth(entry.prompt.masked, prompt.masked),
            common_depth(entry.prompt.exact, prompt.exact),
            _overlap(entry.prompt, prompt) if siblings else 0,
            _shared_chars(entry.prompt, prompt, depth),
            entry,
        )
        for entry in siblings or _candidates(row, prompt, depth)
    ]
    highest = max(rank[:-1] for rank in ranks)
    equal = [rank[-1] for rank in ranks if rank[:-1] == highest]
    if len(equal) > 1 and highest[0] < prompt.head:  # what differs may stand in another place
        same = [_same_instructions(entry.prompt, prompt) for entry in equal]
        equal = [entry for entry, count in zip(equal, same, strict=True) if count == max(same)]
    return max(
        equal, key=lambda entry: (entry.route == route, entry.lives(not_before, at), entry.received_at)
    )


def common_depth(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many leading segments two chains of keys share."""
    low, high = 0, min(len(one), len(other)) - 1
    while low < high:  # equal up to some depth, then never again
        middle = (low + high + 1) // 2
        if one[middle] == other[middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _deepest(index: dict[int, Entry], chain: tuple[int, ...]) -> int:
    """How many leading segments are known to an index."""
    for depth in range(len(chain) - 1, 0, -1):
        if chain[depth] in index:
            return depth
    return 0


def _same_conversation(row: Row, prompt: Prompt, depth: int) -> list[Entry]:
    """Requests with messages of this one's history, wherever they stand in them.

    The newest holder of each message is asked, and of the longest known prefix. One that shares much less
    than the best has only a greeting in common.
    """
    found: dict[str, Entry] = {}
    for index in _telling(prompt):
        entry = row.messages.get(hash(prompt.segments[index].text))
        if entry is not None:
            found[entry.id] = entry
    if not found:
        return []
    if depth > prompt.head:
        holder = row.masked[prompt.masked[depth]]
        found[holder.id] = holder
    overlaps = {name: _overlap(entry.prompt, prompt) for name, entry in found.items()}
    least = max(overlaps.values()) * _MUCH_LESS
    return [entry for name, entry in found.items() if overlaps[name] >= least]


def telling_keys(prompt: Prompt) -> list[int]:
    """The keys under which a row knows those messages of a prompt's history that are looked up."""
    return [hash(prompt.segments[index].text) for index in _telling(prompt)]


def _telling(prompt: Prompt) -> list[int]:
    """The messages that are looked up: the last ones before the newest turn and the first ones."""
    segments, end = prompt.segments, min(prompt.turn, len(prompt.segments))
    first = _some_telling(segments, range(prompt.head, end), _FIRST_MESSAGES)
    start = first[-1] + 1 if first else end
    return first + _some_telling(segments, range(end - 1, start - 1, -1), _NEAR_MESSAGES)[::-1]


def _some_telling(segments: Sequence[Segment], places: range, most: int) -> list[int]:
    """The first places with a message that says which conversation it is from."""
    return list(islice((at for at in places if len(segments[at].text) >= TRIVIAL_CHARS), most))


def _overlap(earlier: Prompt, later: Prompt) -> int:
    """How many messages of the later one's history stand in the earlier one."""
    known = set(earlier.keys[earlier.head :])
    return sum(key in known for key in later.keys[later.head : later.turn])


def _same_instructions(earlier: Prompt, later: Prompt) -> int:
    """How many of the later one's instructions and tools stand in the earlier one, wherever that is."""
    known = {segment.text for segment in earlier.segments[: earlier.head]}
    return sum(segment.text in known for segment in later.segments[: later.head])


def _candidates(row: Row, prompt: Prompt, depth: int) -> list[Entry]:
    """Recent requests that share the first ``depth`` segments, newest first, and the index's own."""
    key = prompt.masked[depth]
    found = [row.masked[key]] if depth else []
    for entry in reversed(row.entries):
        if len(found) >= _SCANNED:
            break
        masked = entry.prompt.masked
        if len(masked) > depth and masked[depth] == key:
            found.append(entry)
    return found


def _shared_chars(earlier: Prompt, later: Prompt, depth: int) -> int:
    if depth >= len(earlier.segments) or depth >= len(later.segments):
        return 0
    return common_prefix(earlier.segments[depth].text, later.segments[depth].text)
