"""Requests that have come in and wait to be looked at, and those that ended and are not settled, in order.

Forwarding a request must not wait for its diagnosis. On an event loop a look is therefore taken a moment
later, while the upstream works; whoever needs one sooner has those that came before it taken first, so that
each request is compared with what came before it. What a look prepares for is made ready on the loop all the
same, unless the answer is there by then. Where no loop runs (a large body is observed in a thread of its own)
there is nothing to wait for. Nor must an answer wait for what its end means to others: that is
settled when it is out, and before the next look at the latest. What a look is, and what is settled, is the
observer's business.
"""

from __future__ import annotations

import asyncio
from collections import deque
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.observe.ending import Ended
    from promptcache_gateway.observe.observation import Observation

_MOMENT_S = 0.001
"""How long a request waits: it is on its way to the upstream by then."""


class Arrivals:
    """The queue. Safe to share between threads.

    Args:
        look: takes one look; never raises.
        prepare: called after a look, and once whoever waited for it has gone on, to have ready what is asked
            next, ``at_leisure`` where no other request came in the same moment; never raises.
        note_end: has history hear of one that ended; never raises.
        moment_s: seconds after which it is looked at, if nobody asks before.
    """

    def __init__(
        self,
        look: Callable[[Observation], None],
        prepare: Callable[..., None],
        note_end: Callable[[Ended], None],
        moment_s: float = _MOMENT_S,
    ) -> None:
        self._moment_s = moment_s
        self._look = look
        self._prepare = prepare
        self._note_end = note_end
        self._waiting: deque[Observation] = deque()
        self._looked_at: deque[Observation] = deque()
        self._ended: deque[Ended] = deque()
        self._lock = RLock()
        self._due = False

    def add(self, observation: Observation) -> None:
        """Have a request looked at, soon."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.settle()
            self._look(observation)
            return
        self._waiting.append(observation)
        if not self._due:
            self._due = True
            loop.call_later(self._moment_s, self._begin)

    def catch_up(self) -> None:
        """Look at everything that waits; what another thread is looking at has been seen then, too."""
        with self._lock:  # one after the other, or their order would be lost
            self.settle()  # all that came before they ended has been looked at by then
            while self._waiting:
                self._look_at_next()

    def look_at(self, observation: Observation) -> None:
        """Look at one that waits, and before it at all that came before; what came later goes on waiting."""
        if observation.looked_at and not self._ended:
            return
        with self._lock:
            self.settle()
            while self._waiting and not observation.looked_at:
                self._look_at_next()

    def end(self, ended: Ended) -> None:
        """Have history hear of an end, soon. All that came before the request has been looked at."""
        self._ended.append(ended)
        ended.observation.over = True

    def settle(self) -> None:
        """Have history hear of every end that it has not heard of."""
        if not self._ended:
            return
        with self._lock:
            while self._ended:
                self._note_end(self._ended.popleft())

    def _look_at_next(self) -> None:
        observation = self._waiting.popleft()
        self._look(observation)
        self._looked_at.append(observation)

    def _take_one(self) -> Observation | None:
        """One to be prepared: the first looked at that is not answered, or else the first that waits."""
        with self._lock:
            self.settle()
            while self._looked_at and self._looked_at[0].over:
                self._looked_at.popleft()
            if not self._looked_at and self._waiting:
                self._look_at_next()
            return self._looked_at.popleft() if self._looked_at else None

    def _begin(self) -> None:
        """Begin with what has come within a moment; a single request may be taken at leisure."""
        self._go_on(at_leisure=len(self._waiting) + len(self._looked_at) == 1)

    def _go_on(self, *, at_leisure: bool = False) -> None:
        """Take one look at a time, so that a burst of requests does not hold up the answers of others."""
        observation = self._take_one()
        if observation is not None and not observation.seen:
            self._prepare(observation, at_leisure=at_leisure)
        if self._waiting or self._looked_at:
            asyncio.get_running_loop().call_soon(self._go_on)
        else:
            self._due = False
