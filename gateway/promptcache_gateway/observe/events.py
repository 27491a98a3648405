"""What happened of late, for those who listen: a numbered ring, and a way to wait for more.

Publishing never waits and never fails; a listener that is too slow finds the oldest events gone.
How events travel to a browser is the admin API's business.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

from promptcache.quick_values import quick

Kind = Literal["request", "template", "alert"]
Told = Mapping[str, Any] | Callable[[], Mapping[str, Any]]
"""What an event tells, or what makes that when it is read."""


@quick
@dataclass(frozen=True, slots=True)
class Event:
    """One event: its number (ascending from 1), its kind, and what it tells.

    ``told`` is that or what makes it.
    """

    number: int
    kind: Kind
    told: Told

    @property
    def data(self) -> Mapping[str, Any]:
        """What it tells."""
        return self.told() if callable(self.told) else self.told


class EventRing:
    """The last events. Safe to publish to from any thread.

    Attributes:
        listeners: called with every event of this process's own, in the thread that publishes.
    """

    def __init__(self, capacity: int = 1_000) -> None:
        # What an `Event` is made of, which is made when somebody reads it: most are read by nobody.
        self._events: deque[tuple[int, Kind, Told]] = deque(maxlen=capacity)
        self._last = 0
        self._lock = Lock()
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self.listeners: list[Callable[[Event], None]] = []

    @property
    def last(self) -> int:
        """The number of the newest event, 0 before the first."""
        return self._last

    def publish(self, kind: Kind, data: Told, *, heard: bool = False) -> None:
        """Add an event and wake whoever waits; ``data`` may be a function that makes it when it is read.

        ``heard``: it happened at another process.
        """
        with self._lock:
            number = self._last = self._last + 1
            self._events.append((number, kind, data))
            waiters = tuple(self._waiters) if self._waiters else ()
        for loop, waiter in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(waiter.set)
        if self.listeners and not heard:
            event = Event(number, kind, data)
            for told in self.listeners:
                told(event)

    def forget(self, tenant: str) -> None:
        """Forget the events that tell of a tenant's requests."""
        with self._lock:
            kept = [one for one in self._events if Event(*one).data.get("tenant") != tenant]
            self._events = deque(kept, maxlen=self._events.maxlen)

    def since(self, number: int) -> list[Event]:
        """Events after ``number``, oldest first, as far as they are still remembered."""
        with self._lock:
            return [Event(*one) for one in self._events if one[0] > number]

    async def wait(self, number: int, timeout_s: float) -> bool:
        """Wait for an event after ``number``; False when none came in ``timeout_s`` seconds."""
        waiter = asyncio.Event()
        place = (asyncio.get_running_loop(), waiter)
        with self._lock:
            if self._last > number:
                return True
            self._waiters.add(place)
        try:
            await asyncio.wait_for(waiter.wait(), timeout_s)
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._waiters.discard(place)
        return True
