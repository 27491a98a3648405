"""What happened of late, for those who listen: a numbered ring, and a way to wait for more.

Publishing never waits and never fails; a listener that is too slow finds the oldest events gone.
How events travel to a browser is the admin API's business.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from promptcache.quick_values import quick

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Kind = Literal["request", "template", "alert"]


@quick
@dataclass(frozen=True, slots=True)
class Event:
    """One event: its number (ascending from 1), its kind, and what it tells.

    ``told`` is that or what makes it: most events are read by nobody.
    """

    number: int
    kind: Kind
    told: Mapping[str, Any] | Callable[[], Mapping[str, Any]]

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
        self._events: deque[Event] = deque(maxlen=capacity)
        self._last = 0
        self._lock = Lock()
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self.listeners: list[Callable[[Event], None]] = []

    @property
    def last(self) -> int:
        """The number of the newest event, 0 before the first."""
        return self._last

    def publish(
        self, kind: Kind, data: Mapping[str, Any] | Callable[[], Mapping[str, Any]], *, heard: bool = False
    ) -> Event:
        """Add an event and wake whoever waits; ``data`` may be a function that makes it when it is read.

        ``heard``: it happened at another process.
        """
        with self._lock:
            self._last += 1
            event = Event(self._last, kind, data)
            self._events.append(event)
            waiters = tuple(self._waiters) if self._waiters else ()
        for loop, waiter in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(waiter.set)
        if not heard:
            for told in self.listeners:
                told(event)
        return event

    def forget(self, tenant: str) -> None:
        """Forget the events that tell of a tenant's requests."""
        with self._lock:
            kept = [event for event in self._events if event.data.get("tenant") != tenant]
            self._events = deque(kept, maxlen=self._events.maxlen)

    def since(self, number: int) -> list[Event]:
        """Events after ``number``, oldest first, as far as they are still remembered."""
        with self._lock:
            return [event for event in self._events if event.number > number]

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
