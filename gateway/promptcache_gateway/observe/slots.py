"""A bounded number of names in use: when all are taken, the one that has been idle for longest gives way.

Only after a day without a request, so that neither a burst of names nor a quiet night moves one out.
"""

from __future__ import annotations

from collections import OrderedDict

IDLE_S = 86_400.0


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

    def __contains__(self, name: str) -> bool:
        return name in self._used

    def __len__(self) -> int:
        return len(self._used)

    def use(self, name: str, now: float) -> None:
        """Note that a name is used; one that is new has room, `make_room` has said."""
        self._used[name] = now
        self._used.move_to_end(name)

    def make_room(self, now: float) -> tuple[bool, str | None]:
        """Whether a new name has room, and the name that had to give way for it."""
        if len(self._used) < self._most:
            return True, None
        oldest, used = next(iter(self._used.items()), ("", now))
        if now - used < self._idle_s:
            return False, None
        del self._used[oldest]
        return True, oldest
