"""How likely pages of each class are to be used again, learned from what happened to earlier ones.

A page's life starts at each use and ends at the next. The statistics are a life table: how many pages of a
class reached an age, and how many were used again there. Where a class has seen little, it borrows from all
classes together. Knows nothing of trees; times are seconds of whatever clock the caller has.
"""

import math
from bisect import bisect_right
from collections import defaultdict

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_BINS = 34
_SLOTS = 96
_AT_ONCE = 8  # classes; more would leave the processor's cache

EDGES: tuple[float, ...] = (0.0, *(2.0 ** (half / 2) for half in range(_BINS - 1)))
"""Where each bin of ages begins, in seconds: below one second, then half an octave each, up to 18 hours."""

LATER_EDGES = EDGES[1:]
"""Where each bin but the first begins: ``bisect_right`` among them is the bin of an age."""

NOTHING = (0.0,) * _BINS
"""What a page of a class that nothing is known of is worth, by age."""

_EDGES = np.array(EDGES)
_WIDTHS = np.append(np.diff(_EDGES), _EDGES[-1])
_PAST = np.where(np.tri(_BINS, k=-1) > 0, np.inf, 0.0)  # a page cannot be held to an earlier bin
_NO_TIME = 1e-300  # seconds; stands for none where one divides


def age_bin(age: float) -> int:
    """Return the bin ``age`` seconds fall into."""
    return bisect_right(LATER_EDGES, age)


class LifeTable:
    """Starts and reuses of pages by class.

    ``slot``: seconds within which starts are not told apart; what is long past is told apart less finely
    still, so that the table does not grow with time.
    """

    def __init__(self, slot: float = 10.0) -> None:
        self._slot = slot
        self._starts: defaultdict[int, defaultdict[float, float]] = defaultdict(_no_starts)
        self._reuses: defaultdict[int, list[float]] = defaultdict(_no_reuses)

    def start(self, kind: int, now: float, pages: int) -> None:
        """``pages`` of class ``kind`` were used and may be used again."""
        self._starts[kind][now // self._slot * self._slot] += pages

    def reuse(self, kind: int, age: float, pages: int) -> None:
        """``pages`` of class ``kind`` were used again ``age`` seconds after their last use."""
        self._reuses[kind][bisect_right(LATER_EDGES, age)] += pages

    def worth(self, now: float, weight: float) -> dict[int, list[float]]:
        """Return for each class and age what keeping a page is worth: the best chance of a reuse per second
        held, over all times one might hold it.

        Never rises with age, so that within a class the oldest page is worth least. ``weight``: pages of
        its own a class needs to count as much as all classes together.
        """
        kinds = list(self._starts)
        if not kinds:
            return {}
        reuses = np.array([self._reuses[kind] for kind in kinds])
        at_risk = self._at_risk(kinds, reuses, now)
        hazards = _hazards(reuses, at_risk, weight)
        parts = [_gittins(hazards[at : at + _AT_ONCE]) for at in range(0, len(kinds), _AT_ONCE)]
        indices = [row for part in parts for row in part.tolist()]
        return dict(zip(kinds, indices, strict=True))

    def _at_risk(self, kinds: list[int], reuses: Array, now: float) -> Array:
        """How many pages of each class reached each age unused."""
        at_risk, since = np.empty_like(reuses), now - _EDGES
        for row, kind in enumerate(kinds):
            starts = self._starts[kind]
            if len(starts) > _SLOTS:
                starts = self._starts[kind] = _thinned(starts, now, self._slot)
            times = np.array(sorted(starts))
            totals = np.zeros(len(times) + 1)
            np.cumsum([starts[time] for time in times.tolist()], out=totals[1:])
            at_risk[row] = totals[np.searchsorted(times, since, side="right")]
        younger = np.cumsum(reuses, axis=1) - reuses
        return np.maximum(at_risk - younger, reuses)

    def clear(self) -> None:
        """Forget everything."""
        self._starts.clear()
        self._reuses.clear()


def _no_starts() -> defaultdict[float, float]:
    return defaultdict(float)


def _no_reuses() -> list[float]:
    return [0.0] * _BINS


def _thinned(starts: dict[float, float], now: float, slot: float) -> defaultdict[float, float]:
    """Merge the starts of long ago into wider slots, of up to a sixteenth of their age.

    Widths are powers of two times ``slot``, so that slots nest and merging again moves nothing further.
    """
    merged = _no_starts()
    for time, pages in starts.items():
        width = slot * 2.0 ** max(0, int(math.log2(max((now - time) / (16 * slot), 1.0))))
        at = time // width * width
        merged[at] += pages
    return merged


def _hazards(reuses: Array, at_risk: Array, weight: float) -> Array:
    """The chance that a page of each class that reached each bin is used again within it."""
    all_reuses, all_at_risk = reuses.sum(axis=0), at_risk.sum(axis=0)
    pooled = np.empty(len(all_reuses))
    before = 0.0
    for i, (used, reached) in enumerate(zip(all_reuses.tolist(), all_at_risk.tolist(), strict=True)):
        before = pooled[i] = (used + weight * before) / (reached + weight)
    expected = at_risk @ pooled
    liveliness = np.divide(reuses.sum(axis=1), expected, out=np.ones(len(expected)), where=expected > 0)
    hazards: Array = (reuses + weight * liveliness[:, None] * pooled) / (at_risk + weight)
    return np.clip(hazards, 0.0, 1.0)


def _gittins(hazards: Array) -> Array:
    """For each class and bin: max over horizons of P(reuse) / E[time held], made non-increasing in age."""
    alive = np.cumprod(1 - hazards, axis=1)
    start = np.concatenate([np.ones((len(hazards), 1)), alive[:, :-1]], axis=1)
    held = np.cumsum(start * _WIDTHS * (1 - hazards / 2), axis=1)
    held_before = np.concatenate([np.zeros((len(hazards), 1)), held[:, :-1]], axis=1)
    gain = start[:, :, None] - alive[:, None, :]  # class, bin a page is in, bin one holds it to
    cost = held[:, None, :] - held_before[:, :, None] + _PAST
    index = (gain / np.maximum(cost, _NO_TIME)).max(axis=2)
    falling: Array = np.minimum.accumulate(index, axis=1)
    return falling
