"""Runs a batch: what is left of it, in which order, by how many at a time, until all is answered."""

from __future__ import annotations

import asyncio
from array import array
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from promptcache_gateway.batch.answer import Answer, Failure, counted, write_line
from promptcache_gateway.batch.errors import ServerError
from promptcache_gateway.batch.prefixes import FREE, leaders, prefix_order, shares
from promptcache_gateway.batch.request import decode_lenient
from promptcache_gateway.batch.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.batch.index import InputIndex
    from promptcache_gateway.batch.journal import Journal
    from promptcache_gateway.batch.request import BatchRequest
    from promptcache_gateway.batch.sender import Server
    from promptcache_gateway.batch.tally import Tally

_REFUSED = frozenset({401, 403})
_GONE_AFTER = 3
_SYNC_S = 2.0
_GO_ON = "What is finished stands in the output; run the same command again to go on."


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be sent.

    Attributes:
        order: indices of the input, in the order in which they are sent.
        leaders: for each place in it the place it waits for, or `FREE`.
        shared: the share of the prompts' text that an earlier one begins with, 0..1.
    """

    order: array[int]
    leaders: array[int]
    shared: float | None


def make_plan(index: InputIndex, finished: bytearray, *, by_prefix: bool = True) -> Plan:
    """Plan what is not finished; ``by_prefix`` False leaves the input's order, and nobody waits."""
    left = array("q", (at for at in range(len(index)) if not finished[at]))
    if not by_prefix:
        return Plan(left, array("q", [FREE] * len(left)), None)
    order = prefix_order(index.keys, left)
    common = shares(index.keys, order)
    whole = sum(index.characters(at) for at in order)
    return Plan(order, leaders(common), min(1.0, sum(common) / whole) if whole else None)


class Run:
    """One run over a plan.

    Args:
        index: the input.
        journal: the output.
        server: where it is sent; open while it goes.
        tally: counts what comes of it.
        on_progress: called after every request.
    """

    def __init__(
        self,
        index: InputIndex,
        journal: Journal,
        server: Server,
        tally: Tally,
        on_progress: Callable[[], None] = lambda: None,
    ) -> None:
        self._index, self._journal, self._tally = index, journal, tally
        self.server = server
        self._on_progress = on_progress
        self._silent = 0

    async def go(self, plan: Plan, *, concurrency: int, hold_s: float) -> None:
        """Send all of a plan.

        Raises:
            ServerError: the server refuses the key, or has stopped answering.
            JournalError: the output cannot be written.
            InputError: the input was changed.
        """
        turns = Turns(plan.leaders, hold_s=hold_s)
        workers = [asyncio.create_task(self._work(plan, turns)) for _ in range(concurrency)]
        syncing = asyncio.create_task(self._sync())
        try:
            await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            turns.stop()
            for task in (*workers, syncing):
                if not task.done():
                    task.cancel()
            outcomes = await asyncio.gather(*workers, syncing, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    async def _work(self, plan: Plan, turns: Turns) -> None:
        while (place := await turns.next()) is not None:
            at = plan.order[place]
            request = self._index.request(at)
            outcome = await self.server.send(request, partial(turns.begun, place))
            self._judge(outcome)
            self._journal.append(write_line(request.custom_id, self._index.fingerprint(at), outcome))
            if self._count(request, outcome):
                turns.begun(place)
            else:
                turns.failed(place)
            self._on_progress()

    def _judge(self, outcome: Answer | Failure) -> None:
        """Raise where going on would only fail the others too."""
        if isinstance(outcome, Answer):
            self._silent = 0
            if outcome.status in _REFUSED and not self._tally.answered:
                raise ServerError(
                    f"{self.server.url} refuses the key ({outcome.status}).",
                    remedy="Name the variable that holds the right one with --api-key-env NAME.",
                )
        elif outcome.code == "no_answer":
            self._silent += 1
            if self._silent >= _GONE_AFTER:
                raise ServerError(f"{self.server.url} has stopped answering.", remedy=_GO_ON)

    def _count(self, request: BatchRequest, outcome: Answer | Failure) -> bool:
        if not isinstance(outcome, Answer) or not outcome.succeeded:
            self._tally.failed += 1
            return False
        self._tally.answered += 1
        usage, model = counted(_decoded(outcome.body))
        self._tally.count(usage, model or request.model)
        return True

    async def _sync(self) -> None:
        while True:
            await asyncio.sleep(_SYNC_S)
            await asyncio.to_thread(self._journal.sync)


def _decoded(body: bytes) -> object:
    try:
        value = decode_lenient(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")
    return value if isinstance(value, dict) else body.decode("utf-8", "replace")
