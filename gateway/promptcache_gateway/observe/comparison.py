"""What it means that a request leaves its predecessor where it does.

A difference is the caller's fault only where both requests are meant to share what stands there:
in the tools and instructions of one template, or in the history of one conversation. A new question,
a new conversation and another prompt under the same name are none. The kind of the difference is
named by the SDK (`promptcache.divergence`); what it costs is `diagnosis`'s business.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from promptcache.divergence import Divergence, compare_segments
from promptcache.divergence.parameters import parameter_findings
from promptcache.divergence.same_message import result_shape
from promptcache.quick_values import quick
from promptcache_gateway.observe.apis import are_of_two_apis
from promptcache_gateway.observe.edits import (
    broke_off,
    bytes_of,
    ends_anew,
    had_it_been_equal,
    is_behind_value,
    kept_until,
    stands_in_head,
)
from promptcache_gateway.observe.likeness import (
    SAID_CHARS,
    SIMILAR,
    TRIVIAL_CHARS,
    is_edit,
    is_rendering,
    is_reworded,
    is_same_picture,
    kept_behind,
    standing_behind,
    stands_whole,
)
from promptcache_gateway.observe.lookup import common_depth
from promptcache_gateway.observe.pieces import byte_length
from promptcache_gateway.observe.preamble import is_preamble_again
from promptcache_gateway.observe.resent import is_resent
from promptcache_gateway.observe.texts import common_prefix

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.history import Entry, Match
    from promptcache_gateway.observe.masking import Masker
    from promptcache_gateway.observe.prompt import Prompt

_CANNED_CHARS = 160  # shorter answers recur because the assistant was told to say them
_SMALL_EDIT_BYTES = 64  # a longer one makes the two requests differ in tokens, too
_SHARED_CHARS = 8  # fewer leading characters than this are shared by chance


@quick
@dataclass(frozen=True)
class Comparison:
    """A request against its predecessor. All lengths are bytes of the later request.

    Attributes:
        earlier: the predecessor.
        later: the request.
        depth: how many leading segments are the same.
        broken: something diverges before the newest user turn that both were meant to share.
        shares_nothing: they begin differently; comparing them further says nothing.
        shared_bytes: identical prefix with the predecessor, to the character.
        matching_bytes: what of the predecessor would have matched had the differing spans been equal;
            the request's newest user turn is new and counts for nothing.
        matching_full: the predecessor, where all of it would have matched had the differing spans been equal:
            its own length in tokens is then the exact count.
        living_bytes: identical prefix with what the same upstream and model should still hold.
        living_full: an earlier request is a prefix of this one as a whole: its length in tokens is
            then what can be read. None where no such request is known.
        other_api: they came through two APIs, and how they differ says nothing of what an upstream was sent.
    """

    earlier: Prompt
    later: Prompt
    depth: int
    broken: bool
    shares_nothing: bool
    shared_bytes: int
    matching_bytes: int
    matching_full: Entry | None
    living_bytes: int
    living_full: Entry | None
    other_api: bool = False

    @cached_property
    def found(self) -> dict[Any, Any]:
        """What has been found out of it, by who found it."""
        return {}

    @cached_property
    def divergence(self) -> Divergence:
        """The SDK's account of the difference; made when it is asked for, which a hit never does."""
        earlier, later = self.earlier, self.later
        return compare_segments(
            earlier.segments, later.segments, earlier_body=earlier.parameters, later_body=later.parameters
        )

    @cached_property
    def changed_settings(self) -> tuple[str, ...]:
        """Those of the divergence's causes that stand in settings and cache keys; mostly there are none."""
        before, after = self.earlier.parameters, self.later.parameters
        if before == after or not before or not after:
            return ()
        return tuple(dict.fromkeys(found.code for found in parameter_findings(before, after)))

    @cached_property
    def kept_bytes(self) -> int:
        """Bytes up to where anything could have been read, had nothing differed."""
        return max(self.shared_bytes, kept_until(self.earlier, self.later))

    @cached_property
    def breaks_off(self) -> bool:
        """Whether they part at a value in the instructions, behind which most of them stands in both."""
        at = self.depth
        if not at < min(self.earlier.head, self.later.head):
            return False
        return is_behind_value(self.earlier.segments[at], self.later.segments[at])

    @cached_property
    def same_conversation(self) -> bool:
        """Whether they share messages, not only instructions."""
        return _shares_messages(self.earlier, self.later, self.depth)


def compare(
    later: Prompt, match: Match, route: tuple[str, str], masker: Masker, *, compacted: bool = False
) -> Comparison | None:
    """Compare a request with what history found; None where there is nothing to compare with.

    ``compacted``: it sums the other up, and so was meant to share all of it.
    """
    predecessor = match.predecessor
    if predecessor is None:
        return None
    earlier = predecessor.prompt
    at = _depth(earlier, later, match)
    shared = later.offsets[at] + _partial(earlier, later, at)
    other_api = at == 0 and not compacted and are_of_two_apis(earlier, later)
    nothing = not (compacted or other_api) and at == 0 and not _begins_alike(earlier, later, masker)
    broken = compacted or (
        not (nothing or other_api)
        and at < min(later.turn, len(earlier.segments))
        and _is_meant(earlier, later, at, masker)
    )
    living = shared if match.alive and predecessor.route == route else 0
    if match.living is predecessor and match.living_segments == at:
        living = shared
    elif match.living is not None:
        depth = match.living_segments
        living = max(living, later.offsets[depth] + _partial(match.living.prompt, later, depth))
    return Comparison(
        earlier=earlier,
        later=later,
        depth=at,
        broken=broken,
        shares_nothing=nothing,
        shared_bytes=shared,
        matching_bytes=_matching(earlier, later, at, masker) if broken else min(shared, later.offsets[at]),
        matching_full=predecessor if broken and _is_bridged(earlier, later, at, masker) else None,
        living_bytes=living,
        living_full=_whole_prefix(match),
        other_api=other_api,
    )


