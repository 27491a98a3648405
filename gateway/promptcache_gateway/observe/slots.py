"""A bounded number of names in use: when all are taken, the one that has been idle for longest gives way.

Only after a day without a request, so that neither a burst of names nor a quiet night moves one out. A name
that has been used but once is on trial: after an hour it gives way too, to a few new ones an hour, so that
names that never recur keep nobody out for a day.
"""

from __future__ import annotations

from collections import OrderedDict, deque

IDLE_S = 86_400.0
TRIAL_S = 3_600.0
_EARLY = 32  # names that give way within an hour


class Slots:
    """Names in the order of their last use; times are Unix seconds.

    Args:
        most: how many there may be.
        idle_s: seconds without use after which a name may give way.
    """

    def __init__(self, most: int, idle_s: float = IDLE_S) -> None:
        self._most = most
        self._idle_s = idle_s
        self._used: OrderedDict[str, float] = OrderedDict()
        self._trial: OrderedDict[str, int] = OrderedDict()
        self._early: deque[float] = deque(maxlen=_EARLY)

    def __contains__(self, name: str) -> bool:
        return name in self._used

    def __len__(self) -> int:
        return len(self._used)

    def add(self, name: str, now: float, *, settled: bool = False) -> None:
        """Take a name in for which there is room; one that is not ``settled`` is on trial."""
        self._used[name] = now
        self._used.move_to_end(name)
        if not settled:
            self._trial[name] = 0

    def use(self, name: str, now: float) -> None:
        """Note that a name is used; one that is new has room, `make_room` has said."""
        self._used[name] = now
        self._used.move_to_end(name)
        uses = self._trial.pop(name, None)
        if uses == 0:
            self._trial[name] = 1

    def make_room(self, now: float) -> tuple[bool, str | None]:
        """Whether a new name has room, and the name that had to give way for it."""
        if len(self._used) < self._most:
            return True, None
        oldest = next(iter(self._used), None)
        if oldest is None:
            return False, None
        if now - self._used[oldest] < self._idle_s:
            oldest = self._failed_trial(now)
            if oldest is None:
                return False, None
            self._early.append(now)
        del self._used[oldest]
        self._trial.pop(oldest, None)
        return True, oldest

    def _failed_trial(self, now: float) -> str | None:
        """The name on trial that has been idle for longest, if it was for long enough; None too often."""
        if len(self._early) == _EARLY and now - self._early[0] < TRIAL_S:
            return None
        name = next(iter(self._trial), None)
        return name if name is not None and now - self._used[name] >= TRIAL_S else None
