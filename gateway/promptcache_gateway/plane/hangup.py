"""Notice that a caller hangs up while its request is worked on, and stop the work.

ASGI tells of a disconnect only to whoever waits for a message, which costs every request a task of its own.
Our own server says it at once instead, to whom the scope's extension `EXTENSION` was asked to tell; under
another server a small task waits. The other way round, the gateway cuts off a caller whose answer broke off.

A caller that has only said that it sends no more (``shutdown(SHUT_WR)``) counts as gone, too: on the wire it
is the same as one that has left, which only writing to it would tell, and a prompt would be computed and paid
for until then.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self, TypeVar

from promptcache_gateway.plane.body import CallerGoneError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from starlette.types import Receive, Scope, Send

EXTENSION = "promptcache.hang_up"
CUT = "promptcache.http.cut"
"""The type of an ASGI message that our own server knows: the answer ends here, and not as a whole one."""
CALLER_GONE, CALLER_STALLED = "caller_gone", "caller_stalled"

T = TypeVar("T")


class HangUps:
    """Whom a connection tells that its caller is gone.

    Attributes:
        gone: True once it is.
        stalled: it was the server who hung up: the caller took nothing of its answer.
        drop: hangs up at once, whatever waits for the caller.
        taken: waits until the caller has taken what was sent, but for a little.
    """

    __slots__ = ("_told", "drop", "gone", "stalled", "taken")

    def __init__(
        self, drop: Callable[[], None] = lambda: None, taken: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.drop = drop
        self.taken = taken
        self.gone = self.stalled = False
        self._told: set[Callable[[], None]] = set()

    def tell(self, told: Callable[[], None]) -> None:
        """Have something called when the caller is gone, at once where it already is."""
        self._told.add(told)
        if self.gone:
            told()

    def spare(self, told: Callable[[], None]) -> None:
        """Take that back."""
        self._told.discard(told)

    def happened(self, *, stalled: bool = False) -> None:
        """The caller is gone; ``stalled``: it was given up."""
        self.gone, self.stalled = True, stalled
        for told in tuple(self._told):
            told()


class HangUpWatch:
    """Context in which the current task is cancelled when the caller hangs up.

    Attributes:
        gone: True once the caller has hung up and the task was cancelled for it.
    """

    __slots__ = ("_hang_ups", "_receive", "_task", "_watcher", "gone")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.gone = False
        self._hang_ups: HangUps | None = scope.get("extensions", {}).get(EXTENSION)
        self._receive = receive
        self._task: asyncio.Task[object] | None = None
        self._watcher: asyncio.Task[None] | None = None

    @property
    def code(self) -> str:
        """What a request is recorded to have ended by whose caller is gone."""
        stalled = self._hang_ups is not None and self._hang_ups.stalled
        return CALLER_STALLED if stalled else CALLER_GONE

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        if self._hang_ups is not None:
            self._hang_ups.tell(self._give_up)
        else:
            self._watcher = asyncio.create_task(self._watch())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task = None
        if self._hang_ups is not None:
            self._hang_ups.spare(self._give_up)
        if self._watcher is not None:
            self._watcher.cancel()

    async def drop(self) -> None:
        """Hang up on a caller who takes nothing, once nothing more can be told it."""
        if self._hang_ups is not None:
            self._hang_ups.drop()
            await asyncio.sleep(0)  # the server hears of it

    async def taken(self) -> None:
        """Wait until the caller has taken what was sent, where the server can tell."""
        if self._hang_ups is not None and self._hang_ups.taken is not None:
            await self._hang_ups.taken()

    async def cut(self, send: Send) -> None:
        """Close the connection behind what was sent of an answer that broke off: it must not look whole."""
        if self._hang_ups is not None:
            await send({"type": CUT})

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._give_up()

    def _give_up(self) -> None:
        if self._task is not None:
            self.gone = True
            self._task.cancel()


async def unless_gone(scope: Scope, receive: Receive, work: Awaitable[T]) -> T:
    """What ``work`` gives; the caller's hanging up cancels it.

    Raises:
        CallerGoneError: the caller hung up.
    """
    watch = HangUpWatch(scope, receive)
    try:
        with watch:
            return await work
    except asyncio.CancelledError:
        if not watch.gone:
            raise
        uncancel()
        raise CallerGoneError from None


def uncancel() -> None:
    """Take back the current task's cancellation, which has been answered."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
