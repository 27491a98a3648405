"""One request on its way to one replica: everything that is noted of it, and its stream.

Whatever happens to it, its load is taken off again exactly once, and whoever waits for it is let go.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from promptcache.usage import Usage
    from promptcache_gateway.errors import ApiError
    from promptcache_gateway.exchange import Call, EngineFacts
    from promptcache_gateway.fleet.leaders import Lead
    from promptcache_gateway.fleet.replica import Replica
    from promptcache_gateway.fleet.routing import Choice, Router
    from promptcache_gateway.upstreams.base import RawHeaders, StreamReply

# What an error event says where the request is at fault, or the account: nothing against the replica.
_CALLERS = re.compile(
    r"4\d\d|.*(invalid|bad_?request|content|rate_?limit|context|permission|not_?found)", re.IGNORECASE
)


def _keep_nothing(_trip: Trip, _call: Call, _response_id: str | None) -> None:
    pass


class Trip:
    """A request that was sent to a replica.

    Args:
        router: told what comes of it.
        replica: where it went.
        choice: why.
        lead: let go at the first output.
        ended: called once it is over, with the usage that was told.
    """

    def __init__(
        self,
        router: Router,
        replica: Replica,
        choice: Choice,
        lead: Lead,
        ended: Callable[[Trip, Usage | None], None],
    ) -> None:
        self.replica, self.choice = replica, choice
        self._router, self._lead, self._ended = router, lead, ended
        self._ticket = router.sent(choice, time.time())
        self._over = False
        replica.counts.requests += 1
        replica.under_way += 1

    def first_output(self) -> None:
        """Note the first output."""
        self.replica.speaks = True
        self.replica.target.load.first_output(self._ticket, time.time())
        self._lead.done()

    def arrived(self, usage: Usage) -> None:
        """Note the end of an answer."""
        self.first_output()
        self._end(usage)

    def failed(self) -> None:
        """Note that the replica did not answer, or refused: it has computed nothing."""
        if not self._over:
            self._router.undone(self.choice)
        self._end(None)

    def given_up(self) -> None:
        """Note that nobody waits for it any longer; what it was doing may be half done."""
        self._end(None)

    def broken_off(self, error: str) -> None:
        """Note that the replica ended a stream with an error; ``error`` is its code."""
        if not self._over and not _CALLERS.match(error):
            self.replica.failed(speaks=True)
            self.replica.counts.failures += 1
        self._end(None)

    def left(self) -> None:
        """Note that the caller has gone: that says nothing of the replica."""
        if not self._over:
            self.replica.circuit.undecided()
        self._end(None)

    def _end(self, usage: Usage | None) -> None:
        if self._over:
            return
        self._over = True
        self.replica.under_way -= 1
        self._lead.done()
        self.replica.target.load.ended(
            self._ticket,
            time.time(),
            computed=_computed(usage),
            output_tokens=None if usage is None else usage.output,
        )
        self._ended(self, usage)


class RoutedStream:
    """A replica's `StreamReply`, its progress noted in passing.

    Args:
        reply: the replica's.
        trip: the request's.
        call: what was asked.
        keep: called with the id of the answer, as soon as it is known.
    """

    def __init__(
        self,
        reply: StreamReply,
        trip: Trip,
        call: Call,
        keep: Callable[[Trip, Call, str | None], None] = _keep_nothing,
    ) -> None:
        self._reply = reply
        self._trip, self._call, self._keep = trip, call, keep
        self.status: int = reply.status
        self.headers: RawHeaders = reply.headers
        self.events: bool = reply.events
        self.engine: EngineFacts | None = reply.engine
        self.unheld: ApiError | None = getattr(reply, "unheld", None)

    @property
    def first_output_at(self) -> float | None:
        """When the first output came."""
        return self._reply.first_output_at

    @property
    def error(self) -> str | None:
        """What ended it badly."""
        return self._reply.error

    @property
    def response_id(self) -> str | None:
        """The id of the response object."""
        return self._reply.response_id

    @property
    def usage(self) -> Usage:
        """The usage as far as it has come."""
        return self._reply.usage

    async def pieces(self) -> AsyncIterator[bytes]:
        """The replica's bytes as they come."""
        begun = kept = False
        async for piece in self._reply.pieces():
            if not begun and self._reply.first_output_at is not None:
                begun = True
                self._trip.first_output()
            if not kept and self._reply.response_id is not None:
                kept = True
                self._keep(self._trip, self._call, self._reply.response_id)
            yield piece
        if self._reply.status >= 400:
            self._trip.given_up()
        elif self._reply.error is not None:
            self._trip.broken_off(self._reply.error)
        else:
            self._trip.replica.answered()
            self._trip.arrived(self._reply.usage)

    async def close(self) -> None:
        """Give up what is still running."""
        self._trip.left()
        await self._reply.close()


def _computed(usage: Usage | None) -> float | None:
    """Prompt tokens that were not read from a cache, where the replica told both."""
    if usage is None or usage.total_input is None or usage.cache_read is None:
        return None
    return float(usage.total_input - usage.cache_read)
