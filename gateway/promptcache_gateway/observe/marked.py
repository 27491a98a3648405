"""How far a provider reads that caches only what is marked: up to a breakpoint of an earlier request.

An entry ends where an earlier request had a breakpoint, and is found from a breakpoint of the new one, at
most so many blocks behind it. Of an identical prefix beyond the last such entry nothing can be read, and
nobody is to blame for that. Whether a breakpoint is missing or stands wrong is the SDK's finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache.providers import LOOKBACK_BLOCKS

if TYPE_CHECKING:
    from promptcache_gateway.observe.history import Match
    from promptcache_gateway.observe.prompt import Prompt


def readable_segments(later: Prompt, match: Match | None) -> int:
    """Leading segments of a request that an entry known to be alive covers; 0 where none does."""
    if match is None or match.living is None:
        return 0
    shared = match.living_segments
    written = [at for at in _marks(match.living.prompt) if at < shared]
    sought = _marks(later)
    found = [at for at in written if any(0 <= mark - at < LOOKBACK_BLOCKS for mark in sought)]
    return max(found, default=-1) + 1


def _marks(prompt: Prompt) -> list[int]:
    return [at for at, segment in enumerate(prompt.segments) if segment.breakpoint is not None]
