"""What plain LRU would have had: the yardstick the learned policy measures itself by."""

_GRAIN = 256


class LruShadow:
    """Tells whether an LRU cache of ``capacity`` pages would still have a page, from when it was used last.

    Time is cut into epochs of a 256th of the capacity in pages used. LRU has what was used in the youngest
    epochs that together hold no more than ``capacity`` different pages; so a count for each epoch is enough.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._grain = max(1, capacity // _GRAIN)
        self._used = 0
        self._counts: dict[int, int] = {}
        self._oldest = 0
        self._resident = 0

    @property
    def oldest(self) -> int:
        """The oldest epoch LRU still has."""
        return self._oldest

    def has(self, epoch: int) -> bool:
        """Whether LRU has what was used last in ``epoch``."""
        return epoch >= self._oldest

    def use(self, pages: int, last: int | None) -> int:
        """``pages`` are used, for the first time after epoch ``last``; return the epoch now."""
        self._used += pages
        now = self._used // self._grain
        counts = self._counts
        if last is not None and last >= self._oldest:
            counts[last] -= pages
            self._resident -= pages
        counts[now] = counts.get(now, 0) + pages
        self._resident += pages
        while self._oldest < now and self._resident - counts.get(self._oldest, 0) >= self._capacity:
            self._resident -= counts.pop(self._oldest, 0)
            self._oldest += 1
        return now
