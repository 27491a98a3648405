"""Whether a request's prefix is written in two ways in turn: by two programs, or from one turn to the next.

Each way has an entry of its own in the cache. So a conversation that goes to and fro finds its last but one,
and what was said since is computed again each time; and where both have expired, both are written anew. What
was sent in the other form is what the request would have continued then, had there been but one. Which
requests may be that is `lookup`'s finding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_gateway.observe.comparison import compare
from promptcache_gateway.observe.marked import is_marked_behind

if TYPE_CHECKING:
    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.history import Match
    from promptcache_gateway.observe.masking import Masker
    from promptcache_gateway.observe.prompt import Prompt

_FORM_ONLY = frozenset({"PC201", "PC202", "PC203", "PC204", "PC205", "PC206", "PC301"})
"""The same said in another way; whoever says something else may well have another prompt."""


def in_another_form(
    comparison: Comparison, match: Match, route: tuple[str, str], masker: Masker, *, marked_only: bool
) -> tuple[Match, Comparison]:
    """The match and the comparison to go by: with the other form, where that left more than is alive.

    Another conversation's request is one only where it says the same, written otherwise. ``marked_only``:
    only what ends at a breakpoint is kept.
    """
    if comparison.broken:
        return match, comparison
    for other in match.others:
        own = replace(
            match, predecessor=other, alive=True, shuffled=False, deploy="switched", others=(), in_turn=True
        )
        found = compare(comparison.later, own, route, masker)
        if found is None or not found.broken or found.matching_bytes <= found.living_bytes:
            continue
        if marked_only and not is_marked_behind(found):
            continue  # nothing was kept behind where they part
        codes = found.divergence.causes
        if codes and (_is_continued(other.prompt, comparison.later) or _FORM_ONLY.issuperset(codes)):
            return own, found
    return match, comparison


def _is_continued(earlier: Prompt, later: Prompt) -> bool:
    """Whether what a request ended with stands in the other one's history."""
    return earlier.keys[-1] in later.keys[later.head : later.turn]
