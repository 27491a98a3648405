"""Waiting in a line for a replica with room, and never longer than one is told to."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


def _anywhere() -> bool:
    return True


class _Turn(NamedTuple):
    called: asyncio.Future[None]
    may: Callable[[], bool]


class Slots:
    """Requests that wait while every replica has as many as it may.

    Attributes:
        waited: requests that had to.
    """

    def __init__(self) -> None:
        self._line: deque[_Turn] = deque()
        self.waited = 0

    def __len__(self) -> int:
        return len(self._line)

    @property
    def wanted(self) -> bool:
        """Whether somebody who waits could use the room that there is."""
        return any(not turn.called.done() and turn.may() for turn in self._line)

    async def wait(
        self, longest_s: float, *, again: bool = False, may: Callable[[], bool] = _anywhere
    ) -> None:
        """Wait until there may be room.

        Args:
            longest_s: seconds at most.
            again: was woken before, and stands first in line.
            may: whether the room that there is would do; who cannot use it is passed over.

        Raises:
            TimeoutError: nobody had room for so long.
        """
        turn = _Turn(asyncio.get_running_loop().create_future(), may)
        if again:
            self._line.appendleft(turn)
        else:
            self.waited += 1
            self._line.append(turn)
        try:
            async with asyncio.timeout(longest_s):
                await turn.called
        except BaseException:
            if turn in self._line:
                self._line.remove(turn)
            elif turn.called.done() and not turn.called.cancelled():
                self.free()  # it was this one's turn: the next one's then
            raise

    def free(self) -> None:
        """There is room for one: the first in line that can use it."""
        for turn in tuple(self._line):
            if turn.called.done():
                self._line.remove(turn)
            elif turn.may():
                self._line.remove(turn)
                turn.called.set_result(None)
                return

    def free_all(self) -> None:
        """There may be room for any number: a replica came, or came back."""
        for _ in range(len(self._line)):
            self.free()
