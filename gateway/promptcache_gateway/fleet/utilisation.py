"""How busy a fleet is with prompts: the share of its capacity that was asked for lately."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.fleet.target import Target

WINDOW_S = 120.0
_SLOT_S = 1.0
_LEAST_S = 10.0


class Utilisation:
    """Seconds of prefill that were sent over the last two minutes."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._slots: deque[list[float]] = deque()  # when a slot begins, and the seconds sent in it
        self._seconds = 0.0
        self._since: float | None = None

    def sent(self, seconds: float, now: float) -> None:
        """Note a prompt that takes a replica so many seconds."""
        if self._since is None:
            self._since = now
        if not self._slots or now - self._slots[-1][0] >= _SLOT_S:
            self._slots.append([now, 0.0])
        self._slots[-1][1] += seconds
        self._seconds += seconds

    def share(self, targets: Sequence[Target], now: float) -> float:
        """0 (idle) to 1 and beyond (more than they can do)."""
        while self._slots and now - self._slots[0][0] > self._window_s:
            self._seconds -= self._slots.popleft()[1]
        if self._since is None or not targets:
            return 0.0
        elapsed = min(self._window_s, max(_LEAST_S, now - self._since))
        return max(0.0, self._seconds) / (elapsed * len(targets))
