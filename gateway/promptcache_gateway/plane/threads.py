"""What a flight costs the observer, worked out where it holds up nobody: of a large one in threads.

A small one's is done at once. What a thread has begun it also ends, whatever becomes of the caller
meanwhile: `over` waits for it, so that whoever asks for the flight's record then has it. Who is answered when
is the endpoint's business.
"""

from __future__ import annotations

import asyncio
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from promptcache_gateway.plane.hangup import uncancel

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.exchange import Call
    from promptcache_gateway.plane.dispatch import PassedOver
    from promptcache_gateway.plane.flight import Flight
    from promptcache_gateway.plane.hangup import HangUpWatch
    from promptcache_gateway.upstreams.base import Inbound
    from promptcache_gateway.upstreams.switchboard import Hop

T = TypeVar("T")

_LARGE_BODY = 256 * 1024
_MOMENT_S = 0.001
"""How long a comparison waits: the request is on its way to the upstream by then."""


def is_small(call: Call) -> bool:
    """Whether a call is observed at once; a large one is so in a thread: others are answered meanwhile."""
    return len(call.body) < _LARGE_BODY


async def opened(call: Call, open_flight: Callable[[], Flight]) -> Flight:
    """The flight of a call, whose first look a large one has in a thread."""
    return open_flight() if is_small(call) else await asyncio.to_thread(open_flight)


class Threads:
    """Those that work for one flight; none where it is small.

    Attributes:
        flight: the flight.
    """

    __slots__ = ("_due", "_ending", "_one_at_a_time", "_small", "flight")

    def __init__(self, flight: Flight) -> None:
        self.flight = flight
        self._small = is_small(flight.call)
        self._one_at_a_time = Lock()  # or one would find out what another is at
        self._due: asyncio.TimerHandle | None = None
        self._ending: asyncio.Future[dict[str, Any]] | None = None

    async def depart(self, call: Call, hop: Hop, inbound: Inbound) -> tuple[Call, Inbound]:
        """What goes to one place of the route (`Flight.depart`); at another one it is looked at anew.

        It is compared while the upstream works, so that its answer need not wait.
        """
        going = partial(self.flight.depart, call, hop, inbound)
        if self._small:
            return going()  # its look and its comparison are the loop's (`observe.arrivals`)
        self._forget_comparison()
        gone = await asyncio.to_thread(self._unless_ended, going)
        loop = asyncio.get_running_loop()
        self._due = loop.call_later(_MOMENT_S, loop.run_in_executor, None, self._compare)
        return gone

    async def come_back(self, hop: Hop, passed_over: PassedOver) -> None:
        """Have it observed as what was met at a place before (`Flight.come_back`)."""
        coming = partial(self.flight.come_back, hop, passed_over)
        if self._small:
            coming()
        else:
            self._forget_comparison()
            await asyncio.to_thread(self._unless_ended, coming)

    async def preview(self) -> dict[str, Any]:
        """The summary before the first byte of the answer."""
        return self.flight.preview() if self._small else await asyncio.to_thread(self._preview)

    async def end(self, status: int, error: str | None = None) -> dict[str, Any]:
        """End the flight (`Flight.end`), a large one as a whole. Cancelling this does not cancel that."""
        if self._small:
            return self.flight.end(status, error)
        if self._ending is not None:
            return {"request_id": self.flight.call.id}
        self._forget_comparison()
        loop = asyncio.get_running_loop()
        self._ending = loop.run_in_executor(None, self._end, status, error)
        return await asyncio.shield(self._ending)

    async def end_answered(self, status: int, watch: HangUpWatch) -> dict[str, Any]:
        """End one whose whole answer has come, which its caller gets though the gateway is stopped meanwhile.

        Raises:
            asyncio.CancelledError: the caller is gone.
        """
        try:
            return await self.end(status)
        except asyncio.CancelledError:
            if watch.gone or self._ending is None:
                raise
            uncancel()
        return await asyncio.shield(self._ending)

    async def over(self) -> None:
        """Wait for what ends it, and finish it; what cancels that has waited for it, too."""
        self._forget_comparison()
        while self._ending is not None and not self._ending.done():
            try:
                await asyncio.wait((self._ending,))
            except asyncio.CancelledError:
                uncancel()
        self.flight.finish()

    def _forget_comparison(self) -> None:
        if self._due is not None:
            self._due.cancel()

    def _unless_ended(self, going: Callable[[], T]) -> T:
        with self._one_at_a_time:
            if self._ending is not None:  # it was given up meanwhile, and nobody waits for this
                raise asyncio.CancelledError
            return going()

    def _compare(self) -> None:
        with self._one_at_a_time:
            if self._ending is None:
                self.flight.prepare()

    def _preview(self) -> dict[str, Any]:
        with self._one_at_a_time:
            return self.flight.preview()

    def _end(self, status: int, error: str | None) -> dict[str, Any]:
        with self._one_at_a_time:
            return self.flight.end(status, error, whole=True)
