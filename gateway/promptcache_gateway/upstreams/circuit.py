"""When an upstream is left alone: after failures in a row, until one call has probed it a while later.

Beside it the budget that keeps retries from multiplying the load of an upstream that is failing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

OPENS_AFTER = 5
COOL_DOWN_S = 10.0
_PROBE_S = 60.0


class Circuit:
    """Counts an upstream's failures in a row.

    Args:
        opens_after: how many of them open it; None: it never opens. A fleet's does not: its replicas have
            circuits of their own.
        cool_down_s: how long it stays open before a call probes.
        clock: seconds of a clock that only runs forward.

    Attributes:
        retry_after_s: whole seconds until the next call is let through; 0 while it is closed.
        failures: failures in a row, so far.
        opened: how often it has been opened.
        is_probed: a call is under way that finds out how the upstream is.
    """

    def __init__(
        self,
        *,
        opens_after: int | None = OPENS_AFTER,
        cool_down_s: float = COOL_DOWN_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._opens_after = float("inf") if opens_after is None else opens_after
        self._cool_down_s = cool_down_s
        self._clock = clock
        self.failures = 0
        self._closed_until = 0.0
        self._opened_at = 0.0
        self.opened = 0
        self.is_probed = False

    def allows(self) -> bool:
        """Whether a call may be sent now. After the cool-down one is, and others wait for what it meets."""
        if self.failures < self._opens_after:
            return True
        now = self._clock()
        if now < self._closed_until:
            return False
        self.is_probed = True
        self._closed_until = now + _PROBE_S  # a probe that never tells is not waited for any longer
        return True

    @property
    def is_open(self) -> bool:
        """Whether the upstream is left alone."""
        return self.failures >= self._opens_after

    @property
    def open_for_s(self) -> float:
        """Seconds for which the upstream has been left alone; 0 while it is not."""
        return self._clock() - self._opened_at if self.is_open else 0.0

    @property
    def retry_after_s(self) -> int:
        """Whole seconds until a call is let through again."""
        if self.failures < self._opens_after:
            return 0
        return max(1, round(self._closed_until - self._clock()))

    @property
    def probe_in_s(self) -> float:
        """Seconds until a call finds out how an upstream is that is left alone; 0 where one may now."""
        return max(0.0, self._closed_until - self._clock()) if self.is_open else 0.0

    def succeeded(self) -> None:
        """Note an answer."""
        self.failures, self.is_probed = 0, False

    def failed(self) -> None:
        """Note that no answer came, or one that says the server is not up to it."""
        self.failures, self.is_probed = self.failures + 1, False
        if self.failures == self._opens_after:
            self.opened, self._opened_at = self.opened + 1, self._clock()
        if self.is_open:
            self._closed_until = self._clock() + self._cool_down_s

    def unsent(self) -> None:
        """Note that a call was not sent though it was let through: the next one may be."""
        self.is_probed = False
        if self.is_open:
            self._closed_until = min(self._closed_until, self._clock())

    def undecided(self) -> None:
        """Note a call that ended without telling anything: a caller who hung up."""
        self.is_probed = False
        if self.failures >= self._opens_after:
            self._closed_until = min(self._closed_until, self._clock() + self._cool_down_s)


class RetryBudget:
    """Retries are at most a share of the calls: ``burst`` at once, then one for every ten calls.

    Attributes:
        taken: how many there have been.
    """

    def __init__(self, *, burst: int = 10, share: float = 0.1) -> None:
        self._burst = float(burst)
        self._share = share
        self._left = float(burst)
        self.taken = 0

    def called(self) -> None:
        """Note a call that is no retry."""
        self._left = min(self._burst, self._left + self._share)

    def take(self) -> bool:
        """Take one retry out of the budget; False where there is none left."""
        if self._left < 1.0:
            return False
        self._left -= 1.0
        self.taken += 1
        return True
