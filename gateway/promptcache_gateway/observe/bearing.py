"""What is known of one place of a prompt before the whole has been counted.

How that is found out is `bearings`' business.
"""

from __future__ import annotations

import math

from promptcache_gateway.observe.extents import OPENING_TOKENS

Bounds = tuple[float, float]
"""At least and at most so many tokens."""


class Bearing:
    """One place. What its length in tokens is follows from a count of the whole.

    Attributes:
        settled: its bounds, where no count changes them; else None.
        near: what the nearest places in front of it and behind say, which are known.
        after: tokens from the place that is told up to it, where no other stands in between; else None.
        ahead: tokens from it up to the place that is told, where no other stands in between; else None.
        rest: bounds of what stands behind it, to be taken from the whole; None: nothing can be.
        others: what other requests and the text itself say; None: nobody has asked yet.
        missing: tokens up to where an earlier request to another model ended, at most.
        known: tokens before the nearest place in front of it of which they are known; None: that is told.
        usual: tokens from there on, by what such text has as a rule; None: nobody has asked yet.
        share: the share that these are of all that is not known, by the same.
        trust: how much of a stretch of that share the whole says.
    """

    __slots__ = (
        "after",
        "ahead",
        "known",
        "missing",
        "near",
        "others",
        "rest",
        "settled",
        "share",
        "trust",
        "usual",
    )
    known: float | None

    def __init__(self) -> None:
        self.settled: Bounds | None = None
        self.near: Bounds = (0.0, math.inf)
        self.after: Bounds | None = None
        self.ahead: Bounds | None = None
        self.rest: Bounds | None = None
        self.others: list[Bounds] | None = None
        self.missing = 0.0
        self.known, self.share, self.trust = 0.0, 0.0, 0.0
        self.usual: float | None = None

    def nearest(self, told: int) -> Bounds:
        """What the nearest places say, one of which is told to have so many tokens before it."""
        if self.after is not None:
            few, many = self.after
            few, many = told + few, told + many
            return (few, many) if many - few <= OPENING_TOKENS else within(few, many, *self.near)
        assert self.ahead is not None
        few, many = self.ahead
        return within(*self.near, max(0.0, told - many), max(0.0, told - few))


def charge(usual: float, share: float, trust: float, left: float) -> float:
    """Tokens of a stretch that may be charged, where so many are left for it and what stands behind it.

    As many as that kind of text has as a rule, and no more than its share of what is left; where it is nearly
    all that is left, its share.
    """
    shared = min(share, 1.0) * max(left, 0.0)
    return min(shared, trust * shared + (1.0 - trust) * usual)


def within(least: float, most: float, few: float, many: float) -> Bounds:
    """`Extent.within` of plain bounds."""
    low, high = max(least, few), min(most, many)
    if low <= high:
        return low, high
    return min(least, few), max(most, many)
