"""Waiting in a line for a replica with room, and never longer than one is told to."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """Requests that wait while every replica has as many as it may.

    Attributes:
        waited: requests that had to.
    """

    def __init__(self) -> None:
        self._line: deque[asyncio.Future[None]] = deque()
        self.waited = 0

    def __len__(self) -> int:
        return len(self._line)

    async def wait(self, longest_s: float, *, again: bool = False) -> None:
        """Wait until there may be room; ``again``: was woken before and stands first in line.

        Raises:
            TimeoutError: nobody had room for so long.
        """
        turn = asyncio.get_running_loop().create_future()
        if again:
            self._line.appendleft(turn)
        else:
            self.waited += 1
            self._line.append(turn)
        try:
            async with asyncio.timeout(longest_s):
                await turn
        except BaseException:
            if turn in self._line:
                self._line.remove(turn)
            elif turn.done() and not turn.cancelled():
                self.free()  # it was this one's turn: the next one's then
            raise

    def free(self) -> None:
        """There is room for one."""
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def free_all(self) -> None:
        """There may be room for any number: a replica came, or came back."""
        for _ in range(len(self._line)):
            self.free()
