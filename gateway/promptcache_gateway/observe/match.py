"""What history knows about a new request, as a plain value. How it is found is `history`'s business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache.quick_values import quick

if TYPE_CHECKING:
    from promptcache_gateway.observe.deploys import Deploy
    from promptcache_gateway.observe.extents import Extent
    from promptcache_gateway.observe.row import Entry


@quick
@dataclass(frozen=True, slots=True)
class Match:
    """What history knows about a new request.

    Attributes:
        predecessor: the best earlier request, None when there is none.
        living: the earlier request with the longest identical prefix that the same upstream and
            model should still hold, None when there is none.
        living_segments: how many leading segments it shares exactly.
        alive: the predecessor itself is inside its lifetime.
        pending: nothing that shares this prefix has begun to be answered yet.
        first: True when nothing was ever seen here, so that there is nothing to compare with.
        lengths: which of its prefixes are known in tokens: where they end in bytes, and how many tokens.
        gaps: some earlier request has been forgotten, or is another tenant's on the same route, and may have
            more in common with this one.
        shuffled: it has the examples of those before it, in another order each time.
        forked: it branches off from the predecessor's conversation, which it may have cut off as well.
        deploy: whether its instructions are the predecessor's, changed once.
        unsteady: a setting in which it differs from the predecessor is another one with nearly every request.
        head_alive: the predecessor has expired, and others keep its instructions alive but for values in it.
        driven: it goes to another upstream or model because the predecessor's did not answer.
        elsewhere: the match with another family's request that holds messages of this one's history, where no
            request of this family does; None where there is none.
        others: requests that it may continue as well, had its prefix not been written in two ways.
        in_turn: the predecessor is one of those.
    """

    predecessor: Entry | None
    living: Entry | None
    living_segments: int
    alive: bool
    pending: bool
    first: bool
    lengths: tuple[tuple[int, Extent], ...] = ()
    gaps: bool = False
    shuffled: bool = False
    forked: bool = False
    deploy: Deploy = "none"
    unsteady: bool = False
    head_alive: bool = False
    driven: bool = False
    elsewhere: Match | None = None
    others: tuple[Entry, ...] = ()
    in_turn: bool = False
