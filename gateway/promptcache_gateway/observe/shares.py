"""Which of several causes lost how much: each what lies between it and the next.

A request that breaks at one place and again behind it would, were the first fault mended, be read up to the
second. So a cause answers for the prompt from where it stands to where the next one does, the last for all
that would have matched behind it, and the shares add up to the loss. What would have lost the whole prefix
anyway (an expiry, another upstream) answers for all of it, but for instructions that others keep alive.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from promptcache_gateway.observe.places import spot_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache_gateway.observe.comparison import Comparison
    from promptcache_gateway.observe.reason import Reason


def weigh_causes(
    comparison: Comparison, away: Sequence[str], causes: Sequence[str], *, kept: int = 0
) -> dict[str, int]:
    """Bytes of the request that each cause made new; a code that stands where another does has none.

    Args:
        comparison: the request against its predecessor.
        away: codes of what would have lost the whole prefix anyway; the first of them answers for all.
        causes: codes of what differs.
        kept: bytes that others would have kept alive, had nothing differed; of these the causes answer.
    """
    whole = comparison.kept_bytes
    end, alive = (min(kept, whole), comparison.living_bytes) if away else (whole, 0)
    if away and end <= alive:  # what others kept was read
        return {away[0]: whole, **dict.fromkeys((*away[1:], *causes), 0)}
    starts = {code: spot_of(comparison, code).start for code in causes}
    firsts: dict[int, str] = {}
    for code, start in starts.items():  # of two in one place the first counts
        firsts.setdefault(min(max(start, alive), end), code)
    weights = dict.fromkeys(starts, 0)
    for start, following in pairwise([*sorted(firsts), end]):
        weights[firsts[start]] = following - start
    return {**dict.fromkeys(away, 0), away[0]: whole - end, **weights} if away else weights


def split_loss(lost: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Tokens of a loss by cause, in whole numbers that add up to it; without any weight the first has all."""
    total = sum(weights.values())
    if not lost or not weights:
        return {}
    if not total:
        return {next(iter(weights)): lost}
    shares: dict[str, int] = {}
    done = given = 0
    for code, weight in weights.items():
        done += weight
        share = lost * done // total - given
        given += share
        if share:
            shares[code] = share
    return shares


def losses_by_cause(reasons: Sequence[Reason], lost: int) -> dict[str, int]:
    """The loss by cause: what is known apart, the rest with the first."""
    shares: dict[str, int] = {}
    left = lost
    for reason in reasons:
        share = min(left, reason.lost_tokens or 0)
        if share:
            shares[reason.code] = shares.get(reason.code, 0) + share
        left -= share
    if left and reasons:
        shares[reasons[0].code] = shares.get(reasons[0].code, 0) + left
    return shares
