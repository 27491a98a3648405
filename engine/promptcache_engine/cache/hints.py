"""What a caller knows of a request that its tokens do not say; every hint is optional and only advice."""

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
    Raises CacheConfigError for a turn below 1 or a negative time.
    """

    template: str = ""
    turn: int | None = None
    after_tool_call: bool = False
    priority: int = 0
    keep_seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.turn is not None and self.turn < 1:
            raise CacheConfigError("turn", self.turn, "The first turn is 1; use None where it is unknown.")
        if not self.keep_seconds >= 0:
            raise CacheConfigError("keep_seconds", self.keep_seconds, "Use 0 for no longer than others.")


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
