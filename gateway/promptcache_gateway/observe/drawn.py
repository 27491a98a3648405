"""Whether a request goes on from another, or was only put together from the same pieces.

Retrieved documents as messages of their own and examples drawn for every question recur between requests that
have nothing to do with each other, in another place and order. Nobody changed what had been sent: each was
sent once. A request that continues another holds what that one asked last, or asks it again. Messages that
stand before every question (`preamble`) were meant to be the same without that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_gateway.observe.likeness import stands_whole
from promptcache_gateway.observe.preamble import is_preamble_again
from promptcache_gateway.observe.resent import is_resent

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.masking import Masker
    from promptcache_gateway.observe.prompt import Prompt


def unless_drawn_anew(
    comparison: Comparison, masker: Masker, *, shuffled: bool = False, forked: bool = False
) -> Comparison:
    """The comparison; where only pieces recur behind the same instructions, nothing in it is broken.

    ``shuffled``: they are the same pieces each time, in another order (`shuffles`). ``forked``: it branches
    off from the conversation (`forks`).
    """
    earlier, later, depth = comparison.earlier, comparison.later, comparison.depth
    if not comparison.broken or depth < later.head or forked or goes_on(earlier, later, masker):
        return comparison
    if shuffled or (comparison.living_full is None and is_preamble_again(earlier, later, masker)):
        return comparison
    if is_resent(earlier, later, depth, masker):
        return comparison
    matching = min(comparison.shared_bytes, later.offsets[depth])
    return replace(comparison, broken=False, matching_bytes=matching, matching_full=None)


def goes_on(earlier: Prompt, later: Prompt, masker: Masker) -> bool:
    """Whether a request holds what another one asked last. A bare prompt has no turns, and may.

    Its own newest question is the same one only where it is so to the letter: many are asked in one form.
    """
    asked = earlier.segments[earlier.turn :]
    if not asked:
        return True
    known = {segment.text for segment in later.segments[later.head :]}
    if any(one.text in known for one in asked):
        return True
    history = later.segments[later.head : later.turn]
    if any(
        one.role == other.role and stands_whole(one.body, other.body) for one in asked for other in history
    ):
        return True
    places = range(earlier.turn, min(len(earlier.segments), later.turn))
    return any(_is_rendering(earlier.segments[at], later.segments[at], masker) for at in places)


def _is_rendering(one: Segment, other: Segment, masker: Masker) -> bool:
    """Whether a message in the same place is the same one with another value in it."""
    return (
        one.kind == other.kind and one.role == other.role and masker.key(one.text) == masker.key(other.text)
    )
