"""What it means that a request leaves its predecessor where it does.

A difference is the caller's fault only where both requests are meant to share what stands there:
in the tools and instructions of one template, or in the history of one conversation. A new question,
a new conversation and another prompt under the same name are none. The kind of the difference is
named by the SDK (`promptcache.divergence`); what it costs is `diagnosis`'s business.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache.divergence import Divergence, compare_segments
from promptcache_gateway.observe.prompt import Prompt, byte_length
from promptcache_gateway.observe.texts import common_prefix, common_suffix

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.history import Entry, Match
    from promptcache_gateway.observe.masking import Masker

_SIMILAR = 0.5  # share of a text that must stand on both sides for it to count as the same text, edited
_TRIVIAL_CHARS = 24  # shorter messages recur by chance
_CANNED_CHARS = 160  # shorter answers recur because the assistant was told to say them
_SHARED_CHARS = 8  # fewer leading characters than this are shared by chance


@dataclass(frozen=True, slots=True)
class Comparison:
    """A request against its predecessor. All lengths are bytes of the later request.

    Attributes:
        divergence: the SDK's account of the difference.
        broken: something diverges before the newest user turn that both were meant to share.
        same_conversation: they share messages, not only instructions.
        shares_nothing: they begin differently; comparing them further says nothing.
        shared_bytes: identical prefix with the predecessor, to the character.
        matching_bytes: what of the predecessor would have matched had the differing spans been equal;
            the request's newest user turn is new and counts for nothing.
        living_bytes: identical prefix with what the same upstream and model should still hold.
        living_full: an earlier request is a prefix of this one as a whole: its length in tokens is
            then what can be read. None where no such request is known.
    """

    divergence: Divergence
    broken: bool
    same_conversation: bool
    shares_nothing: bool
    shared_bytes: int
    matching_bytes: int
    living_bytes: int
    living_full: Entry | None


def compare(later: Prompt, match: Match, route: tuple[str, str], masker: Masker) -> Comparison | None:
    """Compare a request with what history found; None where there is nothing to compare with."""
    predecessor = match.predecessor
    if predecessor is None:
        return None
    earlier = predecessor.prompt
    at = _shared_segments(earlier, later)
    shared = later.offsets[at] + _partial(earlier, later, at)
    nothing = at == 0 and not _begins_alike(earlier, later, masker)
    broken = (
        not nothing and at < min(later.turn, len(earlier.segments)) and _is_meant(earlier, later, at, masker)
    )
    living = shared if match.alive and predecessor.route == route else 0
    if match.living is not None:
        depth = match.living_segments
        living = max(living, later.offsets[depth] + _partial(match.living.prompt, later, depth))
    return Comparison(
        divergence=compare_segments(
            earlier.segments, later.segments, earlier_body=earlier.parameters, later_body=later.parameters
        ),
        broken=broken,
        same_conversation=_shares_messages(earlier, later, at),
        shares_nothing=nothing,
        shared_bytes=shared,
        matching_bytes=_matching(earlier, later, at, masker) if broken else min(shared, later.offsets[at]),
        living_bytes=living,
        living_full=_whole_prefix(match),
    )


def _shared_segments(earlier: Prompt, later: Prompt) -> int:
    low, high = 0, min(len(earlier.segments), len(later.segments))
    while low < high:  # chained keys: equal up to some depth, then never again
        middle = (low + high + 1) // 2
        if earlier.exact[middle] == later.exact[middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _partial(earlier: Prompt, later: Prompt, at: int) -> int:
    """Bytes that the first differing segments share at their beginning."""
    if at >= len(earlier.segments) or at >= len(later.segments):
        return 0
    one, other = earlier.segments[at].text, later.segments[at].text
    return byte_length(other[: common_prefix(one, other)])


def _begins_alike(earlier: Prompt, later: Prompt, masker: Masker) -> bool:
    if not earlier.segments or not later.segments:
        return False
    one, other = earlier.segments[0], later.segments[0]
    role = len(other.role) + 1 if other.kind == "message" else 0
    if common_prefix(one.text, other.text) - role >= _SHARED_CHARS or _is_edit(one, other, masker):
        return True
    return _realigns(earlier, later, 0)


def _is_meant(earlier: Prompt, later: Prompt, at: int, masker: Masker) -> bool:
    """Whether the first differing segments were meant to be the same, or the history to be kept.

    Two conversations may begin with questions that resemble each other, so among messages likeness is
    not enough: something behind must stand on both sides, or nothing stood behind yet.
    """
    if _realigns(earlier, later, at):
        return True
    one, other = earlier.segments[at], later.segments[at]
    if at < max(earlier.head, later.head) or one.path.startswith("prompt"):
        return _is_edit(one, other, masker)
    return at == len(earlier.segments) - 1 and _is_rendering(one, other, masker)


def _is_edit(one: Segment, other: Segment, masker: Masker) -> bool:
    """Whether one text is the other, edited: mostly the same once volatile values are masked."""
    if one.kind != other.kind or one.role != other.role:
        return False
    if masker.key(one.text) == masker.key(other.text):
        return True
    longest = max(len(one.text), len(other.text))
    same = common_prefix(one.text, other.text)
    same += common_suffix(one.text, other.text, limit=min(len(one.text), len(other.text)) - same)
    if same >= longest * _SIMILAR and same >= _TRIVIAL_CHARS:
        return True
    pieces, others = Counter(masker.digests(one.text)), Counter(masker.digests(other.text))
    return len(pieces) > 1 and (pieces & others).total() >= max(pieces.total(), others.total()) * _SIMILAR


def _is_rendering(one: Segment, other: Segment, masker: Masker) -> bool:
    """Whether a message is an earlier one again, with a volatile value or a note of ours changed."""
    if one.role != other.role or min(len(one.text), len(other.text)) < _TRIVIAL_CHARS:
        return False
    if masker.key(one.text) == masker.key(other.text):
        return True
    return one.text.startswith(other.text) or other.text.startswith(one.text)


def _realigns(earlier: Prompt, later: Prompt, at: int) -> bool:
    """Whether texts from behind the difference stand on both sides: trimmed, moved, inserted, reordered.

    Half of what could recur must, and not only short answers: assistants greet everyone alike.
    """
    end = max(later.turn, at)
    behind = set(earlier.keys[at:])
    recurring = [index for index in range(at, end) if later.keys[index] in behind]
    telling = any(_tells(later.segments[index]) for index in recurring)
    size = sum(later.offsets[index + 1] - later.offsets[index] for index in recurring)
    whole = min(earlier.total_bytes - earlier.offsets[at], later.offsets[end] - later.offsets[at])
    return telling and size >= whole * _SIMILAR


def _tells(segment: Segment) -> bool:
    """Whether a text that stands in two requests shows that one continues the other."""
    least = _CANNED_CHARS if segment.role == "assistant" else _TRIVIAL_CHARS
    return len(segment.text) >= least


def _shares_messages(earlier: Prompt, later: Prompt, at: int) -> bool:
    return at > later.head or _realigns(earlier, later, max(at, later.head))


def _matching(earlier: Prompt, later: Prompt, at: int, masker: Masker) -> int:
    budget = Counter(earlier.keys)
    total = 0
    for index in range(min(later.turn, len(later.segments))):
        key = later.keys[index]
        if budget[key] > 0:
            budget[key] -= 1
            total += later.offsets[index + 1] - later.offsets[index]
        elif (
            index == at
            and at < len(earlier.segments)
            and _is_edit(earlier.segments[at], later.segments[at], masker)
        ):
            total += _kept_of(earlier.segments[at].text, later.segments[at].text)
    return total


def _kept_of(earlier: str, later: str) -> int:
    start = common_prefix(earlier, later)
    end = common_suffix(earlier, later, limit=min(len(earlier), len(later)) - start)
    return byte_length(later[:start]) + byte_length(later[len(later) - end :])


def _whole_prefix(match: Match) -> Entry | None:
    living = match.living
    if living is not None and match.living_segments == len(living.prompt.segments):
        return living
    return None
