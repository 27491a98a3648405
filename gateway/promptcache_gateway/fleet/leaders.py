"""Of requests with the same cold prefix that come together, the first goes ahead and the others wait.

They wait until its first output, when what they share has been computed and can be read, and never longer
than they are told to. Sent together, each of them would have it computed, and paid, once more.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.fleet.prefix import Key, Prefix


class Lead:
    """A request that goes ahead; ``done`` is to be called at its first output, and whenever it ends."""

    def __init__(self, led: dict[Key, Lead], keys: tuple[Key, ...]) -> None:
        self._led = led
        self._keys = keys
        self.over = asyncio.Event()

    def done(self) -> None:
        """Let the followers go; harmless a second time."""
        if self.over.is_set():
            return
        for key in self._keys:
            if self._led.get(key) is self:
                del self._led[key]
        self.over.set()


class Leaders:
    """Who goes ahead of whom.

    Args:
        hold_tokens: cold tokens that a request must share with a leader to be held.

    Attributes:
        held: requests that waited.
        lost_patience: those of them that went on before the leader's first output.
    """

    def __init__(self, hold_tokens: float) -> None:
        self._hold_tokens = hold_tokens
        self._led: dict[Key, Lead] = {}
        self.held = 0
        self.lost_patience = 0

    def lead(self, prefix: Prefix, warm: float) -> Lead:
        """Go ahead with a prompt whose first ``warm`` tokens are cached somewhere."""
        keys = prefix.keys[int(warm / prefix.key_tokens) :] if prefix.keys else ()
        lead = Lead(self._led, keys)
        for key in keys:
            self._led.setdefault(key, lead)
        return lead

    async def wait(self, prefix: Prefix, longest_s: float) -> None:
        """Wait while somebody goes ahead with a long enough part of what this prompt begins with.

        Where a leader failed, the first of those that waited goes ahead in its place.
        """
        lead = self._leader_of(prefix)
        if lead is None or longest_s <= 0:
            return
        self.held += 1
        try:
            async with asyncio.timeout(longest_s):
                while lead is not None:
                    await lead.over.wait()
                    lead = self._leader_of(prefix)
        except TimeoutError:
            self.lost_patience += 1

    def _leader_of(self, prefix: Prefix) -> Lead | None:
        led = [lead for key in prefix.keys if (lead := self._led.get(key)) is not None]
        return led[-1] if len(led) * prefix.key_tokens >= self._hold_tokens else None
