"""What a caller knows of a request that its tokens do not say; every hint is optional and only advice."""

import sys
from dataclasses import dataclass
from typing import NamedTuple

from promptcache_engine.cache.errors import CacheConfigError


@dataclass(frozen=True, slots=True)
class Hints:
    """Advice for the eviction policy; what a policy does not use it ignores.

    ``template``: the template the prompt was made from. ``turn``: which turn of its conversation this is,
    from 1; None lets the cache find out from where earlier sequences ended. ``after_tool_call``: the turn
    before ended in a tool call, so that the next one comes from a machine and soon. ``priority``: higher
    stays longer (policy ``priority``). ``keep_seconds``: keep the pages that long after their last use
    (policy ``ttl``).
    Raises CacheConfigError for a turn below 1, a negative time, and what is not of its field's type.
    """

    template: str = ""
    turn: int | None = None
    after_tool_call: bool = False
    priority: int = 0
    keep_seconds: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.template, str):
            raise CacheConfigError("template", self.template, "Name it by a text.")
        if self.turn is not None and not (_is_whole(self.turn) and self.turn >= 1):
            raise CacheConfigError("turn", self.turn, "The first turn is 1; use None where it is unknown.")
        if not _is_whole(self.priority):
            raise CacheConfigError("priority", self.priority, "Use a whole number; higher stays longer.")
        seconds = self.keep_seconds
        if not _is_duration(seconds):
            raise CacheConfigError("keep_seconds", seconds, "Use 0 for no longer than others.")


def _is_duration(value: object) -> bool:
    """Whether it is 0 or more seconds, and no whole number larger than a float can hold."""
    if isinstance(value, float):
        return value >= 0
    return isinstance(value, int) and _is_whole(value) and 0 <= value <= sys.float_info.max


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


NO_HINTS = Hints()


class Use(NamedTuple):
    """One sequence's way through the tree, as a policy sees it.

    ``new_tokens``: those the cache did not know. ``hit_pages``: whole pages it reused, of ``most_pages`` that
    it could have.
    """

    turn: int
    new_tokens: int
    hit_pages: int
    most_pages: int
    hints: Hints
