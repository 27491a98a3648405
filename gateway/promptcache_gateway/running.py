"""The requests that are being answered, and how they are ended when the gateway stops.

Each is one task, told to end once: what it does then (it says so to its caller, and is recorded) must not be
cut off by being told again.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Running:
    """The tasks that answer requests."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()
        self._told: set[asyncio.Task[object]] = set()

    def __len__(self) -> int:
        """How many there are."""
        return len(self._tasks)

    def __iter__(self) -> Iterator[asyncio.Task[object]]:
        """They themselves."""
        return iter(tuple(self._tasks))

    @contextlib.contextmanager
    def this(self) -> Iterator[asyncio.Task[object]]:
        """The current task, one of them within the block."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield task
        finally:
            self._tasks.discard(task)
            self._told.discard(task)

    def end(self) -> int:
        """Cancel those that were not told before; how many these were."""
        fresh = self._tasks - self._told
        self._told |= fresh
        for task in fresh:
            task.cancel()
        return len(fresh)

    async def ended(self, within_s: float) -> bool:
        """End those that still run, and wait for all; False where one has not ended ``within_s`` seconds."""
        self.end()
        if not self._tasks:
            return True
        return not (await asyncio.wait(self, timeout=within_s))[1]
