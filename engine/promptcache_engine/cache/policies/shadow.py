"""What plain LRU would have had: the yardstick the learned policy measures itself by."""

from collections import defaultdict

_GRAIN = 128

NEVER = -1
"""Stands for the epoch of what was never used."""


class LruShadow:
    """Tells whether an LRU cache of ``capacity`` pages would still have a page, from when it was used last.

    Time is cut into epochs of a 128th of the capacity in pages used. LRU has what was used in the youngest
    epochs that together hold no more than ``capacity`` different pages, ``oldest`` and those after it; so a
    count for each epoch is enough.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._grain = max(1, capacity // _GRAIN)
        self._used = 0
        self._counts: defaultdict[int, int] = defaultdict(int)
        self.oldest = 0
        self._resident = 0

    def has(self, epoch: int) -> bool:
        """Whether LRU has what was used last in ``epoch``."""
        return epoch >= self.oldest

    def use(self, pages: int, last: int) -> int:
        """``pages`` are used, for the first time after epoch ``last``; return the epoch now.

        What LRU has to let go for them goes when ``trim`` is called, once for all that a sequence uses.
        """
        self._used = used = self._used + pages
        now = used // self._grain
        if last >= self.oldest:
            self._counts[last] -= pages
        else:
            self._resident += pages
        self._counts[now] += pages
        return now

    def trim(self) -> None:
        """Let go of the oldest epochs, as far as LRU would have had to."""
        spare = self._resident - self._capacity
        if spare < 0:
            return
        counts, oldest, now = self._counts, self.oldest, self._used // self._grain
        while oldest < now:
            gone = counts.pop(oldest, 0)
            if gone > spare:
                counts[oldest] = gone
                break
            spare -= gone
            oldest += 1
        self.oldest, self._resident = oldest, self._capacity + spare
