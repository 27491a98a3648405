"""What plain LRU would have had: the yardstick the learned policy measures itself by."""

_GRAIN = 256


class LruShadow:
    """Tells whether an LRU cache of ``capacity`` pages would still have a page, from when it was used last.

    Time is cut into epochs of a 256th of the capacity in pages used. LRU has what was used in the youngest
    epochs that together hold no more than ``capacity`` different pages, ``oldest`` and those after it; so a
    count for each epoch is enough.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._grain = max(1, capacity // _GRAIN)
        self._used = 0
        self._counts: dict[int, int] = {}
        self.oldest = 0
        self._resident = 0

    def has(self, epoch: int) -> bool:
        """Whether LRU has what was used last in ``epoch``."""
        return epoch >= self.oldest

    def use(self, pages: int, last: int | None) -> int:
        """``pages`` are used, for the first time after epoch ``last``; return the epoch now."""
        self._used += pages
        now = self._used // self._grain
        counts, oldest = self._counts, self.oldest
        if last is not None and last >= oldest:
            counts[last] -= pages
        else:
            self._resident += pages
        counts[now] = counts.get(now, 0) + pages
        spare = self._resident - self._capacity
        if spare >= 0:
            while oldest < now and (gone := counts.get(oldest, 0)) <= spare:
                counts.pop(oldest, None)
                spare -= gone
                oldest += 1
            self.oldest, self._resident = oldest, self._capacity + spare
        return now