def _depth(earlier: Prompt, later: Prompt, match: Match) -> int:
    """How many leading segments are the same; most often history has found out."""
    at = match.living_segments
    if match.living is match.predecessor and earlier.exact[at + 1 : at + 2] != later.exact[at + 1 : at + 2]:
        return at
    return common_depth(earlier.exact, later.exact)


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
    if common_prefix(one.text, other.text) - role >= _SHARED_CHARS or is_edit(one, other, masker):
        return True
    if later.head and (standing_behind(one, other) or is_behind_value(one, other)):
        return True
    return _realigns(earlier, later, 0, 0) or stands_in_head(earlier, later, 0, masker)


def _is_meant(earlier: Prompt, later: Prompt, at: int, masker: Masker) -> bool:
    """Whether the first differing segments were meant to be the same, or the history to be kept.

    Two conversations may begin with questions that resemble each other, so among messages likeness is
    not enough: something behind must stand on both sides, or nothing stood behind yet.
    """
    if _realigns(earlier, later, at, at):
        return True
    one, other = earlier.segments[at], later.segments[at]
    if one.path.startswith("prompt"):
        return kept_behind(one.text, other.text) > 0
    if at < max(earlier.head, later.head):
        if stands_in_head(earlier, later, at, masker):
            return True
        if ends_anew(earlier, later, at):
            return False
        return is_edit(one, other, masker) or standing_behind(one, other) > 0 or broke_off(one, other)
    if at == len(earlier.segments) - 1 and is_rendering(one, other, masker):
        return True
    if one.role == other.role and result_shape(one.body, other.body):
        return True
    return (
        is_same_picture(one, other)
        or _is_replay(earlier, later, at, masker)
        or is_preamble_again(earlier, later, masker)
        or is_resent(earlier, later, at, masker)
    )


def _is_replay(earlier: Prompt, later: Prompt, at: int, masker: Masker) -> bool:
    """Whether a history is an earlier one again, with the same answers and a user's words edited.

    However short the messages are. Two conversations may get the same canned answers; so what the user
    said must be the same somewhere behind the difference, or stand whole in what is sent now.
    """
    end = min(len(earlier.segments), later.turn)
    pairs = list(zip(earlier.segments[at:end], later.segments[at:end], strict=True))
    answers = [(one, other) for one, other in pairs if one.role == "assistant"]
    if not answers or any(one.role != other.role for one, other in pairs):
        return False
    edited = [(one, other) for one, other in pairs if one.text != other.text]
    if any(one.role != "user" or not is_reworded(one.body, other.body, masker) for one, other in edited):
        return False
    same = any(
        one.text == other.text and len(one.body) >= SAID_CHARS for one, other in pairs if one.role == "user"
    )
    return same or all(stands_whole(one.body, other.body) for one, other in edited)


def _realigns(earlier: Prompt, later: Prompt, before: int, at: int) -> bool:
    """Whether texts from segments ``before`` and ``at`` on stand on both sides: trimmed, moved, reordered.

    Half of what could recur must, and not only short answers: assistants greet everyone alike.
    """
    end = max(later.turn, at)
    behind = set(earlier.keys[before:])
    recurring = [index for index in range(at, end) if later.keys[index] in behind]
    telling = any(_tells(later.segments[index]) for index in recurring)
    size = sum(later.offsets[index + 1] - later.offsets[index] for index in recurring)
    whole = min(earlier.total_bytes - earlier.offsets[before], later.offsets[end] - later.offsets[at])
    return telling and size >= whole * SIMILAR


def _tells(segment: Segment) -> bool:
    """Whether a text that stands in two requests shows that one continues the other."""
    least = _CANNED_CHARS if segment.role == "assistant" else TRIVIAL_CHARS
    return len(segment.text) >= least


def _shares_messages(earlier: Prompt, later: Prompt, at: int) -> bool:
    return at > later.head or _realigns(earlier, later, max(at, earlier.head), max(at, later.head))


def _matching(earlier: Prompt, later: Prompt, at: int, masker: Masker) -> int:
    """Bytes before the newest turn that the earlier request has too, edited spans counted as equal."""
    budget = Counter(earlier.keys)
    total = 0
    for index in range(min(later.turn, len(later.segments))):
        key = later.keys[index]
        if budget[key] > 0:
            budget[key] -= 1
            total += bytes_of(later, index)
        elif index >= at:
            total += had_it_been_equal(earlier, later, index, masker)
    return total


def _is_bridged(earlier: Prompt, later: Prompt, at: int, masker: Masker) -> bool:
    """Whether all of the earlier one stands before the newest turn, but for values or small edits."""
    whole = len(earlier.segments)
    if not earlier.turn < whole <= later.turn:
        return False
    if earlier.masked[whole] == later.masked[whole]:
        return True
    if earlier.head != later.head or abs(earlier.offsets[whole] - later.offsets[whole]) > _SMALL_EDIT_BYTES:
        return False
    return all(
        earlier.keys[index] == later.keys[index]
        or had_it_been_equal(earlier, later, index, masker)
        >= byte_length(min(earlier.segments[index].text, later.segments[index].text, key=len))
        for index in range(at, whole)
    )


def _whole_prefix(match: Match) -> Entry | None:
    living = match.living
    if living is not None and match.living_segments == len(living.prompt.segments):
        return living
    return None
